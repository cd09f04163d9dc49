//! What the documentation says is what the code has.

use std::fmt::Write as _;

use harness_skills::{RULES, Severity};

#[test]
fn the_table_of_rules_is_the_one_in_the_code() {
    let letter = |severity: Option<Severity>| {
        severity.map_or_else(|| "–".to_owned(), |severity| severity.letter().to_string())
    };
    let mut table =
        String::from("| code | strict | lenient | what it is about |\n|---|---|---|---|\n");
    for rule in RULES {
        let (strict, lenient) = (letter(rule.strict), letter(rule.lenient));
        let _ = writeln!(
            table,
            "| `{}` | {strict} | {lenient} | {} |",
            rule.code, rule.about
        );
    }
    let docs = include_str!("../../../../docs/skills.md");
    assert!(
        docs.contains(&table),
        "docs/skills.md should have:\n{table}"
    );
}

#[test]
fn each_code_has_one_rule() {
    let mut codes: Vec<_> = RULES.iter().map(|rule| rule.code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), RULES.len());
}
