//! Who wins: the one place where it is decided which skill has a name.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use harness_frontmatter::Diagnostic;

use crate::catalogue::{Entry, Status};
use crate::finding::Finding;
use crate::name::Identity;
use crate::notes::Notes;
use crate::policy::Policy;
use crate::root::Root;
use crate::rule;
use crate::scan::{Found, Scan};
use crate::stamp::FileId;

/// A skill that was found, and the root that it was found in.
#[derive(Clone, Copy)]
struct Claim<'c> {
    /// The number of the root.
    number: usize,
    root: &'c Root,
    found: &'c Found,
}

impl Claim<'_> {
    /// Whether it can have a name.
    fn can_win(&self) -> bool {
        self.found.loads && self.root.held.is_none()
    }
}

/// All skills of the roots, which are in the order of precedence, with who has which name; sorted by name
/// and then by precedence. Also what is to be told of files that were reached twice.
pub(crate) fn resolve(
    roots: &[Root],
    scans: &[Arc<Scan>],
    policy: Policy,
) -> (Vec<Entry>, Vec<Diagnostic>) {
    let mut notes: Vec<Notes> = roots.iter().map(|_| Notes::default()).collect();
    let claims = one_for_each_file(roots, scans, &mut notes);
    let mut names: BTreeMap<&Identity, Vec<Claim<'_>>> = BTreeMap::new();
    for claim in claims {
        names
            .entry(&claim.found.skill.identity)
            .or_default()
            .push(claim);
    }
    for claims in names.values_mut() {
        // A namespace keeps its names, whoever else spells them out; but for a lock, which is above all.
        claims.sort_by_key(|claim| (!claim.root.locked, claim.root.namespace.is_none()));
    }
    let by_path = paths(&names);
    let mut entries = Vec::new();
    for (name, claims) in &names {
        let addressed = addressed(name, &names, &by_path);
        decide(claims, addressed, policy, &mut entries);
    }
    let paths = scans.iter().map(|scan| scan.path.as_deref());
    let notes = notes.into_iter().zip(paths);
    let notes = notes.flat_map(|(notes, path)| notes.finish(path));
    (entries, notes.collect())
}

/// The skills that can be used, by the paths that lead to them. Empty if no name reads like a path, as is
/// usual.
fn paths<'c>(names: &BTreeMap<&Identity, Vec<Claim<'c>>>) -> HashMap<Identity, Claim<'c>> {
    let mut paths = HashMap::new();
    if !names.keys().any(|name| name.as_str().starts_with('/')) {
        return paths;
    }
    let claims = names.values().flatten().filter(|claim| claim.can_win());
    for claim in claims {
        let skill = &claim.found.skill;
        for path in [skill.file(), skill.directory()].into_iter().flatten() {
            let identity = Identity::of(&path.to_string_lossy());
            paths.entry(identity).or_insert(*claim);
        }
    }
    paths
}

/// Whose address a name reads like: `name@layer`, or a path. A skill that is called so would be found in the
/// other one's place.
fn addressed<'c>(
    name: &Identity,
    names: &BTreeMap<&Identity, Vec<Claim<'c>>>,
    by_path: &HashMap<Identity, Claim<'c>>,
) -> Option<Claim<'c>> {
    let text = name.as_str();
    if text.starts_with('/') {
        let owner = by_path.get(name)?;
        return (owner.found.skill.identity != *name).then_some(*owner);
    }
    let (plain, layer) = text.rsplit_once('@')?;
    let claims = names.get(&Identity::of(plain))?;
    let is_of_layer = |claim: &&Claim<'_>| Identity::of(claim.root.layer.name()).as_str() == layer;
    let mut usable = claims.iter().filter(|claim| claim.can_win());
    usable.find(is_of_layer).copied()
}

