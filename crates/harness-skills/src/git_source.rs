//! A git repository.

use std::fs;
use std::path::{Component, Path, PathBuf, absolute};
use std::time::Duration;

use crate::git::{Deadline, Git};
use crate::git_cache::{GitCache, Record, Revision, Share};
use crate::git_fetch::GitFetch;
use crate::git_url::GitUrl;
use crate::name::shown;
use crate::source::{Checkout, SkillSource, SourceError, Update};

/// How long an update may take, if nothing else was said.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Where the folder for skills is, if nothing else was said and there is one.
const SKILLS: &str = "skills";

/// A git repository, of which checkouts are kept in a folder.
///
/// An update fetches one commit, without its history, and makes a folder of its files: no `.git`, no
/// submodules, no file of Git LFS. No hook, no filter and no transport helper is run, and nobody is
/// asked for a password; what the user has set up for ssh or as a credential helper is used. That
/// folder is never changed: the next revision gets one of its own. The one before is kept too, for
/// whoever still reads it.
///
/// ```no_run
/// use harness_skills::{GitSource, SkillSource};
///
/// let source = GitSource::new("https://example.org/skills.git", "/var/cache/skills")?.at("v1.2")?;
/// if source.cached()?.is_none() {
///     source.update()?;
/// }
/// # Ok::<(), harness_skills::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GitSource {
    pub(crate) url: GitUrl,
    pub(crate) cache: GitCache,
    pub(crate) reference: String,
    pub(crate) pinned: Option<Revision>,
    skills_folder: Option<PathBuf>,
    pub(crate) timeout: Duration,
    pub(crate) program: PathBuf,
}

impl GitSource {
    /// The newest of the repository's main branch.
    ///
    /// `url` is `https://…`, `http://…`, `ssh://…`, `file://…`, `user@host:path` or a path; anything
    /// else is refused. Better without credentials: as long as git runs, other users of the machine
    /// can see its arguments. `cache_folder` is made when it is needed, and may be shared by sources
    /// and by processes. Who can read it can read what was fetched, with whatever credentials.
    pub fn new(
        url: impl AsRef<str>,
        cache_folder: impl Into<PathBuf>,
    ) -> Result<Self, SourceError> {
        let url = GitUrl::parse(url.as_ref())?;
        let folder = cache_folder.into();
        let folder = absolute(&folder).map_err(SourceError::io("find", &folder))?;
        Ok(Self {
            cache: GitCache::new(&folder, &url),
            url,
            reference: "HEAD".to_owned(),
            pinned: None,
            skills_folder: None,
            timeout: TIMEOUT,
            program: PathBuf::from("git"),
        })
    }

    /// A branch or a tag: `main`, `v1.2`, `refs/heads/main`. A tag comes before a branch of the same
    /// name. A full revision is taken as [pinned](Self::pinned).
    pub fn at(mut self, reference: impl Into<String>) -> Result<Self, SourceError> {
        let reference = reference.into();
        if Revision::parse(&reference).is_some() {
            return self.pinned(reference);
        }
        if !is_reference(&reference) {
            return Err(SourceError::Reference { reference });
        }
        self.reference = reference;
        Ok(self)
    }

    /// One commit, by its full name: 40 hexadecimal digits, or 64 where the repository hashes by
    /// SHA-256. Comes before any reference. Once it is here, nothing is fetched and git is not run.
    /// Its checkout stays for as long as the cache does.
    pub fn pinned(mut self, revision: impl AsRef<str>) -> Result<Self, SourceError> {
        let text = revision.as_ref();
        let revision = Revision::parse(text).ok_or_else(|| SourceError::Revision {
            revision: text.to_owned(),
        })?;
        self.pinned = Some(revision);
        Ok(self)
    }

    /// The folder in the repository that has the skills. Default: `skills` if there is one, else all
    /// of it.
    pub fn skills_folder(mut self, folder: impl Into<PathBuf>) -> Result<Self, SourceError> {
        let folder = folder.into();
        let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if folder.as_os_str().is_empty() || !folder.components().all(is_below) {
            return Err(SourceError::SkillsFolder { folder });
        }
        self.skills_folder = Some(folder);
        Ok(self)
    }

    /// How long an update may take, all in all. Default: one minute.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The git command. Default: `git`, of the `PATH`.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// The name of the record of what this source stands for. No reference has a space in its name.
    fn record_name(&self) -> String {
        match &self.pinned {
            Some(revision) => format!("pinned {revision}"),
            None => self.reference.clone(),
        }
    }

    /// Which revision this source stands for, as far as is known here.
    fn revision(&self) -> Result<Option<Revision>, SourceError> {
        if let Some(pinned) = &self.pinned {
            return Ok(Some(pinned.clone()));
        }
        let record = self.cache.record(&self.reference)?;
        Ok(record.map(|record| record.revision))
    }

    /// The checkout of a revision, if it is here.
    fn checkout(&self, revision: &Revision) -> Result<Option<Checkout>, SourceError> {
        if !self.cache.has(revision)? {
            return Ok(None);
        }
        let root = self.cache.checkout(revision);
        let folder = self.folder_in(&root)?;
        let checkout = Checkout::new(folder, Some(revision.to_string()));
        Ok(Some(checkout.within(root)))
    }

