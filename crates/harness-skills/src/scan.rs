//! What was found in one root, and whether that is still so.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use harness_frontmatter::{Diagnostic, Severity};

use crate::examination::{Examination, FilePlace, SKILL_FILE, examine_as};
use crate::finding::Finding;
use crate::form::Form;
use crate::layer::Layer;
use crate::limits::Limits;
use crate::name::{Identity, shown};
use crate::root::{BuiltIn, Place, Root};
use crate::rule;
use crate::skill::{Digest, Location, Skill};
use crate::skill_file::{Refusal, SkillFile};
use crate::skills::DiscoverOptions;
use crate::stamp::{FileId, Stamp};
use crate::surroundings::Surroundings;
use crate::walk::{Candidate, Walk, walk};

/// What was found in one root.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The path that was looked at, absolute, if it is one.
    pub(crate) path: Option<PathBuf>,
    /// All that was fetched with it.
    checkout: Option<PathBuf>,
    /// Where it was fetched from.
    pub(crate) origin: Option<Arc<str>>,
    /// The skills, good and bad, by their paths.
    pub(crate) found: Vec<Arc<Found>>,
    /// What is to be told beside them.
    pub(crate) notes: Vec<Diagnostic>,
    watched: Vec<(PathBuf, Option<Stamp>)>,
    is_settled: bool,
    /// How many files were read for it.
    pub(crate) files_read: usize,
}

/// A skill, good or bad.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five facts of a file, of which none follows from the others"
)]
pub(crate) struct Found {
    pub(crate) skill: Arc<Skill>,
    pub(crate) loads: bool,
    /// What a lenient reader says.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What the walk had found; part of the diagnostics.
    walked: Vec<Finding>,
    /// `None` for texts.
    pub(crate) stamp: Option<Stamp>,
    is_settled: bool,
    /// Whether the file is broken by now, and this is what it was before.
    is_stale: bool,
    /// Whether the file is a link to another one.
    pub(crate) is_link: bool,
    /// Whether nobody looked into the file: it is not what it seems, or out of bounds.
    is_refused: bool,
}

/// How a look at what may have changed is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefreshOptions {
    /// Read every file again, and compare the content. Without it, a file of which neither size nor times
    /// nor number changed counts as unchanged. Default: no.
    pub verify_content: bool,
    /// Keep a skill for one more refresh when its file becomes invalid: it may be half written.
    /// Default: no.
    pub keep_last_good: bool,
}

impl RefreshOptions {
    /// Reads every file again.
    pub fn verify_content(mut self) -> Self {
        self.verify_content = true;
        self
    }

    /// Keeps a skill whose file becomes invalid for one more refresh.
    pub fn keep_last_good(mut self) -> Self {
        self.keep_last_good = true;
        self
    }
}

impl Scan {
    /// Looks through a root. `before` is what was found in it the last time.
    pub(crate) fn take(
        root: &Root,
        precedence: u32,
        discovery: &DiscoverOptions,
        before: Option<&Self>,
        options: RefreshOptions,
    ) -> Self {
        let reader = Reader {
            root,
            origin: root.origin_now(),
            precedence,
            discovery,
            limits: &discovery.limits,
            options,
            now: SystemTime::now(),
        };
        match &root.place {
            Place::Path(path) => reader.path(path, None, before),
            Place::Source(source) => match source.cached() {
                Ok(Some(checkout)) => reader.path(&checkout.folder, Some(&checkout.root), before),
                Ok(None) if source.fetches() => {
                    reader.unusable("it has not been fetched yet", Some("fetch it first"))
                }
                Ok(None) => reader.unusable("nothing is there", None),
                Err(error) => reader.unusable(&error.to_string(), None),
            },
            Place::Texts(texts) => reader.texts(texts),
        }
    }

    /// Whether all of it is as it was. Costs a `stat` for each skill, and for each folder that is not
    /// one.
    pub(crate) fn is_current(&self, root: &Root, options: RefreshOptions) -> bool {
        let is_there = match &root.place {
            Place::Texts(_) => return true,
            Place::Path(_) => true,
            Place::Source(source) => {
                // While there is none, there may be another reason for it.
                source.cached().ok().flatten().is_some_and(|checkout| {
                    Some(whole(&checkout.folder)) == self.path
                        && Some(whole(&checkout.root)) == self.checkout
                        && self.origin == root.origin_now()
                })
            }
        };
        is_there
            && self.is_settled
            && !options.verify_content
            && self.found.iter().all(|found| found.is_current())
            && self
                .watched
                .iter()
                .all(|(path, stamp)| stat(path) == *stamp)
    }

