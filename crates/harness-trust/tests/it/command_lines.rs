//! The table of command lines: what becomes of each, and why.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use harness_trust::{Atom, Atoms, Decisions, Layer, Lexical, Rule, Rules, Surroundings, Verdict};

/// One row of the table.
pub(crate) struct Row {
    pub(crate) number: usize,
    pub(crate) rules: Rules,
    pub(crate) verdicts: [Verdict; 3],
    pub(crate) reasons: BTreeSet<String>,
    pub(crate) line: String,
}

const SETTINGS: [(&str, bool, bool); 3] = [
    ("untrusted", false, false),
    ("trusted", true, false),
    ("trusted and in a sandbox", true, true),
];

pub(crate) fn rows() -> Vec<Row> {
    let mut rules = Rules::new();
    let mut rows = Vec::new();
    for (number, text) in include_str!("command_lines.txt").lines().enumerate() {
        if let Some(written) = text.strip_prefix("rules:") {
            rules = rules_of(written);
            continue;
        }
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let mut parts = text.splitn(3, '|');
        let mut part = || {
            parts
                .next()
                .unwrap_or_else(|| panic!("row {}: {text}", number + 1))
        };
        let verdicts: Vec<_> = part().trim().split('/').map(verdict).collect();
        let verdicts = match verdicts.as_slice() {
            [one] => [*one; 3],
            [one, two, three] => [*one, *two, *three],
            _ => panic!("row {}: {text}", number + 1),
        };
        let reasons = part().split(',').map(|it| it.trim().to_owned());
        rows.push(Row {
            number: number + 1,
            rules: rules.clone(),
            verdicts,
            reasons: reasons.filter(|it| !it.is_empty()).collect(),
            line: decoded(part().strip_prefix(' ').unwrap_or_default()),
        });
    }
    rows
}

fn rules_of(written: &str) -> Rules {
    let mut rules = Rules::new();
    for rule in written
        .split(';')
        .map(str::trim)
        .filter(|it| !it.is_empty())
    {
        let (name, subject) = rule.split_once(' ').expect("a verdict and a subject");
        rules.add(
            Layer::User,
            Rule::parse(verdict(name), subject).expect(rule),
        );
    }
    rules
}

fn verdict(name: &str) -> Verdict {
    [Verdict::Allow, Verdict::Ask, Verdict::Deny]
        .into_iter()
        .find(|it| it.as_str() == name)
        .unwrap_or_else(|| panic!("{name} is no verdict"))
}

fn decoded(text: &str) -> String {
    let mut decoded = text.replace('⏎', "\n").replace('⇥', "\t");
    while let Some(at) = decoded.find("\\u{") {
        let end = at + decoded[at..].find('}').expect("a closed escape");
        let code = u32::from_str_radix(&decoded[at + 3..end], 16).expect("a number");
        let c = char::from_u32(code).expect("a character").to_string();
        decoded.replace_range(at..=end, &c);
    }
    decoded
}

pub(crate) fn surroundings(is_trusted: bool, is_sandboxed: bool) -> Surroundings {
    Surroundings::new("/srv/shop")
        .with_home("/home/user")
        .with_temp("/tmp/harness")
        .with_paths(Lexical)
        .trusted(is_trusted)
        .sandboxed(is_sandboxed)
}

fn decide(row: &Row, surroundings: &Surroundings) -> Decisions {
    let atoms = Atoms::of_command(&row.line, surroundings.root(), surroundings);
    row.rules.decide_all(&atoms, surroundings)
}

/// What kept it from being allowed.
fn reasons(decisions: &Decisions) -> BTreeSet<String> {
    let kept = |(_, decision): &&(Atom, _)| {
        let decision: &harness_trust::Decision = decision;
        decision.verdict > Verdict::Allow
    };
    let name = |(atom, _): &(Atom, harness_trust::Decision)| match atom {
        Atom::Read(_) | Atom::ReadMatching { .. } => "read".to_owned(),
        Atom::Write(_) => "write".to_owned(),
        Atom::Run { .. } => "run".to_owned(),
        Atom::Net(_) => "net".to_owned(),
        Atom::Opaque(opaque) => format!("{:?}", opaque.kind),
        other => format!("{other:?}"),
    };
    decisions.each.iter().filter(kept).map(name).collect()
}

#[test]
fn every_command_line_is_decided_as_stated() {
    let rows = rows();
    assert!(rows.len() > 300, "{} rows", rows.len());
    let mut wrong = String::new();
    for row in &rows {
        for ((name, is_trusted, is_sandboxed), expected) in SETTINGS.into_iter().zip(row.verdicts) {
            let decisions = decide(row, &surroundings(is_trusted, is_sandboxed));
            if decisions.verdict != expected {
                let _ = writeln!(
                    wrong,
                    "row {}, {name}: {:?}\n    is {}, not {expected}",
                    row.number, row.line, decisions.verdict
                );
                for (atom, decision) in &decisions.each {
                    let rule = decision.rule.as_ref().map(ToString::to_string);
                    let _ = writeln!(wrong, "    {}: {atom}, by {rule:?}", decision.verdict);
                }
            }
        }
        let found = reasons(&decide(row, &surroundings(false, false)));
        if found != row.reasons {
            let _ = writeln!(
                wrong,
                "row {}: {:?}\n    because of {found:?}, not {:?}",
                row.number, row.line, row.reasons
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// What becomes of `line` in an untrusted project, with rules of the user.
fn verdict_with(rules: &str, line: &str) -> Verdict {
    let around = surroundings(false, false);
    let atoms = Atoms::of_command(line, around.root(), &around);
    rules_of(rules).decide_all(&atoms, &around).verdict
}

#[test]
fn sec_02_a_pattern_ends_where_its_command_ends() {
    for rules in [
        "allow run(ls*)",
        "allow run(ls *)",
        "allow run(ls*); allow run(cat *)",
    ] {
        assert_eq!(verdict_with(rules, "ls -l"), Verdict::Allow, "{rules}");
        assert_eq!(
            verdict_with(rules, "ls; cat /etc/passwd"),
            Verdict::Ask,
            "{rules}"
        );
        assert_eq!(
            verdict_with(rules, "ls $(cat /etc/passwd)"),
            Verdict::Ask,
            "{rules}"
        );
    }
    let denied = "allow run(ls*); deny run(cat *)";
    assert_eq!(verdict_with(denied, "ls; cat /etc/passwd"), Verdict::Deny);
}

#[test]
fn sec_03_wrappers_are_looked_through_or_asked_about() {
    let rules = "allow run(find *); allow run(git *); allow run(env *)";
    for line in [
        "find . -exec touch X ;",
        "find . -exec touch X {} +",
        "env touch X",
        "git -c alias.x='!touch X' x",
    ] {
        assert_eq!(verdict_with(rules, line), Verdict::Ask, "{line}");
        assert_eq!(verdict_with("", line), Verdict::Ask, "{line}");
    }
}
