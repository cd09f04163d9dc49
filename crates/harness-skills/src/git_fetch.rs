//! One commit of a repository, from the network to a folder of files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitFailure};
use crate::git_cache::{Revision, Temporary, key};
use crate::git_source::GitSource;
use crate::source::SourceError;

/// The most files and folders of a checkout.
const MAX_ENTRIES: usize = 100_000;
/// The most bytes of all files of a checkout: 1 GiB.
const MAX_BYTES: u64 = 1 << 30;
/// The most bytes that the list of the entries may have.
const MAX_LIST: usize = 32 << 20;
/// More bytes than any other answer of git's has.
const MAX_ANSWER: usize = 4096;
/// Of what git says about a failure, the last lines are told.
const MESSAGE_LINES: usize = 8;
/// Files are taken as they are in the repository: no program of a filter is run, whatever the
/// repository's own `.gitattributes` say, and a checkout is the same on each machine.
const ATTRIBUTES: &str = "* -filter -text -ident !eol !working-tree-encoding\n";

/// A fetch, in a folder of its own.
#[derive(Debug)]
pub(crate) struct GitFetch<'a> {
    pub(crate) source: &'a GitSource,
    pub(crate) git: Git<'a>,
    pub(crate) temporary: &'a Temporary,
    /// The bare repository, as long as it is worked with. It goes back to where it rests after a
    /// success only: one that was left in the middle of something may have locks in it, or be broken.
    pub(crate) repository: PathBuf,
}

