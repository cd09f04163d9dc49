//! Reading a file page by page, and cutting texts to a size.
//!
//! The first bytes are the limits: lines and bytes of a page, the `limit` of the call, how a stream is
//! cut. The rest is the file.

use std::sync::Arc;

use super::input::{Input, pieces};
use super::memory_files::MemoryFiles;
use crate::blocking::Stop;
use crate::invisible;
use crate::limits::Limits;
use crate::lines::{LineWindow, Window};
use crate::picture;
use crate::read::{ReadArgs, ReadResult, TextRead, read_file};
use crate::seen::SeenFiles;
use crate::text_file::{Sniffed, decode_piece, sniff};
use crate::truncate::{around, head, join_lines, tail};
use crate::workspace::Workspace;

/// A page more proves nothing more.
const MAX_PAGES: usize = 48;

/// - Pages read by following `next_offset` are the file's text: no line is missing, doubled or made
///   up, but what a line has beyond the limit. Each page is within the limits and full.
/// - The number of lines is right, and an offset past the end is an error.
/// - Text has no NUL.
/// - A window of lines does not depend on the pieces in which the text came.
/// - What cuts a text keeps its bound and cuts at a character.
pub fn check_paging(data: &[u8]) {
    let mut input = Input::new(data);
    let limits = Limits {
        read_lines: 1 + input.below(9),
        output_bytes: 4 + input.below(100),
        ..Limits::default()
    };
    let limit = i64::from(input.byte() % 12).checked_sub(1);
    let limit = limit.filter(|limit| *limit >= 0);
    let seed = input.byte();
    let content = input.rest();
    check_cutting(&String::from_utf8_lossy(content), &limits);
    check_window(content, seed, &limits);
    check_pages(content, limit, &limits);
}

fn check_pages(content: &[u8], limit: Option<i64>, limits: &Limits) {
    if picture::format_of(content).is_some() {
        return;
    }
    let text = match sniff(content, true) {
        Sniffed::Binary(_) => None,
        Sniffed::Text { encoding, bom } => {
            let mut text = String::new();
            let mut decoder = encoding.stream_decoder();
            decode_piece(&mut decoder, &content[bom..], true, &mut text);
            Some(text)
        }
    };
    let files = MemoryFiles::new();
    files.put("/ws/file", content);
    let workspace = Workspace::new("/ws")
        .with_files(Arc::new(files))
        .with_limits(limits.clone());
    let page = |offset: usize| {
        let args = ReadArgs {
            path: "file".to_owned(),
            offset: i64::try_from(offset).ok(),
            limit,
        };
        match read_file(&workspace, &args, &SeenFiles::new(), &Stop::default()) {
            Ok(ReadResult::Text(page)) => Some(page),
            Ok(ReadResult::Picture(_)) | Err(_) => None,
        }
    };
    let Some(text) = text else {
        assert!(page(1).is_none(), "a binary file was shown");
        return;
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let wanted = limit.and_then(|limit| usize::try_from(limit).ok());
    let max_lines = wanted
        .filter(|limit| *limit > 0)
        .map_or(limits.read_lines, |limit| limit.min(limits.read_lines));
    if lines.is_empty() {
        let page = page(1);
        assert!(page.is_some_and(|page| page.text.is_empty() && page.next_offset.is_none()));
        return;
    }
    assert!(page(lines.len() + 1).is_none(), "past the end");
    let mut first = 0;
    for _ in 0..MAX_PAGES {
        let (expected, count) = expected_page(&lines[first..], max_lines, limits.output_bytes);
        let page = page(first + 1);
        if expected.contains('\0') {
            assert!(page.is_none(), "NUL was shown");
            return;
        }
        let next = (first + count < lines.len()).then_some((first + count + 1) as u64);
        let shown = page.map(|page| {
            let TextRead {
                text,
                first_line,
                lines,
                total_lines,
                next_offset,
                ..
            } = page;
            (text, first_line, lines, total_lines, next_offset)
        });
        let (expected, _) = invisible::shown(&expected, None, None);
        let (line, total) = (first as u64 + 1, Some(lines.len() as u64));
        assert_eq!(
            shown,
            Some((expected.into_owned(), line, count as u64, total, next))
        );
        if next.is_none() {
            return;
        }
        first += count;
    }
}

/// The page that begins with these lines, and how many it has.
fn expected_page(lines: &[&str], max_lines: usize, max_bytes: usize) -> (String, usize) {
    let mut page = String::new();
    for (count, line) in lines.iter().take(max_lines).enumerate() {
        if page.len() + line.len() > max_bytes {
            if count == 0 {
                return (head(line, max_bytes).to_owned(), 1);
            }
            return (page, count);
        }
        page.push_str(line);
    }
    (page, lines.len().min(max_lines))
}

fn check_window(content: &[u8], seed: u8, limits: &Limits) {
    let window = |pieces: &[&[u8]]| {
        let first = 1 + u64::from(seed % 4);
        let mut window = LineWindow::new(first, limits.read_lines as u64, limits.output_bytes);
        for piece in pieces {
            window.push(piece);
        }
        let Window {
            text,
            shown,
            total,
            full,
            cut_line_bytes,
            ..
        } = window.finish(true);
        (text, shown, total, full, cut_line_bytes)
    };
    assert_eq!(
        window(&pieces(content, seed)),
        window(&[content]),
        "a window in pieces"
    );
}

fn check_cutting(text: &str, limits: &Limits) {
    let (max_lines, max_bytes) = (limits.read_lines, limits.output_bytes);
    let start = head(text, max_bytes);
    assert!(text.starts_with(start) && start.len() <= max_bytes);
    assert!(start.len() == text.len() || start.len() + 4 > max_bytes);

    let end = tail(text, max_lines, max_bytes);
    assert!(text.ends_with(end) && end.len() <= max_bytes);
    assert!(end.split_inclusive('\n').count() <= max_lines);
    assert!(text.is_empty() || !end.is_empty());

    let lines: Vec<&str> = text.split('\n').collect();
    let (joined, count) = join_lines(&lines, max_bytes);
    assert!(joined.len() <= max_bytes && count >= 1);
    let first = lines.first().copied().unwrap_or_default();
    if first.len() <= max_bytes {
        assert_eq!(joined, lines[..count].join("\n"));
        let more = lines.get(count).map(|line| joined.len() + 1 + line.len());
        assert!(more.is_none_or(|more| more > max_bytes), "room was left");
    } else {
        assert!(count == 1 && first.starts_with(&joined));
    }

    let whole = first.chars().count();
    for at in [0, first.len() / 2, first.len()] {
        let shown = around(first, at, max_bytes);
        if whole <= max_bytes {
            assert_eq!(shown, first);
            continue;
        }
        let notice = format!(" [line of {whole} characters]");
        let window = shown.strip_suffix(&notice).unwrap_or_default();
        let window = window.strip_prefix('…').unwrap_or(window);
        let window = window.strip_suffix('…').unwrap_or(window);
        let found = first.contains(window) && window.chars().count() >= max_bytes - 2;
        assert!(found, "{shown:?} is no part of {first:?}");
        assert!(shown.chars().count() <= max_bytes + 2 + notice.chars().count());
    }
}
