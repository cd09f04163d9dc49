//! `read`: some lines of a file, or a picture.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::path::Path;

use harness_core::{
    Execution, Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::blocking::{self, Stop};
use crate::error::Error;
use crate::files::OpenFile;
use crate::invisible;
use crate::lines::{Full, LineWindow, Window};
use crate::names;
use crate::picture::{self, Picture};
use crate::place::Place;
use crate::seen::SeenFiles;
use crate::text_file::{Encoding, SAMPLE_BYTES, Sniffed, decode_piece, sniff};
use crate::workspace::Workspace;

/// How much is read at a time after the first piece.
const PIECE_BYTES: usize = 256 * 1024;

/// Reads a text file or a picture (png, jpeg, gif, webp). Shows at most 2000 lines or 50 KiB, without
/// line numbers; a notice in brackets at the end says how to go on.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ReadArgs {
    /// Absolute, relative to the workspace, or from ~.
    pub path: String,
    /// First line to show, from 1.
    pub offset: Option<i64>,
    /// Most lines to show.
    pub limit: Option<i64>,
}

/// What was read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadResult {
    /// Lines of text.
    Text(TextRead),
    /// A picture.
    Picture(Picture),
}

/// Lines of a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextRead {
    /// The lines as they are in the file, with their endings; the byte order mark left out.
    pub text: String,
    /// What is to be known about them, one sentence each: where to go on, the encoding.
    pub notices: Vec<String>,
    /// The first line shown, from 1.
    pub first_line: u64,
    /// How many lines are shown; the last may be cut.
    pub lines: u64,
    /// How many lines the file has, if they were counted.
    pub total_lines: Option<u64>,
    /// The `offset` to go on with, if there is more.
    pub next_offset: Option<u64>,
}