    /// Whether it says the same as another one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.path == other.path
            && self.origin == other.origin
            && self.notes == other.notes
            && self.found.len() == other.found.len()
            && self.found.iter().zip(&other.found).all(|(one, other)| {
                Arc::ptr_eq(&one.skill, &other.skill)
                    && one.loads == other.loads
                    && one.diagnostics == other.diagnostics
            })
    }
}

impl Found {
    /// What makes its file the same under any path. What was not looked into is nobody's file.
    pub(crate) fn file_id(&self) -> Option<FileId> {
        let stamp = self.stamp.filter(|_| !self.is_refused)?;
        Some(stamp.id)
    }

    fn is_current(&self) -> bool {
        let path = self.skill.file();
        self.is_settled && !self.is_stale && path.is_none_or(|path| stat(path) == self.stamp)
    }

    /// Whether there is nothing new in `other`, which was read of the same file.
    fn says_the_same(&self, other: &Self) -> bool {
        self.skill == other.skill
            && self.loads == other.loads
            && self.diagnostics == other.diagnostics
            && self.walked == other.walked
            && self.is_link == other.is_link
            && self.is_refused == other.is_refused
    }

    /// The same skill, in the state that its file is in now.
    fn in_state(&self, stamp: Option<Stamp>, now: SystemTime) -> Self {
        Self {
            skill: Arc::clone(&self.skill),
            loads: self.loads,
            diagnostics: self.diagnostics.clone(),
            walked: self.walked.clone(),
            stamp,
            is_settled: stamp.is_none_or(|stamp| stamp.is_settled(now)),
            is_stale: false,
            is_link: self.is_link,
            is_refused: self.is_refused,
        }
    }
}

/// A path as an absolute one: a relative one would be another after a change of the working folder.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn stat(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Stamp::of(&metadata))
}

struct Reader<'r> {
    root: &'r Root,
    origin: Option<Arc<str>>,
    precedence: u32,
    discovery: &'r DiscoverOptions,
    limits: &'r Limits,
    options: RefreshOptions,
    now: SystemTime,
}

