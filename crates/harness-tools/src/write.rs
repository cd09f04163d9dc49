//! `write`: a whole file, in one step.

use std::fs::Metadata;
use std::io::Read as _;
use std::path::PathBuf;

use harness_core::{Execution, Replay, Tool, ToolContext, ToolError, ToolOutput, async_trait};
use rustix::fs::{Access as Right, AtFlags, accessat};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::atomic::NewFile;
use crate::blocking::{self, Stop};
use crate::error::Error;
use crate::file_lock;
use crate::folder::Folder;
use crate::place::Place;
use crate::read::wrong_kind;
use crate::seen::SeenFiles;
use crate::text_file::{Encoding, LineEndings, SAMPLE_BYTES, Sniffed, TextFile, sniff, to_crlf};
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
/// A file that this run read or wrote, and that changed since, is not overwritten.
pub fn write_file(
    workspace: &Workspace,
    args: &WriteArgs,
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<Written, Error> {
    let place = workspace.to_write(&args.path)?;
    check_target(&place)?;
    file_lock::hold(&place.real, || {
        write_locked(&place, &args.content, seen, stop)
    })
}

fn write_locked(
    place: &Place,
    content: &str,
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<Written, Error> {
    stop.check()?;
    let io = |source| Error::io("write", &place.shown, source);
    let Some((parent, name)) = place.real.parent().zip(place.real.file_name()) else {
        return Err(folder_error(place));
    };
    let folder = Folder::open_or_create(parent).map_err(io)?;
    let old = folder.metadata(name).map_err(io)?;
    let mut notes = Vec::new();
    let bytes = match &old {
        None => content.as_bytes().to_vec(),
        Some(old) => {
            check_kind(place, old)?;
            check_writable(place, &folder)?;
            let changed = seen
                .version(&place.real)
                .is_some_and(|version| !version.same_content(&FileVersion::of(old)));
            if changed {
                return Err(Error::Changed {
                    path: place.shown.clone(),
                    what: "changed since this run last saw it",
                });
            }
            match folder.open_file(name) {
                Ok(mut file) => {
                    let mut sample = Vec::new();
                    file.by_ref()
                        .take(SAMPLE_BYTES as u64)
                        .read_to_end(&mut sample)
                        .map_err(io)?;
                    in_the_manner_of(&sample, old.len(), content, &mut notes)
                }
                // A file that may be written and not read.
                Err(_) => content.as_bytes().to_vec(),
            }
        }
    };
    let version = replace(place, &folder, &bytes, old.as_ref(), stop)?;
    seen.record(&place.real, version);
    let created = old.is_none();
    let lines = content.split_inclusive('\n').count();
    Ok(Written {
        path: place.shown.clone(),
        real: place.real.clone(),
        created,
        bytes: bytes.len(),
        lines,
        notes,
    })
}

/// The content as bytes, with what is kept of the old file.
fn in_the_manner_of(
    sample: &[u8],
    old_len: u64,
    content: &str,
    notes: &mut Vec<String>,
) -> Vec<u8> {
    let whole = sample.len() as u64 >= old_len;
    let Sniffed::Text { encoding, bom } = sniff(sample, whole) else {
        return content.as_bytes().to_vec();
    };
    let kept = match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be if bom > 0 => {
            notes.push(format!("kept {}", encoding.name()));
            encoding
        }
        Encoding::Utf8 => Encoding::Utf8,
        other => {
            notes.push(format!("was {}, is UTF-8 now", other.name()));
            Encoding::Utf8
        }
    };
    let endings = match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be => {
            let even = sample.len() & !1;
            let text = TextFile::decode(sample.get(..even).unwrap_or_default().to_vec());
            text.map_or(LineEndings::None, |file| {
                LineEndings::of(file.text.as_bytes())
            })
        }
        _ => LineEndings::of(sample),
    };
    let mut text = content.to_owned();
    if endings == LineEndings::Crlf && !content.contains('\r') && content.contains('\n') {
        text = to_crlf(content);
        notes.push("kept CRLF line endings".to_owned());
    }
    let bom = bom > 0;
    if bom {
        if kept == Encoding::Utf8 {
            notes.push("kept the byte order mark".to_owned());
        }
        if text.starts_with('\u{feff}') {
            text.remove(0);
        }
    }
    let file = TextFile {
        text: String::new(),
        encoding: kept,
        bom,
    };
    file.encode(&text).unwrap_or_else(|| text.into_bytes())
}

/// Puts `content` in the place of what was there, if that is still what is there.
pub(crate) fn replace(
    place: &Place,
    folder: &Folder,
    content: &[u8],
    old: Option<&Metadata>,
    stop: &Stop,
) -> Result<FileVersion, Error> {
    let io = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::AlreadyExists => Error::Changed {
            path: place.shown.clone(),
            what: "was created by somebody else",
        },
        _ => Error::io("write", &place.shown, source),
    };
    let Some(name) = place.real.file_name() else {
        return Err(folder_error(place));
    };
    let new = NewFile::write(folder, content, old).map_err(io)?;
    stop.check()?;
    let now = folder.metadata(name).map_err(io)?;
    if now.as_ref().map(FileVersion::of) != old.map(FileVersion::of) {
        return Err(Error::Changed {
            path: place.shown.clone(),
            what: "changed while it was being written",
        });
    }
    let metadata = new.publish(name, old.is_some()).map_err(io)?;
    Ok(FileVersion::of(&metadata))
}

fn check_target(place: &Place) -> Result<(), Error> {
    if let Some(metadata) = &place.metadata {
        check_kind(place, metadata)?;
    }
    if place.folder_meant {
        Err(folder_error(place))
    } else {
        Ok(())
    }
}

fn check_kind(place: &Place, metadata: &Metadata) -> Result<(), Error> {
    match wrong_kind(metadata) {
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

/// Renaming over a file asks only the folder for permission. A file made read-only was meant to stay.
pub(crate) fn check_writable(place: &Place, folder: &Folder) -> Result<(), Error> {
    let Some(name) = place.real.file_name() else {
        return Err(folder_error(place));
    };
    accessat(folder.fd(), name, Right::WRITE_OK, AtFlags::empty())
        .map_err(|errno| Error::io("write", &place.shown, errno))
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
            "path": written.real,
            "created": written.created,
            "bytes": written.bytes,
            "lines": written.lines,
        })))
    }
}
