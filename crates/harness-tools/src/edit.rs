//! `edit`: parts of a file, all or none.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::PathBuf;

use harness_core::{
    Execution, Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, ToolPreview,
    async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::blocking::{self, Stop};
use crate::diff::{self, Change};
use crate::error::Error;
use crate::file_lock;
use crate::files::OpenFile;
use crate::invisible;
use crate::matching::{Haystack, Located, MAX_COUNT, MAX_PLACES, Missed, TOLERANT_BYTES};
use crate::names;
use crate::nearest;
use crate::place::Place;
use crate::read::open_regular;
use crate::seen::SeenFiles;
use crate::text_file::{Encoding, TextFile, is_kept_byte};
use crate::version::FileVersion;
use crate::workspace::Workspace;
use crate::write::replace;

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

/// What edits changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditReport {
    /// How many places were replaced.
    pub replacements: usize,
    /// What else is to be known, one sentence each: which edit did not match exactly, and what was
    /// overlooked.
    pub notes: Vec<String>,
    /// The change as a unified diff, without file names; long ones are cut.
    pub diff: String,
    /// The first line that is different, from 1.
    pub first_changed_line: usize,
}

/// A text after its edits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edited {
    /// The new text.
    pub text: String,
    /// What was changed.
    pub report: EditReport,
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
    pub report: EditReport,
}

/// Edits a text. `Err` says which edit does not apply and why, for the model.
///
/// Every edit is located in `text` as it is. What an edit matches is looked for exactly first; only
/// if it is nowhere, line endings, then blanks at line ends, then look-alike quotes, dashes and
/// spaces and invisible characters, then the indentation of whole lines are overlooked. Only what the edit changes is
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
    let plan = Plan::new(text, edits)?;
    Ok(Edited {
        text: plan.pieces().concat(),
        report: plan.report(max_diff_bytes),
    })
}

/// Edits with the places in a text where they apply.
struct Plan<'a> {
    text: &'a str,
    /// Sorted, not overlapping.
    places: Vec<Located>,
    notes: Vec<String>,
}

