//! The files of the conformance set, and what holds for each.

use std::ffi::OsStr;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness_frontmatter::{Entry, Mapping, Node};
use harness_skills::{
    Activation, Examination, FilePlace, FormatOptions, Limits, Skill, examine, format_skills,
};

use crate::tree::{Tree, agrees, codes};

/// A file.
pub(crate) struct Case {
    pub(crate) id: String,
    /// The name of its folder.
    pub(crate) folder: String,
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
}

/// What a row says of a file. Codes have the letter of their severity, and are all that is told.
pub(crate) struct Row {
    /// The name of the test, which begins with the id.
    pub(crate) test: &'static str,
    pub(crate) strict: &'static [&'static str],
    pub(crate) lenient: &'static [&'static str],
    /// What is read, by its name; see [`value`].
    pub(crate) values: &'static [(&'static str, &'static str)],
}

/// All files of the set.
pub(crate) static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let lines = include_str!("../cases/skills-conformance.jsonl").lines();
    let case = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        Case {
            id: text("id"),
            folder: text("dir"),
            file: text("file"),
            bytes: STANDARD.decode(text("b64")).unwrap(),
        }
    };
    lines.map(case).collect()
});

impl Row {
    /// `A05` of `a05_a_byte_order_mark`.
    pub(crate) fn id(&self) -> String {
        self.test[..3].to_ascii_uppercase()
    }
}

/// Makes a test of each row.
macro_rules! rows {
    ($($test:ident strict [$($strict:literal)*] lenient [$($lenient:literal)*]
        { $($name:literal: $value:expr),* $(,)? })*) => {
        /// What each file is for a strict and for a lenient reader.
        pub(crate) const ROWS: &[$crate::case::Row] = &[$($crate::case::Row {
            test: stringify!($test),
            strict: &[$($strict),*],
            lenient: &[$($lenient),*],
            values: &[$(($name, $value)),*],
        }),*];

        $(#[test]
        fn $test() {
            $crate::case::check(ROWS, stringify!($test));
        })*
    };
}
pub(crate) use rows;

/// Holds a file against its row: as bytes, and on disk.
pub(crate) fn check(rows: &[Row], test: &str) {
    let row = rows.iter().find(|row| row.test == test).unwrap();
    let case = CASES.iter().find(|case| case.id == row.id()).unwrap();
    let place = FilePlace {
        folder: Some(OsStr::new(&case.folder)),
        file: Some(OsStr::new(&case.file)),
    };
    let examination = examine(&case.bytes, &place, &Limits::default());
    assert_eq!(codes(&examination.strict()), row.strict, "strict");
    assert_eq!(codes(&examination.lenient()), row.lenient, "lenient");
    let has_error = |codes: &[&str]| codes.iter().any(|code| code.starts_with("E-"));
    assert_eq!(examination.is_valid(), !has_error(row.strict));
    assert_eq!(examination.loads(), !has_error(row.lenient));

    let (skill, activation) = on_disk(case, row, &examination);
    for (name, expected) in row.values {
        if let Some(code) = name.strip_prefix("says ") {
            says(&examination, code, expected);
        } else {
            let value = value(name, &skill, activation.as_ref());
            assert_eq!(value, *expected, "{name}");
        }
    }
}

/// Finds the file in a folder of skills, beside another one, which it has no effect on.
fn on_disk(case: &Case, row: &Row, examination: &Examination) -> (Skill, Option<Activation>) {
    let tree = Tree::new();
    let folder = format!("skills/{}", case.folder);
    tree.write(format!("{folder}/{}", case.file), &case.bytes);
    tree.skill("skills/neighbour");
    let skills = tree.skills();
    let catalogue = skills.catalogue();
    assert!(catalogue.find("neighbour").is_ok());
    assert!(catalogue.notes().is_empty(), "{:?}", catalogue.notes());
    assert_eq!(catalogue.entries().len(), 2);

    let entry = tree.entry(&skills, &folder);
    assert_eq!(codes(&entry.diagnostics), row.lenient, "on disk");
    assert_eq!(entry.skill.fields, examination.fields);
    let status = if examination.loads() {
        "active"
    } else {
        "invalid"
    };
    assert_eq!(entry.status.word(), status);
    for diagnostic in &entry.diagnostics {
        assert_eq!(diagnostic.path.as_deref(), entry.skill.file());
    }
    let activation = catalogue.activate(&entry.skill.name(), &Limits::default());
    assert_eq!(activation.is_ok(), examination.loads());
    agrees(&skills);
    ((*entry.skill).clone(), activation.ok())
}

