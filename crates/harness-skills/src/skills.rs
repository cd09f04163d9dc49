//! The skills of an agent, kept up to date.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::catalogue::{Catalogue, RootReport};
use crate::form::{FieldCheck, Form};
use crate::limits::Limits;
use crate::name::Identity;
use crate::policy::Policy;
use crate::resolution::resolve;
use crate::root::Root;
use crate::scan::{RefreshOptions, Scan};
use crate::skill::Skill;

/// The skills of an agent: where to look for them, and what was found there.
///
/// Cheap to clone; all clones share one [`Catalogue`]. [`refresh`](Self::refresh) makes a new one when
/// something changed. Who reads has a whole catalogue, the old or the new one, and never waits for a
/// refresh.
///
/// Looking blocks the thread, for the time that the file system takes.
#[derive(Clone, Debug)]
pub struct Skills(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// In the order in which their skills win.
    roots: Vec<Root>,
    options: DiscoverOptions,
    /// Locked only for as long as it takes to copy a pointer.
    current: RwLock<Arc<Catalogue>>,
    /// What the catalogue was made from. One refresh at a time.
    scans: Mutex<Vec<Arc<Scan>>>,
}

/// How skills are looked for.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DiscoverOptions {
    /// Who wins. Default: the first.
    pub policy: Policy,
    /// The bounds.
    pub limits: Limits,
    /// What the files are. Default: skills.
    pub form: Form,
    /// What else there is to say of a file's fields. It is asked once for each content of a file that loads.
    /// Default: nothing.
    pub check: Option<FieldCheck>,
}

impl DiscoverOptions {
    /// With another policy.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// With other bounds.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// With files of another form.
    pub fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// With a check of the fields.
    pub fn check(mut self, check: FieldCheck) -> Self {
        self.check = Some(check);
        self
    }
}

/// What a refresh found. Names are those of active skills, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// There was no active skill of that name.
    pub added: Vec<String>,
    /// There is none any more.
    pub removed: Vec<String>,
    /// There is another one, or the same with another content.
    pub changed: Vec<String>,
    /// How many are as they were.
    pub unchanged: usize,
    /// How many files were read to find that out.
    pub files_read: usize,
}

impl Changes {
    /// Whether no active skill changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl Skills {
    /// Looks for skills in `roots`, the highest first, with the default options.
    pub fn discover(roots: &[Root]) -> Self {
        Self::discover_with(roots, DiscoverOptions::default())
    }

    /// Looks for skills in `roots`, the highest first.
    ///
    /// It always succeeds: what cannot be read is among the [notes](Catalogue::notes), or an invalid
    /// entry. The result depends on the tree alone, never on the order in which a file system lists it.
    pub fn discover_with(roots: &[Root], options: DiscoverOptions) -> Self {
        let mut roots = roots.to_vec();
        options.policy.order(&mut roots);
        let skills = Self(Arc::new(Shared {
            roots,
            options,
            current: RwLock::default(),
            scans: Mutex::default(),
        }));
        skills.refresh();
        skills
    }

    /// The catalogue as it is now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        let current = self.0.current.read();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// The roots, in the order in which their skills win.
    pub fn roots(&self) -> &[Root] {
        &self.0.roots
    }

    /// Who wins.
    pub fn policy(&self) -> Policy {
        self.0.options.policy
    }

    /// The bounds.
    pub fn limits(&self) -> &Limits {
        &self.0.options.limits
    }

    /// What the files are.
    pub fn form(&self) -> Form {
        self.0.options.form
    }

    /// Looks whether something changed. If not, that costs a `stat` for each skill and each folder around
    /// them, and the catalogue stays the very same value.
    ///
    /// A change that leaves size, times and number of a file as they were is not seen; a file that was
    /// written right before it was read is therefore read again. See
    /// [`RefreshOptions::verify_content`] for those who need more.
    pub fn refresh(&self) -> Changes {
        self.refresh_with(RefreshOptions::default())
    }

    /// As [`refresh`](Self::refresh), with options.
    pub fn refresh_with(&self, options: RefreshOptions) -> Changes {
        let shared = &*self.0;
        let mut scans = shared.scans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files_read = 0;
        let mut is_same = scans.len() == shared.roots.len();
        let mut taken = Vec::with_capacity(shared.roots.len());
        for (number, root) in shared.roots.iter().enumerate() {
            let before = scans.get(number);
            if let Some(before) = before.filter(|scan| scan.is_current(root, options)) {
                taken.push(Arc::clone(before));
                continue;
            }
            let precedence = u32::try_from(number).unwrap_or(u32::MAX);
            let before = before.map(|scan| &**scan);
            let scan = Scan::take(root, precedence, &shared.options, before, options);
            files_read += scan.files_read;
            is_same &= before.is_some_and(|before| scan.is_same(before));
            taken.push(Arc::new(scan));
        }
        let old = self.catalogue();
        let mut changes = if is_same {
            Changes {
                unchanged: old.active().count(),
                ..Changes::default()
            }
        } else {
            let new = Arc::new(self.catalogue_of(&taken));
            let changes = compare(&old, &new, shared.options.policy);
            let mut current = shared
                .current
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            *current = new;
            changes
        };
        *scans = taken;
        changes.files_read = files_read;
        changes
    }

    fn catalogue_of(&self, scans: &[Arc<Scan>]) -> Catalogue {
        let shared = &*self.0;
        let (entries, same_files) = resolve(&shared.roots, scans, shared.options.policy);
        let notes = scans.iter().flat_map(|scan| scan.notes.iter().cloned());
        let notes = notes.chain(same_files).collect();
        let reports = shared
            .roots
            .iter()
            .zip(scans)
            .map(|(root, scan)| RootReport {
                layer: root.layer.clone(),
                path: scan.path.clone(),
                origin: scan.origin.clone(),
                namespace: root.namespace.clone(),
                locked: root.locked,
                held: root.held.clone(),
                found: scan.found.len(),
            });
        Catalogue::new(entries, notes, reports.collect())
    }
}

/// What changed among the active skills.
fn compare(old: &Catalogue, new: &Catalogue, policy: Policy) -> Changes {
    // Where several may have a name, each is its own.
    let key = |skill: &Arc<Skill>| -> (Identity, String) {
        let location = match policy {
            Policy::KeepAll => skill.location_text(),
            _ => String::new(),
        };
        (skill.identity().clone(), location)
    };
    let mut before: HashMap<_, _> = old.active().map(|skill| (key(skill), skill)).collect();
    let mut changes = Changes::default();
    for skill in new.active() {
        match before.remove(&key(skill)) {
            None => changes.added.push(skill.name()),
            Some(known) if Arc::ptr_eq(known, skill) || known == skill => changes.unchanged += 1,
            Some(_) => changes.changed.push(skill.name()),
        }
    }
    changes.removed = before.into_values().map(|skill| skill.name()).collect();
    changes.removed.sort();
    changes
}
