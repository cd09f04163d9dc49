//! The files of a session.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::Error;
use crate::id::SessionId;

/// The folder of the sessions that work in no folder.
const NOWHERE: &str = "_";
/// The most bytes of a path that can be read in its key.
const READABLE: usize = 80;
const SUFFIX: &str = ".jsonl";

/// The files of one session: they lie side by side, and their names begin with its id.
#[derive(Clone, Debug)]
pub(crate) struct SessionFiles {
    pub(crate) folder: PathBuf,
    pub(crate) id: SessionId,
}

impl SessionFiles {
    pub(crate) fn new(folder: PathBuf, id: SessionId) -> Self {
        Self { folder, id }
    }

    /// The session itself.
    pub(crate) fn session(&self) -> PathBuf {
        self.beside("jsonl")
    }

    /// The session before it has its name.
    pub(crate) fn new_session(&self) -> PathBuf {
        self.beside("new")
    }

    /// Its index, which can be thrown away.
    pub(crate) fn index(&self) -> PathBuf {
        self.beside("index")
    }

    /// Another file of the session's, `<id>.<ending>`.
    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.id))
    }

    /// A file of this session's that is not there yet: the first of `<id>.<ending>-1`, `-2`…
    pub(crate) fn create_numbered(&self, ending: &str) -> Result<(PathBuf, File), Error> {
        let mut number = 1_u32;
        loop {
            let path = self.beside(&format!("{ending}-{number}"));
            match create_private(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < u32::MAX => {
                    number += 1;
                }
                Err(error) => return Err(Error::io("cannot create", path)(error)),
            }
        }
    }

    /// All files of this session but the session itself.
    pub(crate) fn others(&self) -> io::Result<Vec<PathBuf>> {
        let start = format!("{}.", self.id);
        let session = self.session();
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            let name = entry.file_name();
            if name.as_bytes().starts_with(start.as_bytes()) && path != session {
                paths.push(path);
            }
        }
        Ok(paths)
    }
}

/// The session whose file has this name.
pub(crate) fn id_of(name: &std::ffi::OsStr) -> Option<SessionId> {
    let id = name.to_str()?.strip_suffix(SUFFIX)?;
    // Other spellings of an id are other files, which nobody would find again by the id.
    id.parse()
        .ok()
        .filter(|it: &SessionId| it.to_string() == id)
}

/// The name of the folder for the sessions of a working folder: what can be read of its path, and a hash
/// of all of it.
pub(crate) fn key_of(cwd: Option<&Path>) -> String {
    let Some(cwd) = cwd else {
        return NOWHERE.to_owned();
    };
    let path = canonical(cwd);
    let bytes = path.as_os_str().as_bytes();
    let readable: String = path.to_string_lossy().chars().map(safe).collect();
    let readable = readable.trim_start_matches(['-', '.']);
    // The end of a path says more than its beginning. All of it is ASCII.
    let readable = &readable[readable.len().saturating_sub(READABLE)..];
    format!("{readable}-{:016x}", fnv(bytes))
}

/// A folder by its one true path, where it is there.
pub(crate) fn canonical(folder: &Path) -> PathBuf {
    fs::canonicalize(folder)
        .or_else(|_| std::path::absolute(folder))
        .unwrap_or_else(|_| folder.to_owned())
}

fn safe(character: char) -> char {
    if character.is_ascii_alphanumeric() || matches!(character, '.' | '_') {
        character
    } else {
        '-'
    }
}

/// FNV-1a, which is the same for ever.
fn fnv(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Makes a folder that only its owner can enter, unless it is there.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    match create_last(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(parent) = folder.parent() else {
                return Err(error);
            };
            create_folder(parent)?;
            // Not once more from the start: in some folders, such as /proc, nothing can ever be made,
            // and this is what the system says.
            create_last(folder)
        }
        made => made,
    }
}

fn create_last(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a file that only its owner can read, and opens it.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    // The umask can only have taken away too much.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Gives a file its name, unless there is one of that name.
pub(crate) fn appear(new: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(new, path) {
        Ok(()) => {
            // A name too many does no harm.
            let _ = fs::remove_file(new);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no links. Ids are unique, so nobody else makes this name.
        Err(_) => fs::rename(new, path),
    }
}

/// Opens a file that has to be a file: a pipe of its name would block for ever.
pub(crate) fn open_regular(path: &Path, write: bool) -> io::Result<File> {
    open_with_metadata(path, write).map(|(file, _)| file)
}

/// The same, with what had to be asked for that.
pub(crate) fn open_with_metadata(path: &Path, write: bool) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new()
        .read(true)
        .write(write)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok((file, metadata))
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

/// Makes the names in a folder outlive a loss of power.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(Error::io("cannot make durable", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_can_be_read_and_is_safe() {
        let long = format!("/{}", "long/".repeat(100));
        let cases = [
            ("/srv/no such/project", "srv-no-such-project-"),
            ("/", "-"),
            ("/..a/ä\n", "a----"),
            (long.as_str(), "long-long"),
        ];
        for (path, start) in cases {
            let key = key_of(Some(Path::new(path)));
            assert!(key.starts_with(start) || key.contains(start), "{key}");
            assert!(key.len() <= READABLE + 17, "{key}");
            assert!(!key.starts_with('.') && !key.contains('/'), "{key}");
        }
        assert_eq!(key_of(None), "_");
    }

    #[test]
    fn folders_that_read_alike_have_keys_of_their_own() {
        let keys =
            ["/a/b", "/a-b", "/a b", "/a/b/c/../../b-"].map(|it| key_of(Some(Path::new(it))));
        for (number, key) in keys.iter().enumerate() {
            assert!(!keys[..number].contains(key), "{key}");
        }
    }

    #[test]
    fn only_the_one_spelling_of_an_id_names_a_session() {
        let id = SessionId::new();
        assert_eq!(id_of(format!("{id}.jsonl").as_ref()), Some(id));
        let loud = id.to_string().to_uppercase();
        for name in [
            format!("{loud}.jsonl"),
            format!("{id}.index"),
            "x.jsonl".to_owned(),
        ] {
            assert_eq!(id_of(name.as_ref()), None, "{name}");
        }
    }
}