/// Message and hint of a finding have these words in them, one after the other.
fn says(examination: &Examination, code: &str, words: &str) {
    let mut findings = examination.findings.iter();
    let finding = findings.find(|finding| finding.code.name() == code);
    let finding = finding.expect("there is such a finding");
    let hint = finding.hint.as_deref().unwrap_or_default();
    let said = format!("{}; {hint}", finding.message);
    assert!(said.contains(words), "{said}");
}

/// What was read, by its name. What the file does not say is `none`.
fn value(name: &str, skill: &Skill, activation: Option<&Activation>) -> String {
    let fields = &skill.fields;
    let none = || "none".to_owned();
    let optional = |value: &Option<String>| value.clone().unwrap_or_else(none);
    match name {
        "name" => fields.name.clone(),
        "identity" => skill.identity().to_string(),
        "command" => optional(&skill.command()),
        "description" => fields.description.clone(),
        "characters of the description" => fields.description.chars().count().to_string(),
        "license" => optional(&fields.license),
        "compatibility" => optional(&fields.compatibility),
        "version" => optional(&fields.version),
        "argument-hint" => optional(&fields.argument_hint),
        "metadata" => fields.metadata.as_ref().map_or_else(none, pairs),
        "extra" => entries(&fields.extra),
        "tools" => {
            let tools = fields.allowed_tools.as_ref();
            tools.map_or_else(none, |tools| format!("[{}]", tools.join(" | ")))
        }
        "body" => activation.map_or_else(none, |activation| activation.instructions.clone()),
        "raw body" => {
            let body = activation.map(Activation::raw_body).unwrap_or_default();
            String::from_utf8(body.to_vec()).unwrap()
        }
        // What a model is shown, without the path.
        "prompt" => {
            let text = format_skills([skill], &FormatOptions::default()).text;
            let (_, text) = text.split_once("<skill>").unwrap();
            text.split_once("<location>").unwrap().0.to_owned()
        }
        other => panic!("what is `{other}`?"),
    }
}

fn pairs(mapping: &Mapping) -> String {
    entries(&mapping.entries)
}

fn entries(entries: &[Entry]) -> String {
    let pair = |entry: &Entry| format!("{}: {}", entry.key.text, flow(&entry.value));
    let pairs: Vec<String> = entries.iter().map(pair).collect();
    format!("{{{}}}", pairs.join(", "))
}

fn flow(node: &Node) -> String {
    match node {
        Node::Scalar(scalar) => scalar.text.clone(),
        Node::List(list) => {
            let items: Vec<String> = list.items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Node::Mapping(mapping) => pairs(mapping),
    }
}

/// Each file has a row, and each row a file.
#[test]
fn rows_and_files_are_the_same() {
    let rows = [
        crate::delimiters::ROWS,
        crate::yaml::ROWS,
        crate::fields::ROWS,
        crate::names::ROWS,
    ];
    let rows: Vec<String> = rows.iter().copied().flatten().map(Row::id).collect();
    let cases: Vec<String> = CASES.iter().map(|case| case.id.clone()).collect();
    assert_eq!(rows, cases);
}

/// What there is to say of a file that is in no folder.
pub(crate) fn examined(text: &str) -> Examination {
    examine(text.as_bytes(), &FilePlace::default(), &Limits::default())
}
