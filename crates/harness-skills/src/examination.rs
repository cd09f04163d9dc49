//! What there is to say of one file.

use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::path::Path;

use harness_frontmatter::{
    Diagnostic, Document, Error, OddityKind, Position, Recovered, RepairKind, Severity,
};

use crate::fields::FieldReader;
use crate::finding::{Finding, bounded};
use crate::form::Form;
use crate::limits::Limits;
use crate::name::shown;
use crate::rule::{self, Rule};
use crate::skill::SkillFields;
use crate::skill_file::{Refusal, SkillFile};

/// What the file of a skill is called.
pub const SKILL_FILE: &str = "SKILL.md";

/// The most lines of a body, and its most characters: the standard advises less than 500 lines and 5,000
/// tokens, at about four characters each.
const MAX_BODY_LINES: usize = 500;
const MAX_BODY_CHARS: usize = 20_000;

/// Where a file stands. Both parts may be unknown, as for a text that is in no file.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilePlace<'p> {
    /// The name of its folder, which the skill has to share.
    pub folder: Option<&'p OsStr>,
    /// The name of the file.
    pub file: Option<&'p OsStr>,
}

/// What there is to say of one file: the strict answer, and the lenient one.
///
/// A strict reader, [`is_valid`](Self::is_valid), holds the file against the letter of the standard; a
/// lenient one, [`loads`](Self::loads), takes what it can without misleading anybody.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Examination {
    /// What the file says; for a file that does not load, what could be read of it.
    pub fields: SkillFields,
    /// What was found, in the order of the file: of each kind the first five, and how many there are.
    pub findings: Vec<Finding>,
    /// Where the instructions are among the bytes that were given.
    pub body: Range<usize>,
}

/// Reads the bytes of a `SKILL.md`, within bounds of time and memory, whatever they are.
pub fn examine(bytes: &[u8], place: &FilePlace<'_>, limits: &Limits) -> Examination {
    examine_as(Form::Skills, bytes, place, limits)
}

/// As [`examine`], a file of any form.
pub(crate) fn examine_as(
    form: Form,
    bytes: &[u8],
    place: &FilePlace<'_>,
    limits: &Limits,
) -> Examination {
    let folder = place.folder.map(|name| name.to_string_lossy());
    let folder = folder.as_deref();
    let mut findings = Vec::new();
    if let Some(file) = place.file.filter(|file| *file != SKILL_FILE) {
        let message = format!(
            "the file is called `{}`, not {SKILL_FILE}",
            shown(&file.to_string_lossy())
        );
        findings.push(Finding::new(&rule::FILENAME_CASE, message));
    }
    let (fields, body) = match Document::recover_bytes(bytes, &limits.frontmatter, form.kinds()) {
        Err(error) => {
            findings.push(explained(&error));
            (None, 0..0)
        }
        Ok(recovered) => {
            let start = bytes.len() - recovered.document.body.len();
            let fields = read(form, &recovered, bytes, folder, &mut findings);
            (fields, start..bytes.len())
        }
    };
    let mut findings: Vec<Finding> = findings
        .into_iter()
        .filter_map(|finding| form.judge(finding))
        .collect();
    // In a line, what is wrong comes before what was made of it.
    findings.sort_by_key(|finding| {
        let line = finding.position.map(|position| position.line);
        (line, finding.strict != Some(Severity::Error))
    });
    let findings = bounded(findings);
    let fields = fields.unwrap_or_else(|| SkillFields {
        name: folder.map(shown).unwrap_or_default(),
        ..SkillFields::default()
    });
    Examination {
        fields,
        findings,
        body,
    }
}

