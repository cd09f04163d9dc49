//! A folder with what tools gave, for as long as a session lasts.

use std::collections::HashMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// What the folder's name begins with.
const PREFIX: &str = "harness-results-";

/// How much of a tool's name is in the name of a file.
const MAX_NAME: usize = 40;

/// A folder that only its owner may enter, with files that only their owner may read. It is removed with
/// the value.
#[derive(Debug)]
pub(crate) struct ResultFolder {
    folder: TempDir,
    next: u32,
    /// By the file's name, how often its content was moved out of a conversation.
    moves: HashMap<String, u32>,
}

impl ResultFolder {
    /// A new folder in `parent`, which is made if it is not there.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let parent = std::path::absolute(parent)?;
        fs::create_dir_all(&parent)?;
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        // A model could not name it.
        if folder.path().to_str().is_none() {
            return Err(io::Error::other("the name of the folder is not UTF-8"));
        }
        Ok(Self {
            folder,
            next: 1,
            moves: HashMap::new(),
        })
    }

    /// Writes a file whose name tells the tool. One that cannot be written whole is not left behind.
    pub(crate) fn write(
        &mut self,
        tool: &str,
        extension: &str,
        moves: u32,
        bytes: &[u8],
    ) -> io::Result<PathBuf> {
        let name = format!("{:04}-{}.{extension}", self.next, plain(tool));
        self.next += 1;
        let path = self.folder.path().join(&name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        if let Err(error) = file.write_all(bytes) {
            self.remove(&path);
            return Err(error);
        }
        self.moves.insert(name, moves);
        Ok(path)
    }

    /// Removes a file that nobody was told of.
    pub(crate) fn remove(&mut self, path: &Path) {
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            self.moves.remove(name);
        }
        // What is left goes with the folder.
        let _ = fs::remove_file(path);
    }

    /// How often the content was moved out that a call with these arguments asks for; 0 if it does not
    /// name a file of this folder.
    pub(crate) fn moves(&self, arguments: &str) -> u32 {
        let folder = self
            .folder
            .path()
            .file_name()
            .and_then(|name| name.to_str());
        let Some(folder) = folder else { return 0 };
        let named = arguments.match_indices(folder).map(|(at, found)| {
            // In JSON a slash may be written with a backslash.
            let behind = arguments[at + found.len()..].trim_start_matches(['\\', '/']);
            let end = behind.find(|c: char| !is_plain(c) && c != '.');
            let name = &behind[..end.unwrap_or(behind.len())];
            self.moves.get(name).copied().unwrap_or(1)
        });
        named.max().unwrap_or(0)
    }
}

/// A tool's name as a part of a file's name: a model may have made it up.
fn plain(tool: &str) -> String {
    let plain: String = tool
        .chars()
        .take(MAX_NAME)
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    if plain.is_empty() {
        "tool".to_owned()
    } else {
        plain
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_for_each_result_and_nothing_left() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = ResultFolder::create(&parent.path().join("a/b")).unwrap();
        let one = folder.write("../../etc/passwd", "txt", 1, b"one").unwrap();
        let two = folder.write("", "png", 2, b"two").unwrap();
        let long = folder.write(&"é".repeat(500), "txt", 1, b"three").unwrap();
        assert!(one.ends_with("0001-______etc_passwd.txt"), "{one:?}");
        assert!(two.ends_with("0002-tool.png"), "{two:?}");
        assert!(long.file_name().unwrap().len() < 60);
        assert_eq!(fs::read(&one).unwrap(), b"one");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&one), 0o600);
        assert_eq!(mode(one.parent().unwrap()), 0o700);

        let path = |path: &Path| path.to_str().unwrap().to_owned();
        for (arguments, moves) in [
            (String::new(), 0),
            (r#"{"path": "a.rs"}"#.to_owned(), 0),
            (format!(r#"{{"path": "{}"}}"#, path(&one)), 1),
            (format!(r#"{{"path": "{}"}}"#, path(&two)), 2),
            (path(&two).replace('/', "\\/"), 2),
            (format!("cat {} {}", path(&one), path(&two)), 2),
            (format!("ls {}", path(one.parent().unwrap())), 1),
        ] {
            assert_eq!(folder.moves(&arguments), moves, "{arguments}");
        }
        folder.remove(&two);
        assert!(!two.exists());
        drop(folder);
        assert_eq!(fs::read_dir(parent.path().join("a/b")).unwrap().count(), 0);
    }
}
