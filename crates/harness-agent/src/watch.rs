//! Files that something was made from, and whether they are still the same.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use harness_prompt::Keep;

/// The most bytes that are read of one file.
const MAX_BYTES: u64 = 256 * 1024;

/// A file that changed less than this before it was read may change again without a trace: clocks of
/// file systems tick slowly.
const SETTLED: Duration = Duration::from_millis(50);

/// How often a file that gives way to another one while it is read is read again.
const TRIES: usize = 3;

/// What text files may be called. A link in a project that strangers wrote can point anywhere; this
/// keeps keys and passwords, which are called otherwise, out of what a provider is sent.
const TEXT_NAMES: [&str; 4] = ["md", "mdc", "markdown", "txt"];

/// All that was looked at, with the state that it was in. Looking again costs a `stat` for each.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    seen: Vec<(PathBuf, Seen)>,
    unsettled: bool,
}

/// What was seen of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Whether anything is there. `.git` changes with each command of git, and says nothing by it.
    Exists(bool),
    /// In which state it is, if it is there.
    State(Option<Stamp>),
}

/// A state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A text file.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// Where it really is.
    pub(crate) real: PathBuf,
    /// Its text, with plain line ends; the first or the last part of a large one.
    pub(crate) text: String,
    /// Its whole size, if only a part was read.
    pub(crate) whole: Option<u64>,
    /// Device and inode: the same file under another name has the same.
    pub(crate) identity: (u64, u64),
}

/// What came of reading a file.
enum Attempt {
    /// `None` if nothing is there.
    Read(Option<TextFile>),
    /// Another file took the path meanwhile.
    Overtaken,
}

impl Watch {
    /// Whether everything is as it was.
    pub(crate) fn is_current(&self) -> bool {
        !self.unsettled
            && self
                .seen
                .iter()
                .all(|(path, seen)| seen.is_so(stat(path).ok().as_ref()))
    }

    /// Whether there is anything at a path.
    pub(crate) fn exists(&mut self, path: &Path) -> bool {
        let exists = stat(path).is_ok();
        self.seen.push((path.to_owned(), Seen::Exists(exists)));
        exists
    }

    /// Reads a text file, at most its first or last [`MAX_BYTES`]. `Ok(None)` if nothing is there;
    /// `Err` says why what is there cannot be used.
    pub(crate) fn read(&mut self, path: &Path, keep: Keep) -> Result<Option<TextFile>, String> {
        for _ in 0..TRIES {
            if let Attempt::Read(file) = self.try_to_read(path, keep)? {
                return Ok(file);
            }
        }
        Err("it changes while it is read".to_owned())
    }

    fn try_to_read(&mut self, path: &Path, keep: Keep) -> Result<Attempt, String> {
        let metadata = match self.look(path) {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => return Ok(Attempt::Read(None)),
            Err(error) => return Err(error.to_string()),
        };
        if metadata.is_dir() {
            return Err("it is a folder".to_owned());
        }
        if !metadata.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        let real = path.canonicalize().map_err(|error| error.to_string())?;
        let is_text = real
            .extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|e| TEXT_NAMES.iter().any(|known| e.eq_ignore_ascii_case(known)));
        if !is_text {
            return Err(format!(
                "it leads to {}, which is not called .{}",
                real.display(),
                TEXT_NAMES.join(", .")
            ));
        }
        let file = File::open(&real).map_err(|error| error.to_string())?;
        let opened = file.metadata().map_err(|error| error.to_string())?;
        let identity = (metadata.dev(), metadata.ino());
        // What was looked at is what is read: a link may stand there by now, to something else.
        if (opened.dev(), opened.ino()) != identity {
            return Ok(Attempt::Overtaken);
        }
        let text = read_text(file, &metadata, keep)?;
        Ok(Attempt::Read(Some(TextFile {
            real,
            text,
            whole: Some(metadata.len()).filter(|bytes| *bytes > MAX_BYTES),
            identity,
        })))
    }

    /// The entries of a folder, sorted by name, with whether each is a folder; links are not followed
    /// to folders. `None` if it is not there or cannot be read.
    pub(crate) fn list(&mut self, folder: &Path) -> Option<Vec<(String, bool)>> {
        self.look(folder).ok().filter(Metadata::is_dir)?;
        let mut entries: Vec<(String, bool)> = std::fs::read_dir(folder)
            .ok()?
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let kind = entry.file_type().ok()?;
                // A name that is no text cannot be told to a model so that it could use it.
                let name = entry.file_name().into_string().ok()?;
                (kind.is_dir() || kind.is_file() || kind.is_symlink())
                    .then_some((name, kind.is_dir()))
            })
            .collect();
        entries.sort();
        Some(entries)
    }

    fn look(&mut self, path: &Path) -> io::Result<Metadata> {
        let found = stat(path);
        let stamp = found.as_ref().ok().map(Stamp::of);
        if let Ok(metadata) = &found {
            let age = metadata.modified().ok().and_then(|at| {
                // A time to come is as unsettled as one just gone.
                SystemTime::now().duration_since(at).ok()
            });
            self.unsettled |= age.is_none_or(|age| age < SETTLED);
        }
        self.seen.push((path.to_owned(), Seen::State(stamp)));
        found
    }
}

impl Seen {
    fn is_so(self, found: Option<&Metadata>) -> bool {
        match self {
            Self::Exists(exists) => exists == found.is_some(),
            Self::State(stamp) => stamp == found.map(Stamp::of),
        }
    }
}

fn stat(path: &Path) -> io::Result<Metadata> {
    std::fs::metadata(path)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

fn read_text(mut file: File, metadata: &Metadata, keep: Keep) -> Result<String, String> {
    let problem = |error: io::Error| error.to_string();
    let skipped = match keep {
        Keep::End => metadata.len().saturating_sub(MAX_BYTES),
        Keep::Start | Keep::Whole => 0,
    };
    if skipped > 0 {
        file.seek(SeekFrom::Start(skipped)).map_err(problem)?;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(problem)?;
    // A character may be cut at either end of a part.
    let part = if skipped > 0 {
        let inner = bytes.iter().take(3).take_while(|b| **b & 0xC0 == 0x80);
        let start = inner.count();
        &bytes[start..]
    } else {
        &bytes[..]
    };
    let text = match std::str::from_utf8(part) {
        Ok(text) => text,
        Err(error) if bytes.len() as u64 == MAX_BYTES && error.error_len().is_none() => {
            std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err("it is not UTF-8 text".to_owned()),
    };
    if text.contains('\0') {
        return Err("it is not text".to_owned());
    }
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    Ok(text.replace("\r\n", "\n"))
}