/// Reads a file as a search does: within bounds, and never one that would have to be waited for. What
/// cannot be read is among the findings; it is an error only if nothing is there.
pub fn examine_file(path: &Path, limits: &Limits) -> io::Result<Examination> {
    // From within its folder, too, the folder has a name.
    let path = std::path::absolute(path)?;
    let place = FilePlace {
        folder: path.parent().and_then(Path::file_name),
        file: path.file_name(),
    };
    match SkillFile::read(&path, None, limits) {
        Ok(SkillFile { bytes, .. }) => Ok(examine(&bytes, &place, limits)),
        Err(Refusal::Bad(finding, _)) => {
            let folder = place.folder.map(|name| shown(&name.to_string_lossy()));
            Ok(Examination::unread(
                folder.unwrap_or_default(),
                vec![*finding],
            ))
        }
        Err(Refusal::Gone) => Err(io::ErrorKind::NotFound.into()),
    }
}

impl Examination {
    /// Of a file that was not read at all.
    pub(crate) fn unread(name: String, findings: Vec<Finding>) -> Self {
        let fields = SkillFields {
            name,
            ..SkillFields::default()
        };
        Self {
            fields,
            findings,
            body: 0..0,
        }
    }

    /// Whether the file is what the standard wants, to the letter. Warnings do not count.
    pub fn is_valid(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.all(|finding| finding.strict < Some(Severity::Error))
    }

    /// Whether it can be loaded.
    pub fn loads(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.all(|finding| finding.lenient < Some(Severity::Error))
    }

    /// What a strict reader says.
    pub fn strict(&self) -> Vec<Diagnostic> {
        self.findings.iter().filter_map(Finding::strict).collect()
    }

    /// What a lenient reader says.
    pub fn lenient(&self) -> Vec<Diagnostic> {
        self.findings.iter().filter_map(Finding::lenient).collect()
    }

    /// What both say: the strict answer, and of the lenient one what the strict one has not.
    pub fn all(&self) -> Vec<Diagnostic> {
        let told = |finding: &Finding| finding.strict().or_else(|| finding.lenient());
        self.findings.iter().filter_map(told).collect()
    }
}

/// The fields of a document, or `None` if there are none to read.
fn read(
    form: Form,
    recovered: &Recovered<'_>,
    bytes: &[u8],
    folder: Option<&str>,
    findings: &mut Vec<Finding>,
) -> Option<SkillFields> {
    let document = &recovered.document;
    for oddity in &document.oddities {
        let at = Position {
            line: oddity.line,
            column: 1,
        };
        let (rule, message): (&Rule, _) = match oddity.kind {
            OddityKind::ByteOrderMark => (
                &rule::BOM,
                "the file begins with a byte order mark; save it as UTF-8 without one",
            ),
            OddityKind::BlankLinesBefore => {
                let message = "the first line has to be `---`; blank lines stand before it";
                let strict = Finding::new(&rule::NO_FRONTMATTER, message).at(at);
                findings.push(strict.strict_only());
                (&rule::LEADING_BLANK, "blank lines stand before `---`")
            }
            OddityKind::BlanksAfterFence => (&rule::DELIM_SPACE, "blanks stand behind `---`"),
            OddityKind::Alias => (&rule::ALIAS, "an alias repeats another value"),
            _ => continue,
        };
        findings.push(Finding::new(rule, message).at(at));
    }
    if let Some(error) = &recovered.error {
        findings.push(with_advice(error, recovered));
    }
    findings.extend(recovered.repairs.iter().map(repair));
    if !document.has_frontmatter {
        findings.push(no_frontmatter(document.body));
        return None;
    }
    if document.fields.is_empty() {
        let message = "there are no fields between the two `---`";
        let finding = Finding::new(&rule::EMPTY_FRONTMATTER, message);
        findings.push(finding.at(document.fields.position).with_hint(form.needs()));
        return None;
    }
    let head = bytes.len() - document.body.len();
    let head = bytes.get(..head).unwrap_or_default();
    let reader = FieldReader::new(&document.fields, head, folder, &recovered.repairs);
    let (fields, found) = match form {
        Form::Skills => reader.read(),
        Form::Agents => reader.read_agent(),
    };
    findings.extend(found);
    findings.extend(body(document));
    Some(fields)
}