/// Reads a file.
///
/// The file is read as a stream: neither its size nor the length of its lines costs memory. Folders,
/// pipes and devices are refused before they are opened. An `offset` below 1 means 1; a `limit` below
/// 1, or above the limit of the workspace, means that limit.
pub fn read_file(
    workspace: &Workspace,
    args: &ReadArgs,
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<ReadResult, Error> {
    let place = workspace.to_read(&args.path)?;
    read_place(workspace, place, args, seen, stop)
}

fn read_place(
    workspace: &Workspace,
    place: Place,
    args: &ReadArgs,
    seen: &SeenFiles,
    stop: &Stop,
) -> Result<ReadResult, Error> {
    read_as(workspace, place, args, seen, stop, None)
}

/// `known` is the encoding, if the first bytes do not tell it.
fn read_as(
    workspace: &Workspace,
    place: Place,
    args: &ReadArgs,
    seen: &SeenFiles,
    stop: &Stop,
    known: Option<Encoding>,
) -> Result<ReadResult, Error> {
    let limits = workspace.limits();
    let OpenFile {
        info,
        content: mut file,
    } = open_regular(workspace, &place)?;
    let io = |source| Error::io("read", &place.shown, source);

    let mut first = Vec::new();
    // One byte more than the file has, so that a small file is read, and seen to end, in one go.
    let guess = usize::try_from(info.size)
        .unwrap_or(usize::MAX)
        .clamp(511, SAMPLE_BYTES);
    first.reserve_exact(guess + 1);
    let whole = fill(&mut file, &mut first, SAMPLE_BYTES).map_err(io)?;

    if let Some(format) = picture::format_of(&first) {
        if info.size > limits.image_file_bytes {
            return Err(Error::TooLarge {
                path: place.shown,
                bytes: info.size,
                limit: limits.image_file_bytes,
                hint: "Scale the picture down first.",
            });
        }
        if !whole {
            file.take(limits.image_file_bytes)
                .read_to_end(&mut first)
                .map_err(io)?;
        }
        stop.check()?;
        return picture::prepare(&first, format, limits)
            .map(ReadResult::Picture)
            .map_err(|reason| Error::Content {
                path: place.shown,
                reason,
            });
    }
    let (encoding, bom) = match sniff(&first, whole) {
        Sniffed::Text { encoding, bom } => (known.unwrap_or(encoding), bom),
        Sniffed::Binary(kind) => return Err(binary(&place, kind, info.size)),
    };

    let first_line = args
        .offset
        .and_then(|n| u64::try_from(n).ok())
        .unwrap_or(1)
        .max(1);
    let max_lines = limits.read_lines as u64;
    let lines = args
        .limit
        .and_then(|n| u64::try_from(n).ok())
        .filter(|n| *n >= 1);
    let lines = lines.map_or(max_lines, |n| n.min(max_lines));
    let mut source = Pieces {
        window: LineWindow::new(first_line, lines, limits.output_bytes),
        decoder: (encoding != Encoding::Utf8).then(|| encoding.stream_decoder()),
        decoded: String::new(),
    };
    source.push(first.get(bom..).unwrap_or_default(), whole);
    let mut ended = whole;
    let mut past_window = 0_u64;
    let mut piece = first;
    while !ended && past_window < limits.read_scan_bytes {
        stop.check()?;
        piece.clear();
        ended = fill(&mut file, &mut piece, PIECE_BYTES).map_err(io)?;
        if source.window.is_full() {
            past_window += piece.len() as u64;
        }
        source.push(&piece, ended);
    }
    let window = source.window.finish(ended);
    if !window.is_utf8 {
        // The first bytes were UTF-8, and these are not.
        let known = Some(Encoding::BrokenUtf8);
        return read_as(workspace, place, args, seen, stop, known);
    }
    if memchr::memchr(0, window.text.as_bytes()).is_some() {
        return Err(binary(&place, None, info.size));
    }
    seen.record(&place.real, info.version);
    describe(&place, args, window, (encoding, bom), info.size).map(ReadResult::Text)
}

/// Opens what must be a regular file.
pub(crate) fn open_regular(workspace: &Workspace, place: &Place) -> Result<OpenFile, Error> {
    let wrong = |what, hint| Error::WrongKind {
        path: place.shown.clone(),
        what,
        hint,
    };
    let Some(info) = &place.info else {
        return Err(Error::NotFound {
            path: place.shown.clone(),
            similar: Vec::new(),
        });
    };
    if let Some((what, hint)) = info.kind.unlike_a_file() {
        return Err(wrong(what, hint));
    }
    if place.folder_meant {
        return Err(wrong(
            "a file, not a folder",
            " Leave out the slash at the end.",
        ));
    }
    let file = workspace.files().open(&place.real);
    let file = file.map_err(|source| Error::io("open", &place.shown, source))?;
    // Between the check and the opening something else may have taken the name.
    match file.info.kind.unlike_a_file() {
        Some((what, hint)) => Err(wrong(what, hint)),
        None => Ok(file),
    }
}

fn binary(place: &Place, kind: Option<&'static str>, bytes: u64) -> Error {
    let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
    Error::Content {
        path: place.shown.clone(),
        reason: format!("binary file{kind}, {bytes} bytes; its content is not shown"),
    }
}

/// Reads until `bytes` has `upto` bytes; true if the file ended.
fn fill(file: &mut impl Read, bytes: &mut Vec<u8>, upto: usize) -> std::io::Result<bool> {
    while bytes.len() < upto {
        let missing = (upto - bytes.len()) as u64;
        match file.by_ref().take(missing).read_to_end(bytes) {
            Ok(_) => return Ok(bytes.len() < upto),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

struct Pieces {
    window: LineWindow,
    decoder: Option<encoding_rs::Decoder>,
    decoded: String,
}

impl Pieces {
    fn push(&mut self, piece: &[u8], last: bool) {
        match &mut self.decoder {
            None => self.window.push(piece),
            Some(decoder) => {
                self.decoded.clear();
                decode_piece(decoder, piece, last, &mut self.decoded);
                self.window.push(self.decoded.as_bytes());
            }
        }
    }
}

fn describe(
    place: &Place,
    args: &ReadArgs,
    window: Window,
    (encoding, bom): (Encoding, usize),
    file_bytes: u64,
) -> Result<TextRead, Error> {
    let Window {
        text,
        shown,
        total,
        full,
        cut_line_bytes,
        ..
    } = window;
    let mut notices = Vec::new();
    if place.shown != names::shown(OsStr::new(&args.path)) {
        notices.push(format!(
            "`{}` was taken for `{}`, which looks the same.",
            args.path, place.shown
        ));
    }
    match total {
        Some(0) => notices.push("The file is empty.".to_owned()),
        Some(total) if shown.start > total => {
            let lines = if total == 1 { "line" } else { "lines" };
            return Err(Error::Argument(format!(
                "`offset` {} is past the end: `{}` has {total} {lines}.",
                shown.start, place.shown
            )));
        }
        _ => {}
    }
    let of = match total {
        Some(total) => format!("of {total}"),
        None => format!("of a file of {file_bytes} bytes"),
    };
    let next_offset = match full {
        None => None,
        Some(Full::InLine) => {
            let line = shown.start;
            let cut = text.len();
            let bytes = cut_line_bytes.unwrap_or_default();
            // Each stands for one invalid byte, or for a few: rather some twice than one not at all.
            let replaced = match encoding {
                Encoding::BrokenUtf8 => text.matches('\u{fffd}').count(),
                _ => 0,
            };
            notices.push(format!(
                "Line {line} {of} has {bytes} bytes{}; its first {cut} are shown. For the next ones: \
                 {} | tail -c +{} | head -c {cut}",
                if total.is_none() { " or more" } else { "" },
                line_command(line, &place.real, encoding, bom),
                cut - 2 * replaced + 1,
            ));
            total.is_none_or(|total| total > line).then_some(line + 1)
        }
        Some(Full::Lines | Full::Bytes) => Some(shown.end),
    };
    if let Some(next) = next_offset {
        if full != Some(Full::InLine) {
            notices.push(format!(
                "Lines {}-{} {of} are shown.",
                shown.start,
                shown.end - 1
            ));
        }
        notices.push(format!("Use offset={next} to go on."));
    }
    match encoding {
        Encoding::Utf8 if text.contains('\u{fffd}') => {
            notices.push("U+FFFD may stand for bytes that are not UTF-8.".to_owned());
        }
        Encoding::Utf8 => {}
        Encoding::BrokenUtf8 => {
            notices.push("Not all of it is UTF-8; invalid bytes are shown as U+FFFD.".to_owned());
        }
        other => notices.push(format!("The file is {}, shown as UTF-8.", other.name())),
    }
    if !text.is_empty() && text.trim().is_empty() {
        // A result that is blank would be told as one that is empty.
        let lines = shown.end - shown.start;
        let lines = if lines == 1 { "line is" } else { "lines are" };
        notices.push(format!("The {lines} blank."));
    }
    let (text, hidden) = match invisible::shown(&text, Some("the file"), Some(shown.start)) {
        (Cow::Owned(without), notice) => (without, notice),
        (Cow::Borrowed(_), notice) => (text, notice),
    };
    notices.extend(hidden);
    Ok(TextRead {
        text,
        notices,
        first_line: shown.start,
        lines: shown.end - shown.start,
        total_lines: total,
        next_offset,
    })
}

/// A command that gives a line as it is shown.
fn line_command(line: u64, real: &Path, encoding: Encoding, bom: usize) -> String {
    let file = format!("'{}'", real.to_string_lossy().replace('\'', r"'\''"));
    let from = match encoding {
        Encoding::Utf8 | Encoding::BrokenUtf8 if bom == 0 => {
            return format!("sed -n {line}p {file}");
        }
        Encoding::Utf8 | Encoding::BrokenUtf8 => {
            return format!("tail -c +{} {file} | sed -n {line}p", bom + 1);
        }
        // With a mark, the mark says which of the two it is, and is left out.
        Encoding::Utf16Le | Encoding::Utf16Be if bom > 0 => "UTF-16",
        other => other.name(),
    };
    format!("iconv -f {from} -t UTF-8 {file} | sed -n {line}p")
}

impl TextRead {
    /// The text, a blank line, and the notices in brackets.
    pub fn render(&self) -> String {
        let mut out = self.text.clone();
        if !self.notices.is_empty() {
            if !out.is_empty() {
                if !out.ends_with('\n') {
                    out.push('\n');
                }
                out.push('\n');
            }
            out.push('[');
            out.push_str(&self.notices.join(" "));
            out.push(']');
        }
        out
    }
}

/// The tool `read`.
///
/// Runs beside other calls, and may be run again after a crash.
#[derive(Clone, Debug)]
pub struct ReadTool(Workspace);

impl ReadTool {
    /// Reads in this workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self(workspace.clone())
    }
}

#[async_trait]
impl Tool for ReadTool {
    type Args = ReadArgs;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "read".into()
    }

    fn execution(&self) -> Execution {
        Execution::Parallel
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn prepare(&self, arguments: Value) -> Value {
        aliases::apply("read", arguments)
    }

    fn effects(&self, cx: &ToolContext, args: &ReadArgs) -> ToolEffects {
        self.0.for_call(cx).reads(&args.path)
    }

    async fn call(&self, cx: &ToolContext, args: ReadArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let seen = workspace.seen(cx);
        let read = match workspace.quick_to_read(&args.path) {
            Some(place) => read_place(&workspace, place, &args, &seen, &Stop::default())
                .map_err(Error::into_tool_error)?,
            None => {
                blocking::run(cx, move |stop| read_file(&workspace, &args, &seen, stop)).await?
            }
        };
        Ok(match read {
            ReadResult::Picture(picture) => {
                ToolOutput::text(picture.note).with_image(picture.image)
            }
            ReadResult::Text(read) => ToolOutput::text(read.render()).with_details(json!({
                "first_line": read.first_line,
                "lines": read.lines,
                "total_lines": read.total_lines,
                "next_offset": read.next_offset,
            })),
        })
    }
}
