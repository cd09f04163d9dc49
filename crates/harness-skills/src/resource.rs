//! The other files in a skill's folder.

use std::collections::VecDeque;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::examination::SKILL_FILE;
use crate::limits::Limits;
use crate::skill::Skill;
use crate::skill_file::open_within;

/// How deep files are listed below a skill's folder.
const DEPTH: usize = 4;

/// How many entries are looked at for the list.
const ENTRIES: usize = 5_000;

/// The files in a skill's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// Their paths in the folder, sorted.
    pub files: Vec<PathBuf>,
    /// Whether there are more than are listed.
    pub more: bool,
}

/// A file of a skill, read as text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resource {
    /// Where it is.
    pub file: PathBuf,
    /// Its text; the beginning of a large one.
    pub text: String,
    /// Its whole size in bytes, if only a part was read.
    pub whole: Option<u64>,
}

/// Why a file of a skill cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// The skill is part of the program.
    #[error("the skill `{0}` has no files beside its instructions")]
    NoFolder(String),
    /// The path is none within the skill's folder.
    #[error(
        "`{path}` is refused: {why}; give a path within the skill's folder, such as references/a.md"
    )]
    Refused {
        /// What was asked for.
        path: String,
        /// Why.
        why: String,
    },
    /// Nothing is there.
    #[error("there is no `{path}` in the skill{}", offer(.there))]
    Missing {
        /// What was asked for.
        path: String,
        /// What is there.
        there: Vec<String>,
    },
    /// It is no text, or cannot be read.
    #[error("`{path}` cannot be read as text: {why}")]
    Unreadable {
        /// What was asked for.
        path: String,
        /// Why.
        why: String,
    },
}

fn offer(there: &[String]) -> String {
    if there.is_empty() {
        return ", which has no other files".to_owned();
    }
    format!("; these are there: {}", there.join(", "))
}

/// Lists the files below a skill's folder, without those that are hidden. Links are listed, and not followed.
pub(crate) fn resources(skill: &Skill, limits: &Limits) -> Resources {
    let real = skill.directory().and_then(|path| path.canonicalize().ok());
    match real {
        Some(directory) if is_within_boundary(skill, &directory) => list(skill, &directory, limits),
        _ => Resources::default(),
    }
}

fn list(skill: &Skill, directory: &Path, limits: &Limits) -> Resources {
    let mut files = Vec::new();
    let mut folders = VecDeque::from([(PathBuf::new(), 0)]);
    let (mut entries, mut more) = (0, false);
    while let Some((folder, depth)) = folders.pop_front() {
        let Ok(read) = std::fs::read_dir(directory.join(&folder)) else {
            continue;
        };
        let mut listed = Vec::new();
        let mut has_skill = false;
        for entry in read.flatten() {
            entries += 1;
            if entries > ENTRIES {
                more = true;
                break;
            }
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let is_skill = name.eq_ignore_ascii_case(SKILL_FILE);
            has_skill |= is_skill && !kind.is_dir();
            let is_own = is_skill && depth == 0;
            if !(name.as_bytes().starts_with(b".") || name == "node_modules" || is_own) {
                listed.push((name, kind));
            }
        }
        if has_skill && depth > 0 && skill.surroundings.is_shared {
            // These are the files of another skill.
            continue;
        }
        listed.sort_by(|(one, _), (other, _)| one.as_bytes().cmp(other.as_bytes()));
        for (name, kind) in listed {
            let path = folder.join(name);
            if kind.is_dir() {
                if depth < DEPTH {
                    folders.push_back((path, depth + 1));
                } else {
                    more = true;
                }
            } else if kind.is_file() || kind.is_symlink() {
                files.push(path);
            }
        }
    }
    files.sort_by(|one, other| one.as_os_str().as_bytes().cmp(other.as_os_str().as_bytes()));
    if files.len() > limits.resources {
        files.truncate(limits.resources);
        more = true;
    }
    Resources { files, more }
}

fn is_within_boundary(skill: &Skill, real: &Path) -> bool {
    let boundary = skill.surroundings.boundary.as_deref();
    boundary.is_none_or(|boundary| real.starts_with(boundary))
}

/// Whether a path below a skill's folder is that of another skill, which has a folder of its own there.
fn is_of_another(skill: &Skill, directory: &Path, real: &Path) -> bool {
    let has_skill = |folder: &Path| {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return false;
        };
        entries.flatten().any(|entry| {
            entry.file_name().eq_ignore_ascii_case(SKILL_FILE)
                && entry.file_type().is_ok_and(|kind| !kind.is_dir())
        })
    };
    let mut folders = real.ancestors().take_while(|folder| *folder != directory);
    skill.surroundings.is_shared && folders.any(has_skill)
}

