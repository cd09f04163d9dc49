//! `write`: a whole file, in one step.

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
use crate::files::{FileInfo, FileKind, OpenFile, ReplaceError, Replacement};
use crate::names;
use crate::place::Place;
use crate::seen::SeenFiles;
use crate::text_file::{
    self, Encoding, LineEndings, SAMPLE_BYTES, Sniffed, TextFile, sniff, to_crlf,
};
use crate::version::FileVersion;
use crate::workspace::Workspace;

/// Writes a whole file; makes missing folders. An existing file is overwritten, keeping its mode, line
/// endings and byte order mark. To change part of a file, use `edit`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct WriteArgs {
    /// As in `read`.
    pub path: String,
    /// The whole content.
    pub content: String,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The path as it was given.
    pub path: String,
    /// The file that was written: every symlink followed.
    pub real: PathBuf,
    /// Whether the file is new.
    pub created: bool,
    /// Its bytes.
    pub bytes: usize,
    /// Its lines.
    pub lines: usize,
    /// What of the old file was kept, or lost, in words.
    pub notes: Vec<String>,
}

/// Writes a file, in one step: a reader, or a crash, finds the old content or the new one.
///
/// What is kept of an existing file: its mode; its owner, if the process may give files away; that it
/// is reached by a symlink; a byte order mark, and the encoding that it marks; `\r\n`, if the file has
/// no other line ending (judged by its first 64 KiB) and the content has no `\r`. All else is written
/// as given. Other hard links to the file keep the old content; extended attributes are not kept.
///
/// A file that this run read or wrote, and that changed since, is not overwritten; nor is a text in
/// an encoding other than UTF-8, or UTF-16 with a byte order mark.
pub fn write_file(
    workspace: &Workspace,
    args: &WriteArgs,
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<Written, Error> {
    let place = workspace.to_write(&args.path)?;
    check_target(&place)?;
    file_lock::hold(&place.real, || {
        write_locked(workspace, &place, &args.content, seen, stop)
    })
}

fn write_locked(
    workspace: &Workspace,
    place: &Place,
    content: &str,
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<Written, Error> {
    stop.check()?;
    let mut notes = Vec::new();
    let old = old_file(workspace, place)?;
    workspace.check_approved(place, old.as_ref().map(|old| old.info.version))?;
    let (bytes, expected) = match old {
        None => (Cow::Borrowed(content.as_bytes()), None),
        Some(OldFile { info, sample }) => {
            let changed = seen
                .version(&place.real)
                .is_some_and(|version| !version.same_content(&info.version));
            if changed {
                return Err(Error::Changed {
                    path: place.shown.clone(),
                    what: "changed since this run last saw it",
                });
            }
            let bytes =
                match sample {
                    Some(sample) => in_the_manner_of(&sample, info.size, content, &mut notes)
                        .map_err(|reason| Error::Content {
                            path: place.shown.clone(),
                            reason,
                        })?,
                    None => Cow::Borrowed(content.as_bytes()),
                };
            (bytes, Some(info.version))
        }
    };
    let version = replace(workspace, place, &[&bytes], expected, stop)?;
    seen.record(&place.real, version);
    Ok(Written {
        path: place.shown.clone(),
        real: place.real.clone(),
        created: expected.is_none(),
        bytes: bytes.len(),
        lines: content.split_inclusive('\n').count(),
        notes,
    })
}

/// What a file would become, beside what it is.
fn preview_write(workspace: &Workspace, args: &WriteArgs) -> Result<ToolPreview, Error> {
    let place = workspace.to_write(&args.path)?;
    check_target(&place)?;
    let limits = workspace.limits();
    let found = workspace.files().open(&place.real).ok();
    let version = found.as_ref().map(|found| found.info.version);
    let mut old = Vec::new();
    if let Some(OpenFile { content, .. }) = found {
        let io = |source| Error::io("read", &place.shown, source);
        let most = limits.edit_file_bytes;
        content.take(most).read_to_end(&mut old).map_err(io)?;
    }
    let old = TextFile::decode(old).map_or_else(|_| String::new(), |file| file.text);
    let whole = Change {
        old: 0..old.len(),
        new: &args.content,
    };
    let diff = diff::unified(&old, &[whole], limits.diff_bytes);
    Ok(ToolPreview::new(diff.text, FileVersion::digest(version)))
}

/// A file that is overwritten.
struct OldFile {
    info: FileInfo,
    /// Its first bytes; `None` if it may be written and not read.
    sample: Option<Vec<u8>>,
}

/// What has the path now.
fn old_file(workspace: &Workspace, place: &Place) -> Result<Option<OldFile>, Error> {
    let io = |source| Error::io("write", &place.shown, source);
    // Anew: the place was resolved before its turn came.
    let found = workspace.files().resolve(&place.real).map_err(io)?;
    let Some(info) = found.info.filter(|_| found.real == place.real) else {
        return Ok(None);
    };
    check_kind(place, info.kind)?;
    let Ok(OpenFile { info, content }) = workspace.files().open(&place.real) else {
        return Ok(Some(OldFile { info, sample: None }));
    };
    check_kind(place, info.kind)?;
    let mut sample = Vec::new();
    content
        .take(SAMPLE_BYTES as u64)
        .read_to_end(&mut sample)
        .map_err(io)?;
    let sample = Some(sample);
    Ok(Some(OldFile { info, sample }))
}

/// The content as bytes, with what is kept of the old file.
fn in_the_manner_of<'a>(
    sample: &[u8],
    old_len: u64,
    content: &'a str,
    notes: &mut Vec<String>,
) -> Result<Cow<'a, [u8]>, String> {
    let whole = sample.len() as u64 >= old_len;
    let Sniffed::Text { encoding, bom } = sniff(sample, whole) else {
        return Ok(content.as_bytes().into());
    };
    let bom = bom > 0;
    let encoding = match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be if bom => {
            notes.push(format!("kept {}", encoding.name()));
            encoding
        }
        Encoding::BrokenUtf8 => {
            notes.push(format!("was {}, is UTF-8 now", encoding.name()));
            Encoding::Utf8
        }
        Encoding::Utf8 => encoding,
        other => return Err(text_file::other_encoding(other)),
    };
    let endings = if encoding == Encoding::Utf8 {
        LineEndings::of(sample)
    } else {
        let even = sample.len() & !1;
        let text = TextFile::decode(sample.get(..even).unwrap_or_default().to_vec());
        text.map_or(LineEndings::None, |file| {
            LineEndings::of(file.text.as_bytes())
        })
    };
    let content = match content.strip_prefix('\u{feff}') {
        Some(rest) if bom => rest,
        _ => content,
    };
    if bom && encoding == Encoding::Utf8 {
        notes.push("kept the byte order mark".to_owned());
    }
    let file = TextFile {
        text: String::new(),
        encoding,
        bom,
    };
    if endings == LineEndings::Crlf && !content.contains('\r') && content.contains('\n') {
        notes.push("kept CRLF line endings".to_owned());
        return Ok(file.encode(&to_crlf(content)).into());
    }
    Ok(if bom {
        file.encode(content).into()
    } else {
        file.encode_part(content)
    })
}

