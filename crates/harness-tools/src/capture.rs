//! The output of a command: its end in memory, all of it in a file.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use harness_core::{Masker, Secrets};
use tempfile::TempPath;

use crate::limits::Limits;
use crate::processes::OutputStream;
use crate::terminal::{Screen, Stream};
use crate::truncate::tail;

/// How much of the output's end is shown while a command runs, in bytes and lines.
const PREVIEW: (usize, usize) = (10, 2_048);

/// Collects the output of a command. Memory is bounded by a few times the limit of a result.
#[derive(Debug)]
pub(crate) struct Capture {
    stdout: Stream,
    stderr: Stream,
    screen: Screen,
    /// Behind the screen: what a person would see is what must not show a secret, whatever control
    /// sequences were in it.
    masker: Masker,
    /// The end of the cleaned output since it was taken last; all of it until there is a file.
    end: String,
    fresh: String,
    /// Since it was taken last, as the line breaks are.
    bytes: u64,
    line_breaks: u64,
    max_bytes: usize,
    max_lines: usize,
    folder: PathBuf,
    file: Option<File>,
    /// The file's path, while it goes away with the value.
    temporary: Option<TempPath>,
    /// The file's path, once it stays.
    kept: Option<PathBuf>,
    file_room: u64,
    file_problem: Option<String>,
}

/// What was collected since it was taken last.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The last lines of the cleaned output.
    pub(crate) text: String,
    /// Lines in all.
    pub(crate) lines: u64,
    /// Bytes of the cleaned output in all.
    pub(crate) bytes: u64,
    /// The file with all of the output, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// What the file lacks, in words.
    pub(crate) file_problem: Option<String>,
}

impl Capture {
    pub(crate) fn new(limits: &Limits, folder: PathBuf, secrets: &Secrets) -> Self {
        Self {
            stdout: Stream::default(),
            stderr: Stream::default(),
            screen: Screen::default(),
            masker: secrets.masker(),
            end: String::new(),
            fresh: String::new(),
            bytes: 0,
            line_breaks: 0,
            max_bytes: limits.output_bytes,
            max_lines: limits.bash_lines,
            folder,
            file: None,
            temporary: None,
            kept: None,
            file_room: limits.bash_spill_bytes,
            file_problem: None,
        }
    }

    /// Whether taking more means writing to a file.
    pub(crate) fn writes_file(&self) -> bool {
        self.file.is_some() || self.bytes as usize + 128 * 1024 > self.max_bytes
    }

    /// Has the output written to a file from the beginning, also while it is little. The file stays.
    /// `None` if there can be none.
    pub(crate) fn keep_from_start(&mut self) -> Option<PathBuf> {
        let opened = open_file(&self.folder);
        match opened.and_then(|(file, path)| Ok((file, path.keep()?))) {
            Ok((file, path)) => {
                self.file = Some(file);
                self.kept = Some(path);
            }
            Err(error) => self.file_problem = Some(format!("the rest could not be kept: {error}")),
        }
        self.kept.clone()
    }

    /// Takes what a stream gave.
    pub(crate) fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        let from = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        from.push(bytes, false, &mut self.screen, &mut self.fresh);
        self.settle(false);
    }

    fn settle(&mut self, last: bool) {
        let mut raw = std::mem::take(&mut self.fresh);
        let mut fresh = self.masker.push(&raw);
        if last {
            let rest = self.masker.finish();
            if !rest.is_empty() {
                fresh.to_mut().push_str(&rest);
            }
        }
        self.bytes += fresh.len() as u64;
        self.line_breaks += memchr::memchr_iter(b'\n', fresh.as_bytes()).count() as u64;
        self.end.push_str(&fresh);
        if self.file.is_some() {
            self.write(&fresh);
        } else if self.file_problem.is_none()
            && (self.bytes > self.max_bytes as u64 || self.lines() > self.max_lines as u64)
        {
            match open_file(&self.folder) {
                Ok((file, path)) => {
                    self.file = Some(file);
                    self.temporary = Some(path);
                    let all = std::mem::take(&mut self.end);
                    self.write(&all);
                    self.end = all;
                }
                Err(error) => {
                    self.file_problem = Some(format!("the rest could not be kept: {error}"));
                }
            }
        }
        // Twice the limit is kept, so that the line that was cut here is never taken for whole.
        if self.end.len() > self.max_bytes * 4 {
            let start = self
                .end
                .ceil_char_boundary(self.end.len() - self.max_bytes * 2);
            self.end.drain(..start);
        }
        drop(fresh);
        raw.clear();
        self.fresh = raw;
    }

    fn write(&mut self, text: &str) {
        let Some(file) = &mut self.file else { return };
        let room = usize::try_from(self.file_room).unwrap_or(usize::MAX);
        let fits = text.floor_char_boundary(room);
        if fits > 0 {
            match file.write_all(text.as_bytes().get(..fits).unwrap_or_default()) {
                Ok(()) => self.file_room -= fits as u64,
                Err(error) => {
                    self.file_room = 0;
                    self.file_problem = Some(format!("it is not complete: {error}"));
                }
            }
        }
        if fits < text.len() {
            self.file_room = 0;
            self.file_problem
                .get_or_insert_with(|| "it holds only the beginning".to_owned());
        }
    }

    fn lines(&self) -> u64 {
        self.line_breaks + u64::from(!self.end.is_empty() && !self.end.ends_with('\n'))
    }

    /// The last lines so far.
    pub(crate) fn preview(&self) -> String {
        let mut text = tail(&self.end, PREVIEW.0, PREVIEW.1).to_owned();
        text.push_str(&self.masker.preview(&self.screen.line()));
        tail(&text, PREVIEW.0, PREVIEW.1).to_owned()
    }

    /// What came since it was taken last, with the unfinished line as it is now. That line comes
    /// again when it is finished.
    pub(crate) fn take(&mut self) -> Captured {
        let unfinished = self.masker.preview(&self.screen.line());
        let bytes = self.bytes + unfinished.len() as u64;
        self.end.push_str(&unfinished);
        let captured = Captured {
            text: tail(&self.end, self.max_lines, self.max_bytes).to_owned(),
            lines: self.lines(),
            bytes,
            file: self.kept.clone(),
            file_problem: self.file_problem.clone(),
        };
        self.end.clear();
        (self.bytes, self.line_breaks) = (0, 0);
        captured
    }

    /// Ends both streams and gives what came since it was taken last. The file, if there is one,
    /// stays.
    pub(crate) fn finish(&mut self) -> Captured {
        let mut fresh = std::mem::take(&mut self.fresh);
        self.stdout.push(b"", true, &mut self.screen, &mut fresh);
        self.stderr.push(b"", true, &mut self.screen, &mut fresh);
        self.screen.take_line(&mut fresh);
        self.fresh = fresh;
        self.settle(true);
        match self.temporary.take().map(TempPath::keep) {
            None => {}
            Some(Ok(path)) => self.kept = Some(path),
            Some(Err(error)) => {
                self.file_problem = Some(format!("the rest could not be kept: {}", error.error));
            }
        }
        self.take()
    }
}

