//! `edit`: parts of a file, all or none.

use std::io::Read as _;
use std::path::PathBuf;

use harness_core::{Execution, Replay, Tool, ToolContext, ToolError, ToolOutput, async_trait};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::blocking::{self, Stop};
use crate::diff::{self, Change};
use crate::error::Error;
use crate::file_lock;
use crate::folder::Folder;
use crate::matching::{Haystack, Located, MAX_COUNT, Missed};
use crate::nearest;
use crate::place::Place;
use crate::read::open_regular;
use crate::seen::SeenFiles;
use crate::text_file::{Encoding, TextFile, is_kept_byte};
use crate::workspace::Workspace;
use crate::write::{check_writable, replace};

/// How many line numbers an error lists.
const LISTED_LINES: usize = 10;

/// Replaces text in a file. All edits are located in the file as it is now; if one fails, none is made.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct EditArgs {
    /// As in `read`.
    pub path: String,
    /// Must not overlap.
    pub edits: Vec<Edit>,
}

/// One edit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Edit {
    /// Text in the file, with enough context to occur once.
    pub old_text: String,
    /// What takes its place.
    pub new_text: String,
    /// Replace every occurrence.
    pub replace_all: Option<bool>,
}

/// A text after its edits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edited {
    /// The new text.
    pub text: String,
    /// How many places were replaced.
    pub replacements: usize,
    /// For edits that did not match exactly: which edit, and what was overlooked.
    pub notes: Vec<String>,
    /// The change as a unified diff, without file names; long ones are cut.
    pub diff: String,
    /// The first line that is different, from 1.
    pub first_changed_line: usize,
}

/// A file after its edits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditedFile {
    /// The path as it was given, or as it was found.
    pub path: String,
    /// The file that was changed: every symlink followed.
    pub real: PathBuf,
    /// What was changed.
    pub edited: Edited,
}

