//! Who wins: the one place where it is decided which skill has a name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use harness_frontmatter::Diagnostic;

use crate::catalogue::{Entry, Status};
use crate::finding::Finding;
use crate::name::Identity;
use crate::policy::Policy;
use crate::root::Root;
use crate::rule;
use crate::scan::{Found, Scan};
use crate::stamp::FileId;

/// A skill that was found, and the root that it was found in.
#[derive(Clone, Copy)]
struct Claim<'c> {
    root: &'c Root,
    found: &'c Found,
}

/// All skills of the roots, which are in the order of precedence, with who has which name; sorted by name
/// and then by precedence. Also what is to be told of files that were reached twice.
pub(crate) fn resolve(
    roots: &[Root],
    scans: &[Arc<Scan>],
    policy: Policy,
) -> (Vec<Entry>, Vec<Diagnostic>) {
    let mut notes = Vec::new();
    let claims = one_for_each_file(roots, scans, &mut notes);
    let mut names: BTreeMap<&Identity, Vec<Claim<'_>>> = BTreeMap::new();
    for claim in claims {
        names
            .entry(&claim.found.skill.identity)
            .or_default()
            .push(claim);
    }
    let mut entries = Vec::new();
    for mut claims in names.into_values() {
        // A namespace keeps its names, whoever else spells them out; but for a lock, which is above all.
        claims.sort_by_key(|claim| (!claim.root.locked, claim.root.namespace.is_none()));
        decide(&claims, policy, &mut entries);
    }
    (entries, notes)
}

/// The claims in order of precedence, without those whose file is another claim's already. What is held
/// back takes no file from what is not, and within a root a link takes none from the file itself.
fn one_for_each_file<'c>(
    roots: &'c [Root],
    scans: &'c [Arc<Scan>],
    notes: &mut Vec<Diagnostic>,
) -> Vec<Claim<'c>> {
    let claims = roots.iter().zip(scans).flat_map(|(root, scan)| {
        let claim = move |found: &'c Arc<Found>| Claim { root, found };
        scan.found.iter().map(claim)
    });
    let claims: Vec<Claim<'_>> = claims.collect();
    let mut owners: HashMap<FileId, usize> = HashMap::with_capacity(claims.len());
    for (number, claim) in claims.iter().enumerate() {
        let Some(id) = claim.found.stamp.map(|stamp| stamp.id) else {
            continue;
        };
        let owner = owners.entry(id).or_insert(number);
        let owning = &claims[*owner];
        let is_usable = owning.root.held.is_some() && claim.root.held.is_none();
        let is_itself =
            std::ptr::eq(owning.root, claim.root) && owning.found.is_link && !claim.found.is_link;
        if is_usable || is_itself {
            *owner = number;
        }
    }
    let mut kept = Vec::with_capacity(claims.len());
    for (number, claim) in claims.iter().enumerate() {
        let id = claim.found.stamp.map(|stamp| stamp.id);
        let owner = id.and_then(|id| owners.get(&id)).copied().unwrap_or(number);
        if owner == number {
            kept.push(*claim);
        } else {
            let location = claims[owner].found.skill.location_text();
            let message = format!("it is the same file as {location}, and counts once");
            let note = Finding::new(&rule::SAME_FILE, message).lenient();
            let path = claim.found.skill.file().unwrap_or("".as_ref());
            notes.extend(note.map(|note| note.in_file(path)));
        }
    }
    kept
}

/// Who of those that claim one name has it.
fn decide(claims: &[Claim<'_>], policy: Policy, entries: &mut Vec<Entry>) {
    let can_win = |claim: &&Claim<'_>| claim.found.loads && claim.root.held.is_none();
    let winner = claims.iter().find(can_win);
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
