//! For tests: an approver whose answers are known before, and what holds for any command line, as a function
//! of bytes that panics when it does not.
//!
//! The fuzz target `shell` in `fuzz/` is a shell around that function; the ordinary tests replay the corpus of
//! the target.

mod scripted_approver;

use std::path::Path;

use crate::atom::Atom;
use crate::atoms::Atoms;
use crate::builtin::written_and_parsed;
use crate::paths::Lexical;
use crate::rule::{Rule, Verdict};
use crate::rules::Rules;
use crate::shell::{CommandLine, Place};
use crate::surroundings::Surroundings;

pub use scripted_approver::ScriptedApprover;

/// - Every line gets the same reading twice, and no panic.
/// - What a person is shown has nothing that cannot be seen, and is as long as there are things to show.
/// - A line that is transparent is one with a command behind it too, and that command is seen.
/// - An invisible character anywhere in it is noticed.
/// - A rule that allows only what is seen allows no line with `evil` behind it.
pub fn check_command_line(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    let place = Place {
        folder: Some(Path::new("/srv")),
        home: Some(Path::new("/home/user")),
    };
    let parse = |line: &str| CommandLine::parse(line, &place);
    let parsed = parse(&line);
    assert_eq!(parsed, parse(&line), "not the same again");
    let shown = parsed.to_string();
    let is_hidden = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    let is_seen = |c: char| c == '\n' || !(c.is_control() || is_hidden(c));
    assert!(shown.chars().all(is_seen), "{shown:?}");
    let things = parsed.commands.len() + parsed.redirects.len() + parsed.opaque.len();
    assert_eq!(shown.lines().count(), things, "{shown}");

    for suffix in ["\nevil 1", "\u{200b}", " $(evil)", " `evil`"] {
        let longer = parse(&format!("{line}{suffix}"));
        let is_same = longer.is_transparent() && longer.commands == parsed.commands;
        let is_in_comment = line.lines().last().is_some_and(|last| last.contains('#'));
        assert!(!is_same || is_in_comment, "{suffix:?} changes nothing");
    }
    if parsed.is_transparent() {
        let longer = parse(&format!("{line}\nevil 1"));
        let program = longer.commands.last().and_then(|it| it.program());
        assert!(
            !longer.is_transparent() || program == Some("evil"),
            "{longer}"
        );
        assert!(longer.commands.len() > parsed.commands.len(), "{longer}");
    }

    let surroundings = Surroundings::new("/srv").with_paths(Lexical);
    let rules = Rules::new();
    let deny = Rule::parse(Verdict::Deny, "run(evil *)");
    let rules = deny.map_or_else(
        |_| rules.clone(),
        |deny| rules.clone().with(crate::Layer::Run, deny),
    );
    let atoms = Atoms::of_command(&line, surroundings.root(), &surroundings);
    let decided = rules.decide_all(&atoms, &surroundings);
    let is_opaque = atoms.iter().any(|atom| matches!(atom, Atom::Opaque(_)));
    assert!(
        !is_opaque || decided.verdict > Verdict::Allow,
        "allowed without being read"
    );
    assert!(
        parsed.is_transparent() || is_opaque,
        "an opaque part is lost"
    );
}

/// The built-in rules, as written and as read: a rule that cannot be read would be missing.
pub fn built_in_rules() -> (usize, usize) {
    written_and_parsed()
}