/// Puts the content, in pieces, in the place of what was there, if that is still what is there.
pub(crate) fn replace(
    workspace: &Workspace,
    place: &Place,
    content: &[&[u8]],
    expected: Option<FileVersion>,
    stop: &Stop,
) -> Result<FileVersion, Error> {
    let replaced = workspace.files().replace(&Replacement {
        real: &place.real,
        content,
        expected,
        stop,
    });
    match replaced {
        Ok(info) => Ok(info.version),
        Err(ReplaceError::Stopped) => Err(Error::Stopped),
        Err(ReplaceError::Io(source)) => Err(Error::io("write", &place.shown, source)),
        Err(ReplaceError::Changed) => Err(Error::Changed {
            path: place.shown.clone(),
            what: match expected {
                Some(_) => "changed while it was being written",
                None => "was created by somebody else",
            },
        }),
    }
}

fn check_target(place: &Place) -> Result<(), Error> {
    if let Some(info) = &place.info {
        check_kind(place, info.kind)?;
    }
    if place.folder_meant {
        Err(folder_error(place))
    } else {
        Ok(())
    }
}

fn check_kind(place: &Place, kind: FileKind) -> Result<(), Error> {
    match kind.unlike_a_file() {
        None => Ok(()),
        Some((what, _)) => Err(Error::WrongKind {
            path: place.shown.clone(),
            what,
            hint: " Name a file.",
        }),
    }
}

fn folder_error(place: &Place) -> Error {
    Error::WrongKind {
        path: place.shown.clone(),
        what: "a folder, not a file",
        hint: " Name a file.",
    }
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The tool `write`.
///
/// Runs alone in its batch, so that the calls of one reply act in the order in which the model made
/// them. Not run again after a crash.
#[derive(Clone, Debug)]
pub struct WriteTool(Workspace);

impl WriteTool {
    /// Writes in this workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self(workspace.clone())
    }
}

#[async_trait]
impl Tool for WriteTool {
    type Args = WriteArgs;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "write".into()
    }

    fn execution(&self) -> Execution {
        Execution::Sequential
    }

    fn replay(&self) -> Replay {
        Replay::Never
    }

    fn prepare(&self, arguments: Value) -> Value {
        aliases::apply("write", arguments)
    }

    fn effects(&self, cx: &ToolContext, args: &WriteArgs) -> ToolEffects {
        self.0.for_call(cx).writes(&args.path)
    }

    async fn preview(&self, cx: &ToolContext, args: WriteArgs) -> Option<ToolPreview> {
        let workspace = self.0.for_call(cx);
        blocking::run(cx, move |_| preview_write(&workspace, &args))
            .await
            .ok()
    }

    async fn call(&self, cx: &ToolContext, args: WriteArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let seen = workspace.seen(cx);
        let written =
            blocking::run(cx, move |stop| write_file(&workspace, &args, &seen, stop)).await?;
        let did = if written.created {
            "Created"
        } else {
            "Overwrote"
        };
        let notes = if written.notes.is_empty() {
            String::new()
        } else {
            format!(" ({})", written.notes.join("; "))
        };
        let text = format!(
            "{did} {}: {}, {}{notes}.",
            written.path,
            count(written.bytes, "byte"),
            count(written.lines, "line")
        );
        Ok(ToolOutput::text(text).with_details(json!({
            "path": names::shown_path(&written.real),
            "created": written.created,
            "bytes": written.bytes,
            "lines": written.lines,
        })))
    }
}
