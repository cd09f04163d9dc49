//! What holds for any file: a function of bytes that panics when it does not.
//!
//! The fuzz target `frontmatter` in `fuzz/` is a shell around it; the ordinary tests replay the corpus
//! of the target.

use crate::{
    Document, Error, FieldKinds, Limits, Mapping, Node, Position, Recovered, Repair, RepairKind,
};

/// The keys that the checks know, as those of a skill.
pub const KINDS: FieldKinds<'static> = FieldKinds {
    texts: &[
        "name",
        "description",
        "license",
        "compatibility",
        "argument-hint",
        "version",
        "author",
    ],
    structures: &[
        "metadata",
        "allowed-tools",
        "tags",
        "references",
        "examples",
    ],
    unique: &["name", "description"],
};

/// More prefixes prove nothing more.
const PREFIXES: usize = 24;

/// - Every file is read or refused, and the same each time. One with a NUL is refused.
/// - The body is the end of the text; all places are places in it.
/// - What the strict reader takes, [`Document::recover`] takes, and as the same document. What only
///   the latter takes has repairs, and the error of the former.
/// - Names are there once. No text has a character that the file does not have, but for escapes; what
///   is taken without YAML, or with quotes added, stands in the file.
/// - The beginning of a file has no field that the file does not have.
pub fn check_frontmatter(data: &[u8]) {
    let limits = Limits::default();
    let strict = Document::from_bytes(data, &limits);
    let recovered = Document::recover_bytes(data, &limits, &KINDS);
    assert_eq!(
        strict,
        Document::from_bytes(data, &limits),
        "not the same again"
    );
    assert_eq!(
        recovered,
        Document::recover_bytes(data, &limits, &KINDS),
        "not the same again"
    );
    let Ok(text) = std::str::from_utf8(data) else {
        assert!(strict.is_err() && recovered.is_err(), "not UTF-8");
        return;
    };
    if text.contains('\0') {
        assert!(strict.is_err() && recovered.is_err(), "a NUL");
    }
    let lines = lines_of(text);
    match (strict, &recovered) {
        (Ok(document), recovered) => {
            check_document(&document, text, &lines);
            let same = Recovered {
                document,
                error: None,
                repairs: Vec::new(),
            };
            assert_eq!(recovered.as_ref(), Ok(&same), "repaired for nothing");
            check_prefixes(&same.document, text, &limits);
        }
        (Err(error), recovered) => {
            check_error(&error, &lines);
            match recovered {
                Ok(recovered) => check_recovered(recovered, &error, text, &lines),
                Err(error) => check_error(error, &lines),
            }
        }
    }
}

fn check_error(error: &Error, lines: &[&str]) {
    check_position(error.position(), lines);
    assert!(!error.message().is_empty());
    let shown = error.diagnostic().to_string();
    let is_plain = |c: char| !c.is_control() || c == '\n';
    assert!(shown.chars().all(is_plain), "{shown:?}");
}

fn check_recovered(recovered: &Recovered<'_>, strict: &Error, text: &str, lines: &[&str]) {
    let Recovered {
        document,
        error,
        repairs,
    } = recovered;
    assert_eq!(error.as_ref(), Some(strict));
    assert!(!repairs.is_empty(), "read differently without a word");
    assert!(repairs.is_sorted_by_key(|repair| repair.position));
    check_document(document, text, lines);
    let has_twice = |key: &str| {
        let mut twice = repairs.iter();
        twice.any(|repair| repair.kind == RepairKind::LastWins && repair.key == key)
    };
    let before = squeezed(before_body(document, text));
    for Repair {
        kind,
        key,
        position,
    } in repairs
    {
        check_position(*position, lines);
        let value = document.fields.get(key);
        match kind {
            RepairKind::Quoted | RepairKind::Raw if !has_twice(key) => {
                let scalar = match value {
                    Some(Node::Scalar(scalar)) => Some(scalar),
                    _ => None,
                };
                let text = scalar.map(|scalar| squeezed(&scalar.text));
                let stands = text.is_some_and(|text| before.contains(&text));
                assert!(stands, "made up: `{key}` is {value:?}");
                assert_eq!(scalar.map(|scalar| scalar.position), Some(*position));
            }
            RepairKind::Dropped if !has_twice(key) => {
                assert!(!KINDS.is_unique(key) || value.is_none());
            }
            RepairKind::LastWins => {
                assert!(*position != Position::default());
            }
            _ => {}
        }
    }
}

