//! Which projects are trusted: `trust.toml` in the user's own data folder.
//!
//! ```toml
//! version = 1
//!
//! [projects."/home/someone/code/shop"]
//! trust = "full"
//! allow = ["run(cargo test *)"]
//!
//! [projects."/home/someone/code/shop".tools]
//! bash = "ask"
//! ```
//!
//! A project is a folder, by its canonical path: with every link followed. What is said of a folder holds for
//! all that is in it, and what is said of a nearer folder comes first. The file is the user's alone: a project
//! cannot say anything of itself.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::paths::{FileSystem, Paths as _};
use crate::rule::Verdict;

/// The most bytes of the file.
const MAX_BYTES: u64 = 1024 * 1024;

/// The version that is written.
const VERSION: u32 = 1;

/// Whether the files of a project may change how the agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// They may: its configuration, prompts, skills, hooks.
    Full,
    /// They may not.
    None,
}

impl Trust {
    /// The word for it in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::None => "none",
        }
    }
}

/// What is said of one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TrustEntry {
    /// Whether its files may change how the agent works; `None`: nothing is said of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Rules that were granted for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules that refuse.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Rules that ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// What is decided of a tool, whatever it would do.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Verdict>,
}

/// What is said of a folder and of those above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectTrust {
    /// Whether its files may change how the agent works, and which folder says so; `None`: none does.
    pub trust: Option<(Trust, PathBuf)>,
    /// What is decided of tools, each by the nearest folder that says it.
    pub tools: BTreeMap<String, (Verdict, PathBuf)>,
    /// The rules of all these folders.
    pub rules: Vec<(Verdict, String)>,
}

impl ProjectTrust {
    /// Whether the project is trusted. One of which nothing is said is not.
    pub fn is_full(&self) -> bool {
        matches!(self.trust, Some((Trust::Full, _)))
    }
}

/// The file's content.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    #[serde(default)]
    projects: BTreeMap<String, TrustEntry>,
}

/// The store of trust. It reads the file each time that it is asked, and writes it in one step: mode 0600,
/// under a lock, so that two programs lose nothing of each other's.
///
/// A file that others may write, or that belongs to somebody else, is an error: what it says cannot be the
/// user's word.
#[derive(Clone, Debug)]
pub struct TrustStore {
    path: PathBuf,
}

impl TrustStore {
    /// The store in this file, which need not be there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is said of a folder. A folder that is not there, or whose path cannot be resolved, is an error.
    pub fn find(&self, folder: &Path) -> Result<ProjectTrust, Error> {
        let folder = canonical(folder)?;
        let content = self.read()?;
        let mut found = ProjectTrust::default();
        for ancestor in folder.ancestors() {
            let Some(entry) = ancestor.to_str().and_then(|it| content.projects.get(it)) else {
                continue;
            };
            if let (None, Some(trust)) = (&found.trust, entry.trust) {
                found.trust = Some((trust, ancestor.to_owned()));
            }
            for (tool, verdict) in &entry.tools {
                let nearer = found.tools.entry(tool.clone());
                nearer.or_insert_with(|| (*verdict, ancestor.to_owned()));
            }
            let rules = [
                (Verdict::Allow, &entry.allow),
                (Verdict::Deny, &entry.deny),
                (Verdict::Ask, &entry.ask),
            ];
            for (verdict, rules) in rules {
                let rules = rules.iter().map(|rule| (verdict, rule.clone()));
                found.rules.extend(rules);
            }
        }
        Ok(found)
    }

    /// All folders of which something is said, by their canonical paths.
    pub fn list(&self) -> Result<Vec<(PathBuf, TrustEntry)>, Error> {
        let content = self.read()?;
        let all = content.projects.into_iter();
        Ok(all.map(|(folder, entry)| (folder.into(), entry)).collect())
    }

    /// Says whether a folder is trusted. Gives its canonical path.
    pub fn set(&self, folder: &Path, trust: Trust) -> Result<PathBuf, Error> {
        self.change(folder, |entry| entry.trust = Some(trust))
    }

    /// Says what is decided of a tool in a folder, whatever it would do there; `None` takes it back.
    pub fn set_tool(
        &self,
        folder: &Path,
        tool: &str,
        verdict: Option<Verdict>,
    ) -> Result<PathBuf, Error> {
        self.change(folder, |entry| match verdict {
            Some(verdict) => {
                entry.tools.insert(tool.to_owned(), verdict);
            }
            None => {
                entry.tools.remove(tool);
            }
        })
    }

    /// Adds a rule for a folder.
    pub fn add_rule(&self, folder: &Path, verdict: Verdict, rule: &str) -> Result<PathBuf, Error> {
        self.change(folder, |entry| {
            let rules = match verdict {
                Verdict::Allow => &mut entry.allow,
                Verdict::Deny => &mut entry.deny,
                Verdict::Ask => &mut entry.ask,
            };
            if !rules.iter().any(|known| known == rule) {
                rules.push(rule.to_owned());
            }
        })
    }