/// Reads a file of a skill as text: `path` is relative to its folder, and what it leads to has to be in that
/// folder. The files of other skills that have folders of their own in it are not its files, if it stands in a
/// folder of skills itself. A large one is cut at a line, and says so; what is no text is refused.
pub fn read_resource(
    skill: &Skill,
    path: &str,
    limits: &Limits,
) -> Result<Resource, ResourceError> {
    let Some(directory) = skill.directory() else {
        return Err(ResourceError::NoFolder(skill.name()));
    };
    let refused = |why: &str| ResourceError::Refused {
        path: shown(path),
        why: why.to_owned(),
    };
    let relative = inside(path).map_err(refused)?;
    let unreadable = |why: String| ResourceError::Unreadable {
        path: shown(path),
        why,
    };
    let real_directory = directory
        .canonicalize()
        .map_err(|error| unreadable(error.to_string()))?;
    if !is_within_boundary(skill, &real_directory) {
        return Err(refused("the skill's folder is a link that leads outside"));
    }
    let of_another = "it belongs to another skill";
    let real = match real_directory.join(relative).canonicalize() {
        Ok(real) => real,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            // Of what is outside, nothing is told: not even that it is not there.
            let mut above = relative.ancestors().skip(1);
            let nearest = above.find_map(|path| real_directory.join(path).canonicalize().ok());
            if let Some(real) = nearest {
                if !real.starts_with(&real_directory) {
                    return Err(refused(&leads_out(&real)));
                }
                if is_of_another(skill, &real_directory, &real) {
                    return Err(refused(of_another));
                }
            }
            let there = list(skill, &real_directory, limits).files;
            return Err(ResourceError::Missing {
                path: shown(path),
                there: there
                    .iter()
                    .take(20)
                    .map(|file| shown(&file.to_string_lossy()))
                    .collect(),
            });
        }
        Err(error) => return Err(unreadable(error.to_string())),
    };
    if !real.starts_with(&real_directory) {
        return Err(refused(&leads_out(&real)));
    }
    if is_of_another(skill, &real_directory, &real) {
        return Err(refused(of_another));
    }
    read_text(&real, &real_directory, limits).map_err(unreadable)
}

fn leads_out(real: &Path) -> String {
    format!(
        "it is a link to {}, out of the skill's folder",
        real.display()
    )
}

/// A path within a folder, or why it is none. A backslash is refused wherever it stands: some systems take
/// it for a separator.
fn inside(path: &str) -> Result<&Path, &'static str> {
    if path.trim().is_empty() {
        return Err("it is empty");
    }
    if path.contains('\0') {
        return Err("there is a NUL in it");
    }
    if path.contains('\\') {
        return Err("there is a backslash in it");
    }
    let bytes = path.as_bytes();
    if bytes.get(1) == Some(&b':') && bytes.first().is_some_and(u8::is_ascii_alphabetic) {
        return Err("it begins with a drive");
    }
    let path = Path::new(path);
    for component in path.components() {
        match component {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir => return Err("there is `..` in it"),
            Component::RootDir | Component::Prefix(_) => return Err("it is absolute"),
        }
    }
    Ok(path)
}

fn read_text(real: &Path, directory: &Path, limits: &Limits) -> Result<Resource, String> {
    let problem = |error: std::io::Error| error.to_string();
    if real == directory {
        return Err("it is a folder".to_owned());
    }
    let file = open_within(real, directory).map_err(problem)?;
    let metadata = file.metadata().map_err(problem)?;
    if metadata.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let most = limits.resource_bytes;
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(problem)?;
    let whole = (bytes.len() as u64 > most).then(|| metadata.len().max(bytes.len() as u64));
    if whole.is_some() {
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        // At a line, and so not within a character.
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
            bytes.truncate(end + 1);
        }
    }
    if bytes.contains(&0) {
        return Err("it is not text".to_owned());
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // A line without an end was cut within a character.
        Err(error) if whole.is_some() && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?
        }
        Err(_) => return Err("it is not UTF-8 text".to_owned()),
    };
    Ok(Resource {
        file: real.to_owned(),
        text,
        whole,
    })
}

fn shown(path: &str) -> String {
    crate::name::shown(path).chars().take(200).collect()
}