impl Reader<'_> {
    fn texts(&self, texts: &[BuiltIn]) -> Scan {
        let form = self.discovery.form;
        let found = texts.iter().map(|built_in| {
            let place = FilePlace {
                folder: Some(OsStr::new(&*built_in.folder)),
                file: (form == Form::Skills).then_some(OsStr::new(SKILL_FILE)),
            };
            let examination = examine_as(form, built_in.text.as_bytes(), &place, self.limits);
            let location = Location::Text(Arc::clone(&built_in.text));
            let digest = Digest::of(built_in.text.as_bytes());
            let surroundings = Surroundings {
                form,
                ..Surroundings::default()
            };
            Arc::new(self.found(examination, location, digest, surroundings, Vec::new()))
        });
        Scan {
            found: found.collect(),
            is_settled: true,
            ..Scan::default()
        }
    }

    /// A source that has nothing to look through.
    fn unusable(&self, why: &str, hint: Option<&str>) -> Scan {
        let origin = self.origin.as_deref().unwrap_or_default();
        let mut finding = Finding::new(&rule::SOURCE, format!("{origin}: {why}"));
        finding.hint = hint.map(Into::into);
        let note = finding.lenient();
        Scan {
            origin: self.origin.clone(),
            notes: note.into_iter().collect(),
            is_settled: true,
            ..Scan::default()
        }
    }

    fn path(&self, path: &Path, checkout: Option<&Path>, before: Option<&Scan>) -> Scan {
        let (path, checkout) = (&whole(path), checkout.map(whole));
        let Walk {
            candidates,
            mut notes,
            boundary,
            watched,
            is_settled,
        } = walk(path, self.root, checkout.as_deref(), self.discovery);
        let known: HashMap<&Path, &Arc<Found>> = before
            .into_iter()
            .flat_map(|scan| &scan.found)
            .filter_map(|found| Some((found.skill.file()?, found)))
            .collect();
        let mut found = Vec::with_capacity(candidates.len());
        let (mut files_read, mut bytes) = (0, 0_u64);
        for (number, candidate) in candidates.into_iter().enumerate() {
            if bytes > self.limits.bytes {
                let message = format!(
                    "not all of it was read: the most is {} bytes; {number} files were",
                    self.limits.bytes
                );
                notes.add(&rule::SCAN_TRUNCATED, message, path);
                break;
            }
            let known = known.get(&*candidate.file).copied();
            let surroundings = self.surroundings(&candidate, boundary.as_ref());
            let known = known.filter(|known| known.skill.surroundings == surroundings);
            if let Some(known) = known.filter(|known| self.is_unchanged(&candidate, known)) {
                bytes += known.skill.digest.bytes;
                found.push(Arc::clone(known));
                continue;
            }
            files_read += 1;
            if let Some(read) = self.read(candidate, surroundings, known) {
                bytes += read.skill.digest.bytes;
                found.push(Arc::new(read));
            }
        }
        Scan {
            path: Some(path.clone()),
            checkout,
            origin: self.origin.clone(),
            found,
            notes: notes.finish(Some(path)),
            watched,
            is_settled,
            files_read,
        }
    }

    fn is_unchanged(&self, candidate: &Candidate, known: &Found) -> bool {
        !self.options.verify_content && known.walked == candidate.findings && known.is_current()
    }

    fn surroundings(&self, candidate: &Candidate, boundary: Option<&Arc<Path>>) -> Surroundings {
        let is_fetched = matches!(self.root.place, Place::Source(_));
        Surroundings {
            form: self.discovery.form,
            boundary: boundary.cloned(),
            is_checkout: candidate.is_at_root && is_fetched,
            is_shared: candidate.is_at_root && self.root.layer != Layer::Explicit,
        }
    }

    /// `None` if nothing is there any more.
    fn read(
        &self,
        candidate: Candidate,
        surroundings: Surroundings,
        known: Option<&Arc<Found>>,
    ) -> Option<Found> {
        let Candidate {
            file,
            directory,
            findings,
            mut is_refused,
            is_link,
            is_at_root: _,
        } = candidate;
        let form = self.discovery.form;
        let place = form.place(&file, surroundings.folder_name(&directory));
        let name = || {
            let folder = place.folder.unwrap_or_default();
            shown(&folder.to_string_lossy())
        };
        let (examination, digest, stamp) = if is_refused {
            // Why is among the findings.
            let examination = Examination::unread(name(), Vec::new());
            (examination, Digest::of(b""), None)
        } else {
            match SkillFile::read(&file, surroundings.boundary.as_deref(), self.limits) {
                Ok(SkillFile { bytes, stamp }) => {
                    let digest = Digest::of(&bytes);
                    if let Some(known) = known
                        && known.skill.digest == digest
                        && known.walked == findings
                        && known.loads
                    {
                        return Some(known.in_state(Some(stamp), self.now));
                    }
                    let examination = examine_as(form, &bytes, &place, self.limits);
                    (examination, digest, Some(stamp))
                }
                Err(Refusal::Gone) => return None,
                Err(Refusal::Bad(finding, stamp)) => {
                    is_refused = finding.code == rule::LINK_REFUSED.code;
                    let examination = Examination::unread(name(), vec![*finding]);
                    (examination, Digest::of(b""), stamp)
                }
            }
        };
        let stamp = stamp.or_else(|| stat(&file));
        let location = Location::File { file, directory };
        let found = Found {
            stamp,
            is_settled: stamp.is_none_or(|stamp| stamp.is_settled(self.now)),
            is_link,
            is_refused,
            ..self.found(examination, location, digest, surroundings, findings)
        };
        let Some(known) = known else {
            return Some(found);
        };
        let is_kept = self.options.keep_last_good && !found.loads && known.loads && !known.is_stale;
        Some(if is_kept {
            Found {
                is_stale: true,
                is_refused: found.is_refused,
                ..known.in_state(stamp, self.now)
            }
        } else if known.says_the_same(&found) {
            known.in_state(stamp, self.now)
        } else {
            found
        })
    }

    fn found(
        &self,
        examination: Examination,
        location: Location,
        digest: Digest,
        surroundings: Surroundings,
        walked: Vec<Finding>,
    ) -> Found {
        let path = match &location {
            Location::File { file, .. } => Some(file.clone()),
            Location::Text(_) => None,
        };
        let loads = examination.loads();
        let told = walked.iter().chain(&examination.findings);
        let checked = self.discovery.check.filter(|_| loads);
        let checked = checked.map(|check| check(&examination.fields));
        let diagnostics: Vec<Diagnostic> = told
            .filter_map(Finding::lenient)
            .chain(checked.into_iter().flatten())
            .map(|mut diagnostic| {
                diagnostic.path.clone_from(&path);
                diagnostic
            })
            .collect();
        let name = &examination.fields.name;
        let identity = match &self.root.namespace {
            Some(namespace) => Identity::within(namespace, name),
            None => Identity::of(name),
        };
        let fatal = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        let skill = Skill {
            fields: examination.fields,
            layer: self.root.layer.clone(),
            origin: self.origin.clone(),
            namespace: self.root.namespace.clone(),
            location,
            precedence: self.precedence,
            digest,
            identity,
            surroundings,
        };
        Found {
            skill: Arc::new(skill),
            loads: loads && !diagnostics.iter().any(fatal),
            diagnostics,
            walked,
            stamp: None,
            is_settled: true,
            is_stale: false,
            is_link: false,
            is_refused: false,
        }
    }
}
