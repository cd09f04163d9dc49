//! A file and edits for it, made from bytes so that the edits nearly fit.
//!
//! Bytes 0xFF part the file and up to three edits; a byte 0xFE parts what an edit looks for and what
//! it writes. Neither byte is ever in UTF-8.

use super::input::Input;
use crate::edit::Edit;
use crate::folded::is_blank;
use crate::lookalike;
use crate::text_file::{Encoding, TextFile, to_crlf, to_lf};

/// A file and what is to be done to it.
#[derive(Debug)]
pub(super) struct Recipe {
    /// The file, if its bytes can be read as text without loss.
    pub(super) file: Option<TextFile>,
    /// The text of the file.
    pub(super) text: String,
    pub(super) edits: Vec<Edit>,
}

impl Recipe {
    pub(super) fn read(data: &[u8]) -> Self {
        let mut sections = data.split(|byte| *byte == 0xff);
        let (file, text) = read_file(sections.next().unwrap_or_default());
        let edits = sections
            .take(3)
            .map(|section| read_edit(section, &text))
            .collect();
        Self { file, text, edits }
    }
}

/// One byte: the line endings, and the encoding. Then the text.
fn read_file(section: &[u8]) -> (Option<TextFile>, String) {
    let mut input = Input::new(section);
    let kind = input.byte();
    let raw = input.rest();
    let text = String::from_utf8_lossy(raw);
    let text = match kind % 4 {
        0 => text.into_owned(),
        1 => to_crlf(&text),
        2 => every_other_crlf(&text),
        _ => to_lf(&text).into_owned(),
    };
    let (encoding, bom) = match kind / 4 % 8 {
        1 => (Encoding::Utf8, true),
        2 => (Encoding::Utf16Le, true),
        3 => (Encoding::Utf16Be, true),
        4 => (Encoding::Utf16Le, false),
        5 => {
            // As it came, with whatever is no UTF-8.
            let file = TextFile::decode(raw.to_vec()).ok();
            let text = file.as_ref().map_or(text, |file| file.text.clone());
            return (file, text);
        }
        _ => (Encoding::Utf8, false),
    };
    let planned = TextFile {
        text,
        encoding,
        bom,
    };
    let bytes = planned.encode(&planned.text);
    match TextFile::decode(bytes) {
        Ok(file) => {
            let text = file.text.clone();
            (Some(file), text)
        }
        Err(_) => (None, planned.text),
    }
}

fn every_other_crlf(text: &str) -> String {
    let mut out = String::new();
    for (number, line) in to_lf(text).split_inclusive('\n').enumerate() {
        match line.strip_suffix('\n') {
            Some(body) if number % 2 == 0 => {
                out.push_str(body);
                out.push_str("\r\n");
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// One byte of flags: 1 every occurrence, 2 the old text is written out, 4 it is of whole lines.
/// Unless written out, where it begins and how long it is follow, and changes to it, two bytes each.
fn read_edit(section: &[u8], text: &str) -> Edit {
    let mut parts = section.splitn(2, |byte| *byte == 0xfe);
    let mut input = Input::new(parts.next().unwrap_or_default());
    let flags = input.byte();
    let old_text = if flags & 2 == 2 {
        String::from_utf8_lossy(input.rest()).into_owned()
    } else {
        let mut old = cut(text, &mut input, flags & 4 == 4);
        for _ in 0..8 {
            let Some(change) = input.maybe_byte() else {
                break;
            };
            old = changed(&old, change, input.byte());
        }
        old
    };
    let new_text = parts.next().map_or_else(String::new, |part| {
        let mut input = Input::new(part);
        let kind = input.byte();
        if kind.is_multiple_of(4) {
            return String::from_utf8_lossy(input.rest()).into_owned();
        }
        let mut new = old_text.clone();
        let at = floor(&new, input.position(new.len()));
        let end = match kind % 4 {
            1 => at,
            2 => floor(&new, at + usize::from(input.byte())),
            _ => new.len(),
        };
        new.replace_range(at..end, &String::from_utf8_lossy(input.rest()));
        new
    });
    Edit {
        old_text,
        new_text,
        replace_all: (flags & 1 == 1).then_some(true),
    }
}

fn cut(text: &str, input: &mut Input<'_>, whole_lines: bool) -> String {
    let mut start = floor(text, input.position(text.len()));
    let mut end = floor(text, start + usize::from(input.byte()));
    if whole_lines {
        start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    }
    text[start..end].to_owned()
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// The text as somebody may write it who has seen it.
fn changed(text: &str, change: u8, how: u8) -> String {
    let blank = if how.is_multiple_of(2) { " " } else { "\t" };
    let chars = |each: fn(char) -> char| text.chars().map(each).collect();
    match change % 14 {
        0 => lines(text, |body| format!("{body}{blank}")),
        1 => lines(text, |body| body.trim_end_matches(is_blank).to_owned()),
        2 => to_crlf(text),
        3 => to_lf(text).into_owned(),
        4 => chars(lookalike::fold),
        5 => chars(|c| match c {
            '"' => '\u{201c}',
            '\'' => '\u{2019}',
            '-' => '\u{2013}',
            ' ' => '\u{a0}',
            other => other,
        }),
        6 => lines(text, |body| {
            let depth = if body.trim().is_empty() {
                0
            } else {
                usize::from(how % 5)
            };
            format!("{}{body}", blank.repeat(depth))
        }),
        7 => lines(text, |body| {
            let less = usize::from(how % 5).min(body.len() - body.trim_start().len());
            body.get(less..).unwrap_or(body).to_owned()
        }),
        8 => text.strip_suffix('\n').unwrap_or(text).to_owned(),
        9 => format!("{text}\n"),
        10 => text.chars().skip(1).collect(),
        11 => text
            .chars()
            .rev()
            .skip(1)
            .collect::<Vec<_>>()
            .iter()
            .rev()
            .collect(),
        12 => every_other_crlf(text),
        _ => {
            let at = floor(text, usize::from(how) % (text.len() + 1));
            let more = if how % 3 == 2 { "\u{200b}" } else { blank };
            format!("{}{more}{}", &text[..at], &text[at..])
        }
    }
}

/// Changes each line, but not its ending.
fn lines(text: &str, change: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\r', '\n']);
        out.push_str(&change(body));
        out.push_str(&line[body.len()..]);
    }
    out
}