/// The claims in order of precedence, without those whose file is another claim's already. What does not
/// load takes no file from what does, what is held back none from what is not, and within a root a link none
/// from the file itself.
fn one_for_each_file<'c>(
    roots: &'c [Root],
    scans: &'c [Arc<Scan>],
    notes: &mut [Notes],
) -> Vec<Claim<'c>> {
    let numbered = roots.iter().zip(scans).enumerate();
    let claims = numbered.flat_map(|(number, (root, scan))| {
        let claim = move |found: &'c Arc<Found>| Claim {
            number,
            root,
            found,
        };
        scan.found.iter().map(claim)
    });
    let claims: Vec<Claim<'_>> = claims.collect();
    let mut owners: HashMap<FileId, usize> = HashMap::with_capacity(claims.len());
    for (number, claim) in claims.iter().enumerate() {
        let Some(id) = claim.found.file_id() else {
            continue;
        };
        let owner = owners.entry(id).or_insert(number);
        let owning = &claims[*owner];
        let distance = |claim: &Claim<'_>| (!claim.found.loads, claim.root.held.is_some());
        let is_itself =
            owning.number == claim.number && owning.found.is_link && !claim.found.is_link;
        let is_better = match distance(claim).cmp(&distance(owning)) {
            Ordering::Less => true,
            Ordering::Equal => is_itself,
            Ordering::Greater => false,
        };
        if is_better {
            *owner = number;
        }
    }
    let mut kept = Vec::with_capacity(claims.len());
    for (number, claim) in claims.iter().enumerate() {
        let id = claim.found.file_id();
        let owner = id.and_then(|id| owners.get(&id)).copied().unwrap_or(number);
        if owner == number {
            kept.push(*claim);
        } else {
            let location = claims[owner].found.skill.location_text();
            let message = format!("it is the same file as {location}, and counts once");
            let path = claim.found.skill.file().unwrap_or("".as_ref());
            if let Some(notes) = notes.get_mut(claim.number) {
                notes.add(&rule::SAME_FILE, message, path);
            }
        }
    }
    kept
}

/// Who of those that claim one name has it. If it is the address of another skill, nobody: but for a lock.
fn decide(
    claims: &[Claim<'_>],
    addressed: Option<Claim<'_>>,
    policy: Policy,
    entries: &mut Vec<Entry>,
) {
    let winner = claims.iter().find(|claim| claim.can_win());
    let addressed = addressed.filter(|_| winner.is_none_or(|winner| !winner.root.locked));
    let mut broken: Vec<&Claim<'_>> = Vec::new();
    for claim in claims {
        let found = claim.found;
        let mut diagnostics = found.diagnostics.clone();
        let mut tell = |rule: &rule::Rule, message: String| {
            let note = Finding::new(rule, message).lenient();
            diagnostics.extend(note.map(|mut note| {
                note.path = found.skill.file().map(Into::into);
                note
            }));
        };
        let status = if !found.loads {
            if claim.root.held.is_none() {
                broken.push(claim);
            }
            Status::Invalid
        } else if let Some(reason) = &claim.root.held {
            tell(&rule::HELD, format!("it is held back: {reason}"));
            Status::Held {
                reason: Arc::clone(reason),
            }
        } else if let Some(owner) = addressed {
            let message = format!(
                "`{}` leads to {} ({}), and not to this one",
                found.skill.name(),
                owner.found.skill.location_text(),
                owner.root.layer,
            );
            tell(&rule::NAMESPACE, message);
            Status::Shadowed {
                by: Arc::clone(&owner.found.skill),
                same_content: owner.found.skill.digest == found.skill.digest,
            }
        } else {
            let winner = winner.unwrap_or(claim);
            let wins = std::ptr::eq(winner.found, found);
            let all_win = policy == Policy::KeepAll && !winner.root.locked && {
                // What a namespace keeps, it keeps from all others.
                winner.root.namespace.is_some() == claim.root.namespace.is_some()
            };
            if wins || all_win {
                if wins && let Some(first) = broken.first() {
                    let message = format!(
                        "{} would have the name `{}`, but cannot be loaded: this one is used",
                        first.found.skill.location_text(),
                        found.skill.name()
                    );
                    tell(&rule::BROKEN_WINNER, message);
                }
                Status::Active
            } else {
                let same_content = winner.found.skill.digest == found.skill.digest;
                let rule = if winner.root.namespace.is_some() && claim.root.namespace.is_none() {
                    &rule::NAMESPACE
                } else if same_content {
                    &rule::SHADOWED_TWIN
                } else {
                    &rule::SHADOWED
                };
                let message = format!(
                    "{} ({}) has the name `{}`{}",
                    winner.found.skill.location_text(),
                    winner.root.layer,
                    winner.found.skill.name(),
                    if same_content {
                        ", with the same content"
                    } else {
                        ""
                    }
                );
                tell(rule, message);
                Status::Shadowed {
                    by: Arc::clone(&winner.found.skill),
                    same_content,
                }
            }
        };
        entries.push(Entry {
            skill: Arc::clone(&found.skill),
            status,
            diagnostics,
        });
    }
}
