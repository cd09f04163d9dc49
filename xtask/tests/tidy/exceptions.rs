//! Lists of files that a rule excuses, each with its reason.

use crate::source::Source;

/// `(path, reason)`, the path as git shows it.
pub(crate) type Exceptions<'a> = &'a [(&'a str, &'a str)];

/// Applies a rule to each source, drops the problems of excused files, and adds the entries that
/// excuse nothing.
pub(crate) fn check<'a>(
    sources: impl IntoIterator<Item = &'a Source>,
    exceptions: Exceptions<'_>,
    rule: impl Fn(&Source) -> Vec<String>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for source in sources {
        let found = rule(source);
        match exceptions.iter().position(|(path, _)| *path == source.path) {
            Some(i) => used[i] |= !found.is_empty(),
            None => problems.extend(found),
        }
    }
    for ((path, reason), used) in exceptions.iter().zip(used) {
        if !used {
            problems.push(format!("{path}: no longer needs its exception ({reason})"));
        }
        if reason.is_empty() {
            problems.push(format!("{path}: an exception needs a reason"));
        }
    }
    problems
}

#[test]
fn excuses_what_is_listed_and_only_that() {
    let sources = [
        Source::new("a.rs", "bad"),
        Source::new("b.rs", "bad"),
        Source::new("c.rs", ""),
    ];
    let rule = |source: &Source| match source.code() {
        "" => vec![],
        _ => vec![format!("{}: bad", source.path)],
    };
    let list = [("a.rs", "must be"), ("c.rs", "was bad once"), ("d.rs", "")];
    crate::assert_found(
        &check(&sources, &list, rule),
        &[
            "b.rs: bad",
            "c.rs: no longer needs",
            "d.rs: no longer",
            "d.rs: an exception needs",
        ],
    );
}