fn check_document(document: &Document<'_>, text: &str, lines: &[&str]) {
    assert!(text.ends_with(document.body));
    let before = before_body(document, text);
    let ends = before.is_empty() || before == "\u{feff}" || before.ends_with(['\n', '\r']);
    let expected = lines_of(before).len() + usize::from(!ends);
    assert_eq!(document.body_line, expected);
    for oddity in &document.oddities {
        assert!((1..=lines.len()).contains(&oddity.line));
    }
    check_mapping(&document.fields, before, lines);
}

fn check_mapping(mapping: &Mapping, before: &str, lines: &[&str]) {
    check_position(mapping.position, lines);
    let mut names: Vec<_> = mapping
        .entries
        .iter()
        .map(|entry| &entry.key.text)
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), mapping.entries.len(), "a name twice");
    for entry in &mapping.entries {
        check_position(entry.key.position, lines);
        check_text(&entry.key.text, before);
        check_node(&entry.value, before, lines);
    }
}

/// No deeper than the depth of the limits.
fn check_node(node: &Node, before: &str, lines: &[&str]) {
    match node {
        Node::Scalar(scalar) => {
            check_position(scalar.position, lines);
            check_text(&scalar.text, before);
        }
        Node::List(list) => {
            check_position(list.position, lines);
            for item in &list.items {
                check_node(item, before, lines);
            }
        }
        Node::Mapping(mapping) => check_mapping(mapping, before, lines),
    }
}

fn check_text(text: &str, before: &str) {
    if before.contains('\\') {
        return;
    }
    let made_up = |c: &char| !c.is_whitespace() && !before.contains(*c);
    assert_eq!(text.chars().find(made_up), None, "made up in {text:?}");
}

fn check_position(position: Position, lines: &[&str]) {
    let Position { line, column } = position;
    let shown = lines.get(line.wrapping_sub(1));
    // Where the text ends, a line may begin that is not there.
    let length = shown.map_or(0, |line| line.chars().count());
    assert!(
        (1..=lines.len() + 1).contains(&line) && (1..=length + 1).contains(&column),
        "{position} is not in the file"
    );
}

fn check_prefixes(whole: &Document<'_>, text: &str, limits: &Limits) {
    let step = text.len() / PREFIXES + 1;
    for end in (0..text.len()).step_by(step) {
        let Some(prefix) = text.get(..end) else {
            continue;
        };
        if ends_with_half_a_line_as_fence(prefix, text) {
            continue;
        }
        let Ok(read) = Document::recover(prefix, limits, &KINDS) else {
            continue;
        };
        for entry in &read.document.fields.entries {
            let value = whole.fields.get(&entry.key.text);
            assert_eq!(value, Some(&entry.value), "made up in {prefix:?}");
        }
    }
}

/// Whether the cut made a fence of a line that is none: `---` of `---b`. That file is another one.
fn ends_with_half_a_line_as_fence(prefix: &str, text: &str) -> bool {
    let rest = text.get(prefix.len()..).unwrap_or_default();
    let last = prefix.rsplit(['\n', '\r']).next().unwrap_or_default();
    let next = rest.split(['\n', '\r']).next().unwrap_or_default();
    last.trim_end() == "---" && !next.trim_end().is_empty()
}

/// The text that is not the body.
fn before_body<'t>(document: &Document<'_>, text: &'t str) -> &'t str {
    let length = text.len() - document.body.len();
    text.get(..length).unwrap_or_default()
}

/// Without white space and control characters.
fn squeezed(text: &str) -> String {
    let is_kept = |c: &char| !c.is_whitespace() && !c.is_control();
    text.chars().filter(is_kept).collect()
}

/// The lines of a text, ended by `\n`, `\r\n` or `\r`; the last one may be empty.
fn lines_of(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\n', '\r']) {
        let (line, after) = rest.split_at(end);
        lines.push(line);
        let ending = if after.starts_with("\r\n") { 2 } else { 1 };
        rest = after.get(ending..).unwrap_or_default();
    }
    lines.push(rest);
    lines
}