fn open_file(folder: &Path) -> io::Result<(File, TempPath)> {
    let file = tempfile::Builder::new()
        .prefix("harness-bash-")
        .suffix(".log")
        .tempfile_in(folder)?;
    Ok(file.into_parts())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_12_long_multibyte_output_is_kept_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "\u{2192}".repeat(50_000);
        let mut capture = Capture::new(
            &Limits::default(),
            folder.path().to_owned(),
            &Secrets::new(),
        );
        for piece in text.as_bytes().chunks(4_096) {
            capture.push(OutputStream::Stdout, piece);
        }
        let captured = capture.finish();
        let file = captured.file.expect("a file");
        assert_eq!(std::fs::read_to_string(file).expect("text"), text);
        assert!(text.ends_with(&captured.text) && captured.text.len() > 51_000);
        assert_eq!((captured.lines, captured.bytes), (1, 150_000));
    }

    #[test]
    fn what_was_taken_does_not_come_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut capture = Capture::new(
            &Limits::default(),
            folder.path().to_owned(),
            &Secrets::new(),
        );
        let file = capture.keep_from_start().expect("a file");
        let mut taken = Vec::new();
        for piece in ["one\ntw", "", "o\nthree\n"] {
            capture.push(OutputStream::Stdout, piece.as_bytes());
            let captured = capture.take();
            taken.push((captured.text, captured.lines, captured.bytes));
        }
        let expected = [("one\ntw", 2, 6), ("tw", 1, 2), ("two\nthree\n", 2, 10)];
        let expected = expected.map(|(text, lines, bytes)| (text.to_owned(), lines, bytes));
        assert_eq!(taken, expected);
        capture.push(OutputStream::Stderr, b"last");
        let captured = capture.finish();
        assert_eq!(
            (captured.text.as_str(), captured.file),
            ("last", Some(file.clone()))
        );
        let whole = std::fs::read_to_string(file).expect("text");
        assert_eq!(whole, "one\ntwo\nthree\nlast");
    }

    /// Not in the file, not in the text, not in between: wherever the output is cut, and whatever colours it has.
    #[test]
    fn secrets_are_masked_wherever_the_output_is_cut() {
        let secrets: Secrets = ["sk-canary-0123456789"].into_iter().collect();
        let text = "one sk-canary-0123456789\nsk-\u{1b}[1mcanary\u{1b}[0m-0123456789 two sk-canary-0123456789";
        for cut in 1..text.len() {
            let folder = tempfile::tempdir().expect("a folder");
            let folder = folder.path().to_owned();
            let mut capture = Capture::new(&Limits::default(), folder, &secrets);
            let file = capture.keep_from_start().expect("a file");
            let mut seen = String::new();
            for piece in text.as_bytes().chunks(cut) {
                capture.push(OutputStream::Stdout, piece);
                seen.push_str(&capture.preview());
                seen.push_str(&capture.take().text);
            }
            let end = capture.finish();
            assert!(end.text.ends_with("[key] two [key]"), "{end:?}");
            assert!(!seen.contains("cana"), "{seen}");
            let whole = std::fs::read_to_string(file).expect("text");
            assert_eq!(whole, "one [key]\n[key] two [key]", "{cut}");
        }
    }

    #[test]
    fn the_last_lines_are_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut capture = Capture::new(
            &Limits::default(),
            folder.path().to_owned(),
            &Secrets::new(),
        );
        for n in 1..=5_000 {
            capture.push(OutputStream::Stdout, format!("{n}\n").as_bytes());
        }
        let captured = capture.finish();
        assert!(captured.text.starts_with("3001\n") && captured.text.ends_with("5000\n"));
        assert_eq!(captured.lines, 5_000);
    }
}