/// Edits a text. `Err` says which edit does not apply and why, for the model.
///
/// Every edit is located in `text` as it is. What an edit matches is looked for exactly first; only
/// if it is nowhere, line endings, then blanks at line ends, then look-alike quotes, dashes and
/// spaces, then the indentation of whole lines are overlooked. Only what the edit changes is
/// changed: around it, and where old and new text agree, the bytes of the file stay.
///
/// ```
/// use harness_tools::{Edit, edit_text};
///
/// let edit = Edit { old_text: "a\nb".into(), new_text: "a\nX".into(), replace_all: None };
/// let edited = edit_text("a\r\nb\r\nc\r\n", &[edit], 16_384).expect("matches");
/// assert_eq!(edited.text, "a\r\nX\r\nc\r\n");
/// ```
pub fn edit_text(text: &str, edits: &[Edit], max_diff_bytes: usize) -> Result<Edited, String> {
    if edits.is_empty() {
        return Err("`edits` is empty.".to_owned());
    }
    let haystack = Haystack::new(text);
    let mut all: Vec<(usize, Located)> = Vec::new();
    let mut notes = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        if edit.old_text.is_empty() {
            return Err(format!(
                "{}: `old_text` is empty. Name the text to replace; to write a whole file, use \
                 `write`.",
                title(index)
            ));
        }
        let every = edit.replace_all.unwrap_or(false);
        let located = haystack
            .locate(&edit.old_text, &edit.new_text, every)
            .map_err(|missed| missed_text(text, edit, index, &missed))?;
        if let Some(what) = located.first().and_then(|first| first.overlooked) {
            notes.push(format!(
                "{} matched after overlooking {what}.",
                title(index)
            ));
        }
        all.extend(located.into_iter().map(|located| (index, located)));
    }
    all.sort_by_key(|(_, located)| (located.span.start, located.span.end));
    for pair in all.windows(2) {
        if let [(first, before), (second, after)] = pair
            && after.span.start < before.span.end
        {
            return Err(format!(
                "{} and {} overlap at line {}. Join them into one edit.",
                title(*first.min(second)),
                title(*first.max(second)).to_lowercase(),
                line_of(text, after.span.start)
            ));
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut changes = Vec::with_capacity(all.len());
    let mut at = 0;
    for (_, located) in &all {
        out.push_str(text.get(at..located.span.start).unwrap_or_default());
        let start = out.len();
        out.push_str(&located.text);
        changes.push(Change {
            old: located.span.clone(),
            new: start..out.len(),
        });
        at = located.span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    if out == text {
        return Err("The edits change nothing: old and new text are the same.".to_owned());
    }
    let diff = diff::unified(text, &out, &changes, max_diff_bytes);
    Ok(Edited {
        text: out,
        replacements: all.len(),
        notes,
        diff: diff.text,
        first_changed_line: diff.first_changed_line,
    })
}

fn title(index: usize) -> String {
    format!("Edit {}", index + 1)
}

fn missed_text(text: &str, edit: &Edit, index: usize, missed: &Missed) -> String {
    let title = title(index);
    match missed {
        Missed::Nowhere => {
            let near = nearest::describe(text, &edit.old_text)
                .unwrap_or_else(|| "Nothing in the file is like it. Read the file.".to_owned());
            format!("{title}: `old_text` was not found. {near}")
        }
        Missed::Several(places) => {
            let mut lines = line_numbers(text, places.iter().take(LISTED_LINES));
            if places.len() > LISTED_LINES {
                lines.push_str(", …");
            }
            let count = places.len();
            let least = if count >= MAX_COUNT { "at least " } else { "" };
            format!(
                "{title}: `old_text` occurs {least}{count} times, at lines {lines}. Add context so \
                 that it occurs once, or set `replace_all`."
            )
        }
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()
        .get(..at)
        .map_or(0, |before| memchr::memchr_iter(b'\n', before).count())
        + 1
}

fn line_numbers<'a>(text: &str, places: impl Iterator<Item = &'a usize>) -> String {
    let mut numbers: Vec<String> = places.map(|at| line_of(text, *at).to_string()).collect();
    numbers.dedup();
    numbers.join(", ")
}

/// Edits a file, in one step: a reader, or a crash, finds the old content or the new one.
///
/// Encoding, byte order mark, line endings and mode stay. The edits are made on the file as it is at
/// the call, whatever was seen of it before; if it changes during the call, nothing is written.
pub fn edit_file(
    workspace: &Workspace,
    args: &EditArgs,
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<EditedFile, Error> {
    let place = workspace.to_change(&args.path)?;
    file_lock::hold(&place.real, || {
        edit_locked(workspace, &place, &args.edits, seen, stop)
    })
}

fn edit_locked(
    workspace: &Workspace,
    place: &Place,
    edits: &[Edit],
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<EditedFile, Error> {
    stop.check()?;
    let limits = workspace.limits();
    let mut file = open_regular(place)?;
    let io = |source| Error::io("edit", &place.shown, source);
    let failed = |reason| Error::Edit {
        path: place.shown.clone(),
        reason,
    };
    let old = file.metadata().map_err(io)?;
    if old.len() > limits.edit_file_bytes {
        return Err(Error::TooLarge {
            path: place.shown.clone(),
            bytes: old.len(),
            limit: limits.edit_file_bytes,
            hint: "Use `bash` with sed or another stream editor.",
        });
    }
    let mut bytes = Vec::with_capacity(old.len() as usize + 1);
    file.by_ref()
        .take(limits.edit_file_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    let text = TextFile::decode(bytes).map_err(|reason| Error::Content {
        path: place.shown.clone(),
        reason,
    })?;
    let edits = fitted(&text, edits).map_err(failed)?;
    stop.check()?;
    let edited = edit_text(&text.text, &edits, limits.diff_bytes).map_err(failed)?;
    let bytes = text.encode(&edited.text).ok_or_else(|| {
        failed(format!(
            "It is encoded in {}, which lacks a character of `new_text`.",
            text.encoding.name()
        ))
    })?;
    let (Some(parent), Some(_)) = (place.real.parent(), place.real.file_name()) else {
        return Err(failed("It has no name.".to_owned()));
    };
    let folder = Folder::open(parent).map_err(io)?;
    check_writable(place, &folder)?;
    let version = replace(place, &folder, &bytes, Some(&old), stop)?;
    seen.record(&place.real, version);
    Ok(EditedFile {
        path: place.shown.clone(),
        real: place.real.clone(),
        edited,
    })
}

/// The edits as they fit this file: no byte order mark where the text does not show it, and nothing
/// that would be written as a raw byte.
pub(crate) fn fitted(file: &TextFile, edits: &[Edit]) -> Result<Vec<Edit>, String> {
    let mut edits = edits.to_vec();
    for (index, edit) in edits.iter_mut().enumerate() {
        if file.bom {
            for text in [&mut edit.old_text, &mut edit.new_text] {
                if text.starts_with('\u{feff}') {
                    text.remove(0);
                }
            }
        }
        if file.encoding == Encoding::BrokenUtf8
            && (edit.old_text.contains(is_kept_byte) || edit.new_text.contains(is_kept_byte))
        {
            return Err(format!(
                "{}: the file is not all UTF-8, and characters from U+F780 to U+F7FF cannot be \
                 edited in such a file.",
                title(index)
            ));
        }
    }
    Ok(edits)
}

/// The tool `edit`.
///
/// Runs alone in its batch, so that the calls of one reply act in the order in which the model made
/// them. Not run again after a crash.
#[derive(Clone, Debug)]
pub struct EditTool(Workspace);

impl EditTool {
    /// Edits in this workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self(workspace.clone())
    }
}

#[async_trait]
impl Tool for EditTool {
    type Args = EditArgs;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "edit".into()
    }

    fn execution(&self) -> Execution {
        Execution::Sequential
    }

    fn replay(&self) -> Replay {
        Replay::Never
    }

    fn prepare(&self, arguments: Value) -> Value {
        aliases::apply("edit", arguments)
    }

    async fn call(&self, cx: &ToolContext, args: EditArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let seen = workspace.seen(cx);
        let file = blocking::run(cx, move |stop| edit_file(&workspace, &args, &seen, stop)).await?;
        let EditedFile { path, real, edited } = file;
        let places = if edited.replacements == 1 {
            "place"
        } else {
            "places"
        };
        let mut text = format!("Edited {path}: {} {places}.", edited.replacements);
        for note in &edited.notes {
            text.push('\n');
            text.push_str(note);
        }
        text.push('\n');
        text.push_str(&edited.diff);
        Ok(ToolOutput::text(text).with_details(json!({
            "path": real,
            "replacements": edited.replacements,
            "diff": edited.diff,
            "first_changed_line": edited.first_changed_line,
        })))
    }
}