/// An error that hides what the file is, for those who cannot read YAML's mind.
fn explained(error: &Error) -> Finding {
    match error {
        // `description: {{ text }}`
        Error::KeyNotText {
            field: Some(field), ..
        } if field == "description" => {
            let mut finding = Finding::of(error);
            finding.code = rule::DESC_TYPE.code;
            finding.for_key("description")
        }
        _ => Finding::of(error),
    }
}

/// What the strict reader says of what was put right.
fn with_advice(error: &Error, recovered: &Recovered<'_>) -> Finding {
    let finding = Finding::of(error).strict_only();
    let repaired = recovered
        .repairs
        .iter()
        .find(|repair| matches!(repair.kind, RepairKind::Quoted | RepairKind::Raw));
    match repaired {
        Some(repair) => {
            let hint = format!("put the value of `{}` in quotes", shown(&repair.key));
            finding.for_key(repair.key.as_str()).with_hint(hint)
        }
        None => finding,
    }
}

fn repair(repair: &harness_frontmatter::Repair) -> Finding {
    let key = shown(&repair.key);
    let (rule, message) = match repair.kind {
        RepairKind::Quoted => (
            &rule::REPAIRED,
            format!("`{key}` is read as if its value were in quotes"),
        ),
        RepairKind::Raw => (
            &rule::FIELD_RAW,
            format!("`{key}` is no YAML: it is taken as the text that stands there"),
        ),
        RepairKind::Dropped => (
            &rule::FIELD_DROPPED,
            format!("`{key}` is no YAML: it is left out"),
        ),
        RepairKind::LastWins => (
            &rule::DUP_KEY,
            format!("a key of `{key}` is there twice: the last one counts"),
        ),
        _ => (&rule::CONTROL, "control characters are left out".to_owned()),
    };
    let mut finding = Finding::new(rule, message).at(repair.position);
    // The strict reader's own words are there already.
    finding.strict = None;
    if repair.key.is_empty() {
        finding
    } else {
        finding.for_key(repair.key.as_str())
    }
}

/// A text that does not begin with a fence: why that may be.
fn no_frontmatter(text: &str) -> Finding {
    let first = text
        .lines()
        .enumerate()
        .find(|(_, line)| !line.trim().is_empty());
    let Some((number, first)) = first else {
        return Finding::new(&rule::NO_FRONTMATTER, "the file is empty");
    };
    let at = Position {
        line: number + 1,
        column: 1,
    };
    let (message, hint) = if first.trim() == "---" {
        (
            "the `---` that opens the frontmatter is indented",
            "move it to the beginning of its line",
        )
    } else if first.starts_with("---") {
        (
            "more than `---` stands in the line that opens the frontmatter",
            "put `---` in a line of its own",
        )
    } else if first.starts_with("```") || first.starts_with("~~~") {
        (
            "the frontmatter is inside a block of code",
            "the file itself has to begin with `---`",
        )
    } else {
        (
            "the file has no frontmatter: its first line is not `---`",
            "begin with `---`, `name: …`, `description: …`, and `---` again",
        )
    };
    Finding::new(&rule::NO_FRONTMATTER, message)
        .at(at)
        .with_hint(hint)
}

fn body(document: &Document<'_>) -> Option<Finding> {
    let at = Position {
        line: document.body_line,
        column: 1,
    };
    let body = document.body.trim();
    if body.is_empty() {
        return Some(Finding::new(&rule::EMPTY_BODY, "there are no instructions").at(at));
    }
    // Counted in bytes, of which many are looked at at a time; and characters are never more than bytes.
    let lines = 1 + body.bytes().filter(|byte| *byte == b'\n').count();
    let is_long = lines > MAX_BODY_LINES
        || body.len() > MAX_BODY_CHARS && body.chars().count() > MAX_BODY_CHARS;
    is_long.then(|| {
        let message = format!(
            "{lines} lines, about {} tokens of instructions: the standard advises less than {MAX_BODY_LINES} \
             lines and 5,000 tokens",
            body.chars().count() / 4
        );
        Finding::new(&rule::BODY_LONG, message)
            .at(at)
            .with_hint("move parts into files of their own, to be read when they are needed")
    })
}