impl GitFetch<'_> {
    /// The repository of the last time, or a new one.
    pub(crate) fn open(&self) -> Result<(), SourceError> {
        // In one step: of two at once, one finds none.
        if fs::rename(self.source.cache.repository(), &self.repository).is_err() {
            // What the user prefers for new repositories is of no use here.
            let is_sha256 = self.source.pinned.as_ref().is_some_and(Revision::is_sha256);
            let format = if is_sha256 {
                "--object-format=sha256"
            } else {
                "--object-format=sha1"
            };
            let init = ["init", "--quiet", "--bare", "--template=", format];
            self.run("init", &init, &[], MAX_ANSWER)?;
        }
        let info = self.repository.join("info");
        let attributes = info.join("attributes");
        fs::create_dir_all(&info)
            .and_then(|()| fs::write(&attributes, ATTRIBUTES))
            .map_err(SourceError::io("write", attributes))
    }

    pub(crate) fn close(self) {
        // If somebody else has put one there, that is as good.
        let _ = fs::rename(&self.repository, self.source.cache.repository());
    }

    /// Fetches the commit, and gives its name.
    pub(crate) fn fetch(&self) -> Result<Revision, SourceError> {
        let Some(pinned) = &self.source.pinned else {
            let reference = &self.source.reference;
            let kept = format!("refs/skills/{}", key(reference, reference));
            let wanted = format!("+{reference}:{kept}");
            self.fetch_some("1", &[&wanted])?;
            return self.commit(&kept);
        };
        let kept = format!("refs/skills/{pinned}");
        let found = match self.fetch_some("1", &[&format!("+{pinned}:{kept}")]) {
            Ok(()) => self.commit(&kept)?,
            // Not every server gives a commit that no reference stands for. It may still be in the
            // history of one. The depth is what git takes for none.
            Err(SourceError::Git { network: false, .. }) => {
                let all = [
                    "+HEAD:refs/all/head",
                    "+refs/heads/*:refs/all/heads/*",
                    "+refs/tags/*:refs/all/tags/*",
                ];
                self.fetch_some("2147483647", &all)?;
                self.commit(pinned.as_str()).map_err(|error| match error {
                    SourceError::Git { .. } => self.failed("fetch", format!("it has no {pinned}")),
                    error => error,
                })?
            }
            Err(error) => return Err(error),
        };
        if found == *pinned {
            return Ok(found);
        }
        Err(self.wrong(found.to_string()))
    }

    fn fetch_some(&self, depth: &str, wanted: &[&str]) -> Result<(), SourceError> {
        let mut fetch = vec![
            "fetch",
            "--quiet",
            "--force",
            "--no-tags",
            "--no-recurse-submodules",
            "--depth",
            depth,
            "--",
            self.source.url.full(),
        ];
        fetch.extend(wanted);
        self.run("fetch", &fetch, &[], MAX_ANSWER).map(drop)
    }

    /// The name of the commit that a name stands for, through tags.
    fn commit(&self, name: &str) -> Result<Revision, SourceError> {
        let name = format!("{name}^{{commit}}");
        let answer = self.run(
            "rev-parse",
            &["rev-parse", "--verify", &name],
            &[],
            MAX_ANSWER,
        )?;
        let answer = String::from_utf8_lossy(&answer);
        Revision::parse(answer.trim())
            .ok_or_else(|| self.failed("rev-parse", "what it wrote is no revision".to_owned()))
    }

    /// A few kilobytes can name more files than any disk has, so they are counted first.
    pub(crate) fn check_size(&self, revision: &Revision) -> Result<(), SourceError> {
        let list = ["ls-tree", "-r", "-t", "-l", "-z", revision.as_str()];
        let list = self.run("ls-tree", &list, &[], MAX_LIST)?;
        let (mut entries, mut bytes) = (0_usize, 0_u64);
        for entry in list
            .split(|byte| *byte == 0)
            .filter(|entry| !entry.is_empty())
        {
            entries += 1;
            // Mode, kind, name and size in front of a tab; of folders, the size is a hyphen.
            let size = entry.split(|byte| *byte == b'\t').next();
            let size = size.and_then(|fields| fields.rsplit(|byte| *byte == b' ').next());
            let size = size.and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
            bytes = bytes.saturating_add(size.unwrap_or(0_u64));
        }
        if entries > MAX_ENTRIES {
            return Err(self.too_large(format!("over {MAX_ENTRIES} files and folders")));
        }
        if bytes > MAX_BYTES {
            return Err(self.too_large(format!("over {MAX_BYTES} bytes")));
        }
        Ok(())
    }

    /// Makes a folder of a commit's files.
    pub(crate) fn files(&self, revision: &Revision) -> Result<PathBuf, SourceError> {
        let files = self.temporary.path().join("checkout");
        fs::create_dir(&files).map_err(SourceError::io("make", &files))?;
        let index = self.temporary.path().join("index");
        let variables = [
            ("GIT_WORK_TREE", files.as_path()),
            ("GIT_INDEX_FILE", index.as_path()),
        ];
        let read = ["read-tree", "--reset", "-u", revision.as_str()];
        self.run("read-tree", &read, &variables, MAX_ANSWER)?;
        Ok(files)
    }

    fn run(
        &self,
        step: &'static str,
        arguments: &[&str],
        variables: &[(&str, &Path)],
        most: usize,
    ) -> Result<Vec<u8>, SourceError> {
        let mut all = vec![("GIT_DIR", self.repository.as_path())];
        all.extend(variables);
        let folder = self.temporary.path();
        self.git
            .run(folder, arguments, &all, most)
            .map_err(|failure| self.error(step, most, failure))
    }

    fn error(&self, step: &'static str, most: usize, failure: GitFailure) -> SourceError {
        let source = self.source;
        match failure {
            GitFailure::Start(error) => SourceError::Program {
                program: source.program.clone(),
                error,
            },
            GitFailure::TimedOut => SourceError::TimedOut {
                origin: source.url.to_string(),
                timeout: source.timeout,
            },
            GitFailure::TooMuch => self.too_large(format!("git {step} writes over {most} bytes")),
            GitFailure::Failed(text) => {
                let text = source.url.clean(&text);
                let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
                let last = lines.len().saturating_sub(MESSAGE_LINES);
                SourceError::Git {
                    step,
                    origin: source.url.to_string(),
                    network: step == "fetch" && is_network(&text),
                    message: lines[last..].join("\n"),
                }
            }
        }
    }

    fn failed(&self, step: &'static str, message: String) -> SourceError {
        SourceError::Git {
            step,
            origin: self.source.url.to_string(),
            message,
            network: false,
        }
    }

    fn too_large(&self, what: String) -> SourceError {
        SourceError::TooLarge {
            origin: self.source.url.to_string(),
            what,
        }
    }

    fn wrong(&self, found: String) -> SourceError {
        let pinned = self.source.pinned.as_ref();
        SourceError::WrongRevision {
            origin: self.source.url.to_string(),
            pinned: pinned.map(ToString::to_string).unwrap_or_default(),
            found,
        }
    }
}

/// Whether a message, in English, is of a network that is down or disturbed.
fn is_network(message: &str) -> bool {
    const WORDS: &[&str] = &[
        "could not resolve",
        "temporary failure in name resolution",
        "failed to connect",
        "couldn't connect",
        "connection refused",
        "connection reset",
        "connection closed",
        "connection timed out",
        "operation timed out",
        "network is unreachable",
        "no route to host",
        "early eof",
        "the remote end hung up unexpectedly",
        "unexpected disconnect",
        "rpc failed",
        "returned error: 429",
        "returned error: 5",
    ];
    let message = message.to_ascii_lowercase();
    // Said after whatever was the cause, such as a path that has no repository.
    let message = message.replace("could not read from remote repository", "");
    WORDS.iter().any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_network_does() {
        assert!(is_network(
            "fatal: unable to access 'x': Could not resolve host: h"
        ));
        assert!(is_network(
            "ssh: connect to host h port 22: Connection refused"
        ));
        assert!(!is_network("fatal: couldn't find remote ref main"));
        assert!(!is_network("'x' does not appear to be a git repository"));
    }
}