    /// Takes back these rules, whatever they say, and these tools, by what is written; of a folder, which need not be
    /// there any more. Gives what was said of it, and changes nothing unless all of them are there.
    pub fn forget_only(
        &self,
        folder: &Path,
        rules: &[String],
        tools: &[String],
    ) -> Result<(bool, TrustEntry), Error> {
        let key = key(&resolved(folder))?;
        let (mut was_there, mut said) = (false, TrustEntry::default());
        self.write(|content| {
            let Some(entry) = content.projects.get_mut(&key) else {
                return;
            };
            said = entry.clone();
            let all = [&entry.allow, &entry.deny, &entry.ask];
            let has_rule = |rule: &String| all.iter().any(|rules| rules.contains(rule));
            was_there = rules.iter().all(has_rule)
                && tools.iter().all(|tool| entry.tools.contains_key(tool));
            if !was_there {
                return;
            }
            for kept in [&mut entry.allow, &mut entry.deny, &mut entry.ask] {
                kept.retain(|rule| !rules.contains(rule));
            }
            entry.tools.retain(|tool, _| !tools.contains(tool));
            if *entry == TrustEntry::default() {
                content.projects.remove(&key);
            }
        })?;
        Ok((was_there, said))
    }

    /// Forgets all that is said of a folder, which need not be there any more. `false` if nothing was.
    pub fn forget(&self, folder: &Path) -> Result<bool, Error> {
        let key = key(&resolved(folder))?;
        let mut was_there = false;
        self.write(|content| was_there = content.projects.remove(&key).is_some())?;
        Ok(was_there)
    }

    fn change(
        &self,
        folder: &Path,
        change: impl FnOnce(&mut TrustEntry),
    ) -> Result<PathBuf, Error> {
        let folder = canonical(folder)?;
        let key = key(&folder)?;
        self.write(|content| {
            change(content.projects.entry(key.clone()).or_default());
            if content.projects.get(&key) == Some(&TrustEntry::default()) {
                content.projects.remove(&key);
            }
        })?;
        Ok(folder)
    }

    fn read(&self) -> Result<Content, Error> {
        let problem = |what: String| Error::Store {
            path: self.path.clone(),
            problem: what,
        };
        let opened = OpenOptions::new()
            .read(true)
            // Not for ever, if somebody has put a pipe there.
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(Content::default()),
            Err(error) => return Err(problem(error.to_string())),
        };
        let metadata = file
            .metadata()
            .map_err(|error| problem(error.to_string()))?;
        if !metadata.is_file() {
            return Err(problem("it is not a file".to_owned()));
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(problem("it belongs to somebody else".to_owned()));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(problem(
                "others may write it; `chmod 600` it, and look at what it says".to_owned(),
            ));
        }
        let mut text = String::new();
        let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| problem(error.to_string()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(self.too_large());
        }
        let content: Content = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(0, |span| {
                text.get(..span.start)
                    .unwrap_or_default()
                    .matches('\n')
                    .count()
                    + 1
            });
            problem(format!("line {line}: {}", error.message().trim()))
        })?;
        if content.version != VERSION {
            return Err(problem(format!(
                "its version is {}, and this program knows {VERSION}",
                content.version
            )));
        }
        Ok(content)
    }

    fn too_large(&self) -> Error {
        Error::Store {
            path: self.path.clone(),
            problem: format!("it is larger than {MAX_BYTES} bytes"),
        }
    }

    /// Changes the file, in one step, while nobody else does.
    fn write(&self, change: impl FnOnce(&mut Content)) -> Result<(), Error> {
        let problem = |error: std::io::Error| Error::Store {
            path: self.path.clone(),
            problem: error.to_string(),
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        make_folder(folder).map_err(problem)?;
        // Beside the file, which is replaced by another one.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.path.with_extension("lock"))
            .map_err(problem)?;
        lock.lock().map_err(problem)?;
        let mut content = self.read()?;
        content.version = VERSION;
        change(&mut content);
        let text = toml::to_string_pretty(&content).map_err(|error| Error::Store {
            path: self.path.clone(),
            problem: error.to_string(),
        })?;
        // It could not be read again.
        if text.len() as u64 > MAX_BYTES {
            return Err(self.too_large());
        }
        let mut new = tempfile::Builder::new()
            .prefix(".trust")
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(folder)
            .map_err(problem)?;
        new.write_all(text.as_bytes()).map_err(problem)?;
        new.as_file().sync_all().map_err(problem)?;
        new.persist(&self.path)
            .map_err(|error| problem(error.error))?;
        Ok(())
    }
}

/// Whether nothing is there, nor could be.
fn is_missing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Makes a folder that nobody else can look into.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

fn canonical(folder: &Path) -> Result<PathBuf, Error> {
    folder.canonicalize().map_err(|error| Error::Folder {
        path: folder.to_owned(),
        problem: error.to_string(),
    })
}

/// The canonical path of a folder, also of one that is gone.
fn resolved(folder: &Path) -> PathBuf {
    canonical(folder).unwrap_or_else(|_| {
        let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        FileSystem.real(&absolute).unwrap_or(absolute)
    })
}

/// A folder as it stands in the file.
fn key(folder: &Path) -> Result<String, Error> {
    match folder.to_str() {
        Some(folder) => Ok(folder.to_owned()),
        None => Err(Error::Folder {
            path: folder.to_owned(),
            problem: "its path is not UTF-8, which the store cannot hold".to_owned(),
        }),
    }
}