impl<'a> Plan<'a> {
    fn new(text: &'a str, edits: &[Edit]) -> Result<Self, String> {
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
            if all.len() + located.len() > MAX_PLACES {
                return Err(format!(
                    "{}: more than {MAX_PLACES} places would be replaced, which is too many for one \
                     call. Use `bash` with sed or another stream editor.",
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
        let plan = Self {
            text,
            places: all.into_iter().map(|(_, located)| located).collect(),
            notes,
        };
        if plan.changes_nothing() {
            return Err("The edits change nothing: old and new text are the same.".to_owned());
        }
        Ok(plan)
    }

    /// Whether the new text is the old one: several edits may undo each other. What is before the
    /// first and after the last is not looked at.
    fn changes_nothing(&self) -> bool {
        let (Some(first), Some(last)) = (self.places.first(), self.places.last()) else {
            return true;
        };
        let old = self.text.get(first.span.start..last.span.end);
        let mut old = old.unwrap_or_default();
        let mut at = first.span.start;
        for place in &self.places {
            let kept = self.text.get(at..place.span.start).unwrap_or_default();
            for piece in [kept, &*place.text] {
                match old.strip_prefix(piece) {
                    Some(rest) => old = rest,
                    None => return false,
                }
            }
            at = place.span.end;
        }
        old.is_empty()
    }

    /// Whether each edit matched exactly, and once.
    fn is_certain(&self, edits: &[Edit]) -> bool {
        self.places.len() == edits.len()
            && self.places.iter().all(|place| place.overlooked.is_none())
    }

    /// The new text, in pieces that follow each other.
    fn pieces(&self) -> Vec<&str> {
        let mut pieces = Vec::with_capacity(self.places.len() * 2 + 1);
        let mut at = 0;
        for place in &self.places {
            pieces.push(self.text.get(at..place.span.start).unwrap_or_default());
            pieces.push(&*place.text);
            at = place.span.end;
        }
        pieces.push(self.text.get(at..).unwrap_or_default());
        pieces
    }

    fn report(self, max_diff_bytes: usize) -> EditReport {
        let changes: Vec<Change<'_>> = self
            .places
            .iter()
            .map(|place| Change {
                old: place.span.clone(),
                new: &place.text,
            })
            .collect();
        let diff = diff::unified(self.text, &changes, max_diff_bytes);
        let mut notes = self.notes;
        if diff.endings_change {
            notes.push("Line endings change, which the diff does not show.".to_owned());
        }
        EditReport {
            replacements: self.places.len(),
            notes,
            diff: diff.text,
            first_changed_line: diff.first_changed_line,
        }
    }
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
            let exact = if text.len() > TOLERANT_BYTES {
                " In a file of this size it must match exactly, line endings included."
            } else {
                ""
            };
            format!("{title}: `old_text` was not found.{exact} {near}")
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
/// the call; if it changes during the call, nothing is written. If it changed since this run last saw
/// it, each edit must match exactly, and once.
pub fn edit_file(
    workspace: &Workspace,
    args: &EditArgs,
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<EditedFile, Error> {
    let place = workspace.to_change(&args.path)?;
    file_lock::hold(&place.real, || {
        with_plan(workspace, &place, &args.edits, seen, stop, |planned| {
            let Planned {
                file,
                plan,
                version,
            } = planned;
            workspace.check_approved(&place, Some(version))?;
            let content: Vec<Cow<'_, [u8]>> = plan
                .pieces()
                .into_iter()
                .map(|piece| file.encode_part(piece))
                .collect();
            let mut pieces = vec![file.mark()];
            pieces.extend(content.iter().map(|piece| &**piece));
            let version = replace(workspace, &place, &pieces, Some(version), stop)?;
            seen.record(&place.real, version);
            Ok(EditedFile {
                path: place.shown.clone(),
                real: place.real.clone(),
                report: plan.report(workspace.limits().diff_bytes),
            })
        })
    })
}

/// A file as it is, and the edits located in it.
struct Planned<'a> {
    file: &'a TextFile,
    plan: Plan<'a>,
    version: FileVersion,
}

/// Locates the edits in the file as it is now, for `then` to go on with.
fn with_plan<T>(
    workspace: &Workspace,
    place: &Place,
    edits: &[Edit],
    seen: &SeenFiles,
    stop: &Stop,
    then: impl FnOnce(Planned<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    stop.check()?;
    let limits = workspace.limits();
    let OpenFile { info, content } = open_regular(workspace, place)?;
    let io = |source| Error::io("edit", &place.shown, source);
    let failed = |reason: String| Error::Edit {
        path: place.shown.clone(),
        reason: without_tags(&reason),
    };
    if info.size > limits.edit_file_bytes {
        return Err(Error::TooLarge {
            path: place.shown.clone(),
            bytes: info.size,
            limit: limits.edit_file_bytes,
            hint: "Use `bash` with sed or another stream editor.",
        });
    }
    let mut bytes = Vec::with_capacity(info.size as usize + 1);
    content
        .take(limits.edit_file_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    let file = TextFile::decode(bytes).map_err(|reason| Error::Content {
        path: place.shown.clone(),
        reason,
    })?;
    let edits = fitted(&file, edits).map_err(failed)?;
    stop.check()?;
    let stale = seen
        .version(&place.real)
        .is_some_and(|version| !version.same_content(&info.version));
    let plan = Plan::new(&file.text, &edits);
    let mut plan = match plan {
        Ok(plan) if stale && !plan.is_certain(&edits) => {
            return Err(Error::Changed {
                path: place.shown.clone(),
                what: "changed since this run last saw it, and not every edit matches exactly",
            });
        }
        Err(reason) if stale => {
            return Err(failed(format!(
                "{reason}\nThe file changed since this run last saw it. Read it again, then repeat \
                 the edit."
            )));
        }
        plan => plan.map_err(failed)?,
    };
    if stale {
        plan.notes.push(
            "The file had changed since this run last saw it; the edit was made on what is there \
             now."
                .to_owned(),
        );
    }
    then(Planned {
        file: &file,
        plan,
        version: info.version,
    })
}

/// What shows lines of the file, without characters that nobody sees.
fn without_tags(text: &str) -> String {
    let (shown, notice) = invisible::shown(text, Some("the file"), None);
    match notice {
        None => shown.into_owned(),
        Some(notice) => format!("{}\n[{notice}]", shown.trim_end_matches('\n')),
    }
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

    fn effects(&self, cx: &ToolContext, args: &EditArgs) -> ToolEffects {
        self.0.for_call(cx).changes(&args.path)
    }

    async fn preview(&self, cx: &ToolContext, args: EditArgs) -> Option<ToolPreview> {
        let workspace = self.0.for_call(cx);
        let seen = workspace.seen(cx);
        let preview = move |stop: &Stop| {
            let place = workspace.to_change(&args.path)?;
            with_plan(&workspace, &place, &args.edits, &seen, stop, |planned| {
                let diff = planned.plan.report(workspace.limits().diff_bytes).diff;
                let state = FileVersion::digest(Some(planned.version));
                Ok(ToolPreview::new(diff, state))
            })
        };
        blocking::run(cx, preview).await.ok()
    }

    async fn call(&self, cx: &ToolContext, args: EditArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let seen = workspace.seen(cx);
        let file = blocking::run(cx, move |stop| edit_file(&workspace, &args, &seen, stop)).await?;
        let EditedFile { path, real, report } = file;
        let places = if report.replacements == 1 {
            "place"
        } else {
            "places"
        };
        let mut text = format!("Edited {path}: {} {places}.", report.replacements);
        for note in &report.notes {
            text.push('\n');
            text.push_str(note);
        }
        text.push('\n');
        text.push_str(&report.diff);
        let text = without_tags(&text);
        Ok(ToolOutput::text(text).with_details(json!({
            "path": names::shown_path(&real),
            "replacements": report.replacements,
            "diff": report.diff,
            "first_changed_line": report.first_changed_line,
        })))
    }
}
