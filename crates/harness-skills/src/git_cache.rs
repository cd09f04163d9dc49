//! What of a repository is kept on disk.
//!
//! ```text
//! CACHE/KEY/lock                 shared by those who update, whole for the one who tidies up
//! CACHE/KEY/repository           bare; saves the next fetch from fetching all anew
//! CACHE/KEY/checkouts/REVISION   files of one commit, never changed
//! CACHE/KEY/references/KEY       which revision a branch or tag stands for
//! CACHE/KEY/temporary/PID-N      somebody's work
//! ```
//!
//! Everything is made in a folder under `temporary` and renamed into its place, so that a process that
//! is killed leaves nothing half done where it counts. Nobody waits for anybody but for one who tidies
//! up.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::git::Deadline;
use crate::git_url::GitUrl;
use crate::source::SourceError;

/// More bytes than any record has.
const RECORD: u64 = 64 * 1024;
/// A bare repository with more packs is made anew: it keeps what no reference stands for any more.
const PACKS: usize = 32;

/// The full name of a commit: 40 or 64 hexadecimal digits, lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Revision(String);

impl Revision {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_full = matches!(text.len(), 40 | 64);
        (is_full && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| Self(text.to_ascii_lowercase()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The first digits, as git shows them.
    pub(crate) fn short(&self) -> &str {
        &self.0[..7]
    }

    /// Whether it is one of a repository that hashes by SHA-256.
    pub(crate) fn is_sha256(&self) -> bool {
        self.0.len() == 64
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a reference stands for, and stood for before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) reference: String,
    pub(crate) revision: Revision,
    pub(crate) previous: Option<Revision>,
}

/// What is kept of one repository.
#[derive(Clone, Debug)]
pub(crate) struct GitCache {
    folder: PathBuf,
    /// Written into records: two addresses may have one key.
    url: String,
}

impl GitCache {
    /// In an absolute folder that has the caches of all repositories.
    pub(crate) fn new(folder: &Path, url: &GitUrl) -> Self {
        Self {
            folder: folder.join(url.key()),
            url: url.to_string(),
        }
    }

    /// Where the files of a commit are, or would be.
    pub(crate) fn checkout(&self, revision: &Revision) -> PathBuf {
        self.folder.join("checkouts").join(revision.as_str())
    }

    /// Whether the files of a commit are here.
    pub(crate) fn has(&self, revision: &Revision) -> Result<bool, SourceError> {
        let path = self.checkout(revision);
        match fs::symlink_metadata(&path) {
            Ok(metadata) => Ok(metadata.is_dir()),
            Err(error) if is_none(&error) => Ok(false),
            Err(error) => Err(SourceError::io("look at", path)(error)),
        }
    }

    /// Where the bare repository rests while nobody works with it.
    pub(crate) fn repository(&self) -> PathBuf {
        self.folder.join("repository")
    }

    /// What is recorded of a reference. `None` also if that cannot be understood, since then it has to
    /// be fetched anew.
    pub(crate) fn record(&self, reference: &str) -> Result<Option<Record>, SourceError> {
        let path = self
            .folder
            .join("references")
            .join(key(reference, reference));
        let text = match read(&path) {
            Ok(text) => text,
            Err(error) if is_none(&error) => return Ok(None),
            Err(error) => return Err(SourceError::io("read", path)(error)),
        };
        let record = self.parse(&text);
        Ok(record.filter(|record| record.reference == reference))
    }

    /// Replaces what is recorded of a reference.
    pub(crate) fn set_record(
        &self,
        temporary: &Temporary,
        record: &Record,
    ) -> Result<(), SourceError> {
        let mut text = format!(
            "url {}\nreference {}\nrevision {}\n",
            self.url, record.reference, record.revision
        );
        if let Some(previous) = &record.previous {
            text = format!("{text}previous {previous}\n");
        }
        let folder = self.folder.join("references");
        fs::create_dir_all(&folder).map_err(SourceError::io("make", &folder))?;
        let new = temporary.path().join("record");
        File::create(&new)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            })
            .map_err(SourceError::io("write", &new))?;
        let path = folder.join(key(&record.reference, &record.reference));
        fs::rename(&new, &path).map_err(SourceError::io("write", path))
    }

    fn parse(&self, text: &str) -> Option<Record> {
        let mut lines = text.lines();
        let url = lines.next()?.strip_prefix("url ")?;
        let reference = lines.next()?.strip_prefix("reference ")?;
        let revision = lines.next()?.strip_prefix("revision ")?;
        let previous = match lines.next() {
            Some(line) => Some(Revision::parse(line.strip_prefix("previous ")?)?),
            None => None,
        };
        (url == self.url).then_some(Record {
            reference: reference.to_owned(),
            revision: Revision::parse(revision)?,
            previous,
        })
    }