    /// The folder for skills in a checkout. It may be reached by a symbolic link, but not be outside.
    fn folder_in(&self, root: &Path) -> Result<PathBuf, SourceError> {
        let wanted = match &self.skills_folder {
            Some(folder) => folder.as_path(),
            // A file of that name, or a link to one, says nothing of where skills are.
            None if fs::metadata(root.join(SKILLS)).is_ok_and(|found| found.is_dir()) => {
                Path::new(SKILLS)
            }
            None => return Ok(root.to_owned()),
        };
        let folder = root.join(wanted);
        let is_inside = match (fs::canonicalize(root), fs::canonicalize(&folder)) {
            (Ok(root), Ok(folder)) => folder.starts_with(root) && folder.is_dir(),
            _ => false,
        };
        if is_inside {
            Ok(folder)
        } else {
            Err(SourceError::NoSkillsFolder {
                origin: self.url.to_string(),
                folder: wanted.to_owned(),
            })
        }
    }

    /// The pinned revision if it is here already. Its record keeps others from tidying it away; if it
    /// cannot be written, nobody can tidy up there either.
    fn pinned_is_here(&self, share: Option<&Share>) -> Result<Option<Checkout>, SourceError> {
        let Some(pinned) = &self.pinned else {
            return Ok(None);
        };
        let checkout = self.checkout(pinned)?;
        let record = self.cache.record(&self.record_name());
        if checkout.is_some() && share.is_some() && matches!(record, Ok(None)) {
            let _ = self.record(pinned, None);
        }
        Ok(checkout)
    }

    fn record(&self, revision: &Revision, previous: Option<Revision>) -> Result<(), SourceError> {
        let record = Record {
            reference: self.record_name(),
            revision: revision.clone(),
            previous,
        };
        self.cache.set_record(&self.cache.temporary()?, &record)
    }

    /// Fetches a commit and has its files in their place, while nobody tidies up.
    fn fetch(&self, deadline: Deadline) -> Result<(Revision, Checkout), SourceError> {
        let temporary = self.cache.temporary()?;
        let work = GitFetch {
            source: self,
            git: Git {
                program: &self.program,
                deadline,
            },
            repository: temporary.path().join("repository"),
            temporary: &temporary,
        };
        work.open()?;
        let revision = work.fetch()?;
        if !self.cache.has(&revision)? {
            work.check_size(&revision)?;
            let files = work.files(&revision)?;
            // A commit without the skills is not what this source stands for from now on.
            self.folder_in(&files)?;
            self.cache.keep_checkout(&files, &revision)?;
        }
        let checkout = self.checkout(&revision)?.ok_or_else(|| {
            let path = self.cache.checkout(&revision);
            SourceError::io("find", path)(std::io::ErrorKind::NotFound.into())
        })?;
        work.close();
        Ok((revision, checkout))
    }
}

impl SkillSource for GitSource {
    fn origin(&self) -> String {
        let origin = match (&self.pinned, self.revision()) {
            (Some(pinned), _) => format!("git {} at {}", self.url, pinned.short()),
            (None, Ok(Some(revision))) => {
                format!(
                    "git {} at {} ({})",
                    self.url,
                    self.reference,
                    revision.short()
                )
            }
            (None, _) => format!("git {} at {}", self.url, self.reference),
        };
        shown(&origin)
    }

    fn cached(&self) -> Result<Option<Checkout>, SourceError> {
        match self.revision()? {
            Some(revision) => self.checkout(&revision),
            None => Ok(None),
        }
    }

    /// Fetches the newest commit of the reference. For a pinned revision that is here already: does
    /// nothing, runs no git. Whatever goes wrong, the checkout from before stays what it was.
    fn update(&self) -> Result<Update, SourceError> {
        let deadline = Deadline::after(self.timeout);
        let share = self.cache.share(deadline);
        if let Some(checkout) = self.pinned_is_here(share.as_ref().ok())? {
            return Ok(Update::new(checkout, false));
        }
        let share = share?;
        let old = self.cache.record(&self.record_name())?;
        let was_here = match &old {
            Some(old) => self.cache.has(&old.revision)?,
            None => false,
        };
        let (revision, checkout) = self.fetch(deadline)?;
        let changed = !was_here || old.as_ref().is_none_or(|old| old.revision != revision);
        let previous = old.and_then(|old| {
            let is_another = old.revision != revision;
            if is_another {
                Some(old.revision)
            } else {
                old.previous
            }
        });
        self.record(&revision, previous)?;
        self.cache.tidy_up(share);
        Ok(Update::new(checkout, changed))
    }
}

/// Whether git would take it for the name of a reference (git-check-ref-format), and as nothing else.
fn is_reference(name: &str) -> bool {
    const MAX: usize = 255;
    let is_plain = |c: char| {
        !c.is_control()
            && !c.is_whitespace()
            && !matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\')
    };
    let part_is_sound = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    name.len() <= MAX
        && name != "@"
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && name.chars().all(is_plain)
        && name.split('/').all(part_is_sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_references() {
        for name in [
            "main",
            "v1.2",
            "v1.2+build.3",
            "refs/heads/a",
            "feature/x#1",
            "é",
            "a@b",
            "HEAD",
        ] {
            assert!(is_reference(name), "{name}");
        }
        for name in [
            "",
            "-",
            "--upload-pack=x",
            "a b",
            "a:b",
            "a..b",
            "@{-1}",
            "@",
            "a@{1}",
            "^a",
            "a~1",
            "a^",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.",
            "*",
            "a\nb",
            "a\0",
        ] {
            assert!(!is_reference(name), "{name}");
        }
        assert!(!is_reference(&"x".repeat(256)));
    }
}
