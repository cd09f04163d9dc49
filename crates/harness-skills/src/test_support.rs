//! What holds for any file: a function of bytes that panics when it does not.
//!
//! The fuzz target `skill` in `fuzz/` is a shell around it; the ordinary tests replay the corpus of the
//! target.

use std::ffi::OsStr;

use harness_frontmatter::Severity;

use crate::escape::enclosed;
use crate::examination::{FilePlace, SKILL_FILE, examine};
use crate::format::{Format, FormatOptions, format_skills};
use crate::full_format::format_full;
use crate::instructions::instructions;
use crate::layer::Layer;
use crate::limits::Limits;
use crate::name::{Identity, is_invisible, slug};
use crate::rule::RULES;
use crate::skill::Skill;

/// - Every file gets the same two answers each time. What is valid to the letter also loads.
/// - What loads has a name and a description that can be seen, in a name's case on one line.
/// - Every finding is one of the rules, at a place in the file.
/// - A command is made of `a-z`, `0-9` and hyphens.
/// - Nothing that a file says can end an element of ours, and every list keeps its budget.
pub fn check_skill(data: &[u8]) {
    let limits = Limits::default();
    let place = FilePlace {
        folder: Some(OsStr::new("demo")),
        file: Some(OsStr::new(SKILL_FILE)),
    };
    let examination = examine(data, &place, &limits);
    assert_eq!(
        examination,
        examine(data, &place, &limits),
        "not the same again"
    );
    assert!(
        !examination.is_valid() || examination.loads(),
        "valid, and does not load"
    );

    let lines = 2 + data
        .iter()
        .filter(|byte| matches!(byte, b'\n' | b'\r'))
        .count();
    for finding in &examination.findings {
        assert!(
            RULES.iter().any(|rule| rule.code == finding.code),
            "{finding:?}"
        );
        assert!(
            finding.strict.is_some() || finding.lenient.is_some(),
            "{finding:?}"
        );
        assert!(!finding.message.is_empty());
        let line = finding.position.map_or(1, |position| position.line);
        assert!((1..=lines).contains(&line), "{finding:?}");
    }
    let says_error = |told: Vec<harness_frontmatter::Diagnostic>| {
        told.iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    };
    assert_eq!(examination.is_valid(), !says_error(examination.strict()));
    assert_eq!(examination.loads(), !says_error(examination.lenient()));
    assert!(
        data.get(examination.body.clone()).is_some(),
        "the body is not in the file"
    );
    if !examination.loads() {
        return;
    }

    let fields = &examination.fields;
    let name = &fields.name;
    assert!(
        !name.trim().is_empty() && !name.contains(['\n', '\r', '\t']),
        "{name:?}"
    );
    assert!(!fields.description.trim().is_empty());
    assert!(
        !name
            .chars()
            .chain(fields.description.chars())
            .any(is_invisible)
    );
    let identity = Identity::of(name);
    assert_eq!(
        identity,
        Identity::of(identity.as_str()),
        "a name of a name"
    );
    if let Some(command) = slug(name) {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        assert!(command.bytes().all(is_plain) && !command.is_empty());
    }

    let text = String::from_utf8_lossy(data.get(examination.body.clone()).unwrap_or_default());
    let body = instructions(&text);
    let mut skill = Skill::from_text(Layer::BuiltIn, name, &fields.description, body.as_str());
    skill.fields = examination.fields.clone();
    for format in [Format::Compact, Format::Reference] {
        let options = FormatOptions::default().with_format(format);
        let whole = format_skills([&skill], &options).text;
        for tag in ["</available_skills>", "<name>", "</description>"] {
            assert_eq!(whole.matches(tag).count(), 1, "{tag} in {whole}");
        }
        let chars = whole.chars().count();
        for budget in [0, 40, chars / 2, chars.saturating_sub(1)] {
            let cut = format_skills([&skill], &options.clone().with_budget(budget)).text;
            assert!(cut.chars().count() <= budget, "over {budget}: {cut}");
        }
    }
    let full = format_full(&skill, &body);
    assert_eq!(full.matches("</instructions>").count(), 1, "{full}");
    let inside = enclosed(&body, &["skill_"]).to_ascii_lowercase();
    assert!(!inside.contains("</skill_"), "{inside}");
}