    /// Makes the folder, and keeps others from tidying up in it. An error of the kind `TimedOut` if
    /// somebody does so for too long.
    pub(crate) fn share(&self, deadline: Deadline) -> Result<Share, SourceError> {
        fs::create_dir_all(&self.folder).map_err(SourceError::io("make", &self.folder))?;
        let path = self.folder.join("lock");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(SourceError::io("open", &path))?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Share(Some(file))),
            // No locks on this disk: then nobody tidies up.
            Err(TryLockError::Error(_)) => Ok(Share(None)),
            Err(TryLockError::WouldBlock) => {
                let (send, locked) = mpsc::channel();
                thread::Builder::new()
                    .name("git cache".to_owned())
                    .spawn(move || {
                        let share = file.lock_shared().map(|()| file);
                        // If nobody wants it any more, the lock goes with the message.
                        let _ = send.send(share);
                    })
                    .map_err(SourceError::io("lock", &path))?;
                let share = deadline.receive(&locked);
                let share = share.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()));
                share
                    .map(|file| Share(Some(file)))
                    .map_err(SourceError::io("lock", path))
            }
        }
    }

    /// A new folder for one's work.
    pub(crate) fn temporary(&self) -> Result<Temporary, SourceError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let parent = self.folder.join("temporary");
        fs::create_dir_all(&parent).map_err(SourceError::io("make", &parent))?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{}-{number}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Temporary(path)),
                // Of another process with this number: one that was killed, or is in a container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(SourceError::io("make", path)(error)),
            }
        }
    }

    /// Puts a finished folder of files into its place. If another process was faster, its is as good.
    pub(crate) fn keep_checkout(&self, new: &Path, revision: &Revision) -> Result<(), SourceError> {
        let path = self.checkout(revision);
        let parent = self.folder.join("checkouts");
        fs::create_dir_all(&parent).map_err(SourceError::io("make", &parent))?;
        match fs::rename(new, &path) {
            Err(error) if !self.has(revision)? => Err(SourceError::io("make", path)(error)),
            _ => Ok(()),
        }
    }

    /// Removes what nobody needs any more, if nobody else is at work here: what killed processes left
    /// behind, and checkouts that no reference stands for or stood for before. It matters to nobody if
    /// that fails.
    pub(crate) fn tidy_up(&self, share: Share) {
        let Some(lock) = share.0 else { return };
        // One step from shared to exclusive is not the same everywhere.
        if lock.unlock().is_err() || lock.try_lock().is_err() {
            return;
        }
        for path in entries(&self.folder.join("temporary")) {
            let _ = fs::remove_dir_all(path);
        }
        let packs = self.repository().join("objects/pack");
        let is_pack = |path: &PathBuf| path.extension().is_some_and(|end| end == "pack");
        if entries(&packs).iter().filter(|path| is_pack(path)).count() > PACKS {
            let _ = self.remove(&self.repository());
        }
        let Some(needed) = self.needed() else { return };
        for path in entries(&self.folder.join("checkouts")) {
            let name = path.file_name().and_then(|name| name.to_str());
            if !name.is_some_and(|name| needed.contains(name)) {
                let _ = self.remove(&path);
            }
        }
    }

    /// The revisions of all records. `None` if one cannot be read: who knows what it needs.
    fn needed(&self) -> Option<HashSet<String>> {
        let mut needed = HashSet::new();
        for path in entries(&self.folder.join("references")) {
            let record = self.parse(&read(&path).ok()?)?;
            needed.insert(record.revision.0);
            needed.extend(record.previous.map(|previous| previous.0));
        }
        Some(needed)
    }

    /// Removes a folder. It is out of its place first, so that it is never there in part.
    fn remove(&self, path: &Path) -> Result<(), SourceError> {
        let temporary = self.temporary()?;
        fs::rename(path, temporary.path().join("removed")).map_err(SourceError::io("remove", path))
    }
}

/// As long as it lives, nobody tidies up.
#[derive(Debug)]
pub(crate) struct Share(Option<File>);

/// A folder that goes with this.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What stays is removed by whoever tidies up.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file name: the letters and digits of one text, for people, and a hash of another.
pub(crate) fn key(shown: &str, text: &str) -> String {
    const LETTERS: usize = 60;
    let mut key = String::new();
    for c in shown.chars() {
        if key.len() >= LETTERS {
            break;
        } else if c.is_ascii_alphanumeric() {
            key.push(c.to_ascii_lowercase());
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    let end = if key.is_empty() || key.ends_with('-') {
        ""
    } else {
        "-"
    };
    format!("{key}{end}{:016x}", hash(text.as_bytes()))
}

/// FNV-1a over words of eight bytes: the same for every build, so that what was fetched is found again.
fn hash(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = OFFSET;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(PRIME);
        hash ^= hash >> 32;
    }
    for byte in chunks.remainder() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    }
    hash
}

/// The paths in a folder; none if there is no such folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = Vec::new();
    File::open(path)?.take(RECORD).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn is_none(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_harmless_name() {
        for text in ["", "/", "..", "../../etc", "https://host/x.git", "é", "-x"] {
            let key = key(text, text);
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(key.chars().all(is_plain) && !key.starts_with('-'), "{key}");
        }
        assert!(key("https://host/x.git", "?").starts_with("https-host-x-git-"));
        assert_ne!(key("a/b", "a/b"), key("a-b", "a-b"));
        assert_eq!(key(&"x".repeat(1000), "").len(), 60 + 1 + 16);
    }

    #[test]
    fn a_record_is_understood_or_it_is_none() {
        let url = GitUrl::parse("https://host/x").expect("sound");
        let cache = GitCache::new(Path::new("/cache"), &url);
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let start = "url https://host/x\nreference main\n";
        let record = cache.parse(&format!("{start}revision {a}\nprevious {b}\n"));
        let record = record.expect("a record");
        assert_eq!(
            (record.revision.0, record.previous.map(|b| b.0)),
            (a.clone(), Some(b))
        );
        for text in [
            "",
            start,
            &format!("{start}revision ../../x\n"),
            &format!("{start}revision {a}\nprevious x\n"),
            &format!("url https://host/y\nreference main\nrevision {a}\n"),
        ] {
            assert_eq!(cache.parse(text), None, "{text}");
        }
    }
}
