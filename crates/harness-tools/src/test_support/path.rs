//! Whatever a path says, what is outside the workspace stays out of reach.
//!
//! The first byte says what is done; the rest is the path. ASCII stands for itself, each other byte for
//! a piece of the table [`PIECES`].

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::input::Input;
use super::tree::{CANARY, Tree};
use crate::blocking::Stop;
use crate::edit::{Edit, EditArgs, edit_file};
use crate::error::Error;
use crate::find::{FindArgs, find_paths};
use crate::grep::{GrepArgs, search_files};
use crate::ls::{LsArgs, list_folder};
use crate::read::{ReadArgs, ReadResult, read_file};
use crate::seen::SeenFiles;
use crate::workspace::{Access, Workspace};
use crate::write::{WriteArgs, write_file};

/// A longer path is longer than any system takes.
const MAX_INPUT: usize = 600;

/// `$` is the folder around the workspace, `&` a name of 250 letters.
const PIECES: &[&str] = &[
    "/",
    "../",
    "./",
    "..",
    "//",
    "a.txt",
    "dir/",
    "in/",
    "out/",
    "outfile",
    "abs/",
    "up/",
    "top/",
    "new",
    "gone",
    "loop/",
    "self/",
    "back/",
    "far/",
    "root/",
    "sub/",
    "secret.txt",
    "deep.txt",
    "b.txt",
    "$/ws/",
    "$/outside/",
    "$/",
    "$/ws2/a.txt",
    "~",
    "~/",
    "~/key",
    "home/",
    "ws/",
    "@",
    "file://",
    "\0",
    "&",
    "e\u{301}\u{202f}x",
    "\u{e9} x",
    "\u{fffd}",
    " ",
    "\n",
    "fresh/",
    "x",
];

/// With reading and writing confined to the workspace:
///
/// - a path that is allowed leads into it, as the system itself resolves what of it exists;
/// - a path that leads into it, to something that exists, is allowed;
/// - no tool tells what is in a file outside, and none changes anything there.
pub fn check_path(data: &[u8]) {
    if data.len() > MAX_INPUT {
        return;
    }
    thread_local! {
        static TREE: std::io::Result<Tree> = Tree::new();
    }
    TREE.with(|tree| match tree {
        Ok(tree) => check_in(tree, data),
        Err(error) => assert_eq!(error.to_string(), "", "no folder for the tree"),
    });
}

fn check_in(tree: &Tree, data: &[u8]) {
    let mut input = Input::new(data);
    let act = input.byte();
    let path = spelled(input.rest(), tree.path());
    let workspace = Workspace::new(tree.root())
        .with_home(tree.path().join("home"))
        .with_read_access(Access::WorkspaceOnly)
        .with_write_access(Access::WorkspaceOnly);
    let root = fs::canonicalize(tree.root()).unwrap_or_default();

    for place in [
        workspace.to_read(&path),
        workspace.to_change(&path),
        workspace.to_write(&path),
    ]
    .into_iter()
    .flatten()
    {
        let real = resolved(&place.real);
        assert!(real.starts_with(&root), "{path:?} leads out");
        assert_eq!(real, place.real, "{path:?} was not resolved");
    }
    if !path.contains('\0')
        && !path.trim().is_empty()
        && !path.starts_with('~')
        && let Ok(real) = fs::canonicalize(tree.root().join(&path))
        && real.starts_with(&root)
    {
        let place = workspace.to_read(&path).map(|place| place.real);
        assert_eq!(place.ok(), Some(real), "{path:?} leads into the workspace");
    }

    let told = told(act, &path, &workspace);
    assert!(!told.contains(CANARY), "{path:?} told: {told}");
    let may_have_changed = changes(act, path, &workspace);
    assert!(tree.is_untouched(), "something outside was changed");
    if may_have_changed {
        assert!(tree.restore().is_ok(), "the workspace cannot be restored");
    }
}

fn spelled(bytes: &[u8], folder: &Path) -> String {
    let mut path = String::new();
    for byte in bytes {
        match byte {
            0..0x80 => path.push(char::from(*byte)),
            _ => path.push_str(PIECES[usize::from(byte - 0x80) % PIECES.len()]),
        }
    }
    path.replace('$', &folder.to_string_lossy())
        .replace('&', &"n".repeat(250))
}

/// The path with the deepest part of it that exists resolved by the system.
fn resolved(path: &Path) -> PathBuf {
    assert!(
        !path.components().any(|part| part == Component::ParentDir),
        "{} is not resolved",
        path.display()
    );
    for parent in path.ancestors() {
        if let Ok(real) = fs::canonicalize(parent) {
            let rest = path.strip_prefix(parent).unwrap_or(path);
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
        // A link that leads nowhere exists too, and must have been followed.
        assert!(
            fs::symlink_metadata(parent).is_err(),
            "{} was not followed",
            parent.display()
        );
    }
    path.to_owned()
}

/// What the tools that only look tell about a path.
fn told(act: u8, path: &str, workspace: &Workspace) -> String {
    let (path, stop) = (path.to_owned(), Stop::default());
    match act % 32 {
        0..29 => {
            let args = ReadArgs {
                path,
                ..ReadArgs::default()
            };
            match read_file(workspace, &args, &SeenFiles::new(), &stop) {
                Ok(ReadResult::Text(read)) => read.text,
                Ok(ReadResult::Picture(_)) | Err(_) => String::new(),
            }
        }
        29 => {
            let args = GrepArgs {
                pattern: "an.ry".to_owned(),
                path: Some(path),
                ..GrepArgs::default()
            };
            search_files(workspace, &args, &stop)
                .map_or_else(|_| String::new(), |it| it.lines.join("\n"))
        }
        30 => {
            let args = FindArgs {
                pattern: "secret*".to_owned(),
                path: Some(path),
                ..FindArgs::default()
            };
            let found = find_paths(workspace, &args, &stop);
            found.map_or_else(|_| String::new(), |found| named(&found.paths))
        }
        _ => {
            let args = LsArgs {
                path: Some(path),
                ..LsArgs::default()
            };
            let listing = list_folder(workspace, &args, &stop);
            listing.map_or_else(|_| String::new(), |listing| named(&listing.entries))
        }
    }
}

/// The canary, if a name is told that only a folder outside has.
fn named(paths: &[String]) -> String {
    let is_outside = |path: &String| {
        // Where a link in the workspace leads may be told.
        let path = path.split(" -> ").next().unwrap_or(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("secret") || name.starts_with("deep")
    };
    let told = paths.iter().any(is_outside);
    if told { CANARY } else { "" }.to_owned()
}

/// Writes to the path, or edits it; false if that was refused before anything in the
/// workspace could have changed.
fn changes(act: u8, path: String, workspace: &Workspace) -> bool {
    let (seen, stop) = (SeenFiles::new(), Stop::default());
    let result = if act & 0x80 == 0 {
        let content = "written\n".to_owned();
        write_file(workspace, &WriteArgs { path, content }, &seen, &stop).map(|_| ())
    } else {
        let edit = |old: &str| Edit {
            old_text: old.to_owned(),
            new_text: "written".to_owned(),
            replace_all: None,
        };
        let edits = vec![edit(if act & 0x40 == 0 { CANARY } else { "inside" })];
        edit_file(workspace, &EditArgs { path, edits }, &seen, &stop).map(|_| ())
    };
    matches!(result, Ok(()) | Err(Error::Io { .. }))
}
