//! Searching one file, and keeping the first matches of many.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use crate::blocking::Stop;
use crate::files::Files;
use crate::limits::Limits;
use crate::names;
use crate::path_order::PathKey;
use crate::truncate;

/// How files are searched.
#[derive(Debug)]
pub(crate) struct FileSearch {
    matcher: RegexMatcher,
    context: usize,
    line_chars: usize,
    line_bytes: usize,
    max_matches: usize,
    stop: Stop,
    /// Searchers that are not in use: each has a large buffer.
    idle: Mutex<Vec<Searcher>>,
}

/// A line to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) is_match: bool,
    pub(crate) text: String,
}

/// What one file gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Searched {
    pub(crate) lines: Vec<Line>,
    pub(crate) matches: usize,
    /// It is binary, and was left out.
    pub(crate) binary: bool,
    /// It could not be searched to its end; why.
    pub(crate) problem: Option<String>,
}

impl FileSearch {
    /// Searches for `matcher`, with as many lines of context on each side, and stops in each file
    /// after `max_matches`.
    pub(crate) fn new(
        matcher: RegexMatcher,
        limits: &Limits,
        context: usize,
        max_matches: usize,
        stop: &Stop,
    ) -> Self {
        Self {
            matcher,
            context,
            line_chars: limits.grep_line_chars,
            line_bytes: limits.grep_line_bytes,
            max_matches,
            stop: stop.clone(),
            idle: Mutex::default(),
        }
    }

    /// How many lines of context are kept.
    pub(crate) fn context(&self) -> usize {
        self.context
    }

    /// Searches a file by its real path. What cannot be opened gives nothing but its problem.
    pub(crate) fn run(&self, files: &dyn Files, real: &Path) -> Searched {
        let mut collect = Collect {
            search: self,
            searched: Searched::default(),
        };
        let result = files.open(real).and_then(|mut file| {
            let idle = self.idle().pop();
            let mut searcher = idle.unwrap_or_else(|| self.searcher());
            let result = searcher.search_reader(&self.matcher, &mut file.content, &mut collect);
            self.idle().push(searcher);
            result
        });
        let mut searched = collect.searched;
        if let Err(error) = result {
            searched.problem = Some(error.to_string());
        }
        if searched.binary {
            searched.lines.clear();
            searched.matches = 0;
        }
        searched
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Searcher>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(self.line_bytes))
            .build()
    }
}

struct Collect<'a> {
    search: &'a FileSearch,
    searched: Searched,
}

impl Collect<'_> {
    fn add(&mut self, bytes: &[u8], number: Option<u64>, is_match: bool) {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = match self.search.matcher.find(line) {
            Ok(Some(found)) if is_match => found.start(),
            _ => 0,
        };
        let before = String::from_utf8_lossy(line.get(..at).unwrap_or_default()).len();
        let text = String::from_utf8_lossy(line);
        let text = truncate::around(&text, before, self.search.line_chars);
        self.searched.lines.push(Line {
            number: number.unwrap_or(0),
            is_match,
            text,
        });
    }

    fn goes_on(&self) -> bool {
        !self.search.stop.is_stopped()
    }
}

impl Sink for &mut Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.searched.matches >= self.search.max_matches {
            return Ok(false);
        }
        let first = found.line_number();
        for (index, line) in found.lines().enumerate() {
            self.add(line, first.map(|first| first + index as u64), true);
            self.searched.matches += 1;
        }
        Ok(self.goes_on())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.add(context.bytes(), context.line_number(), false);
        Ok(self.goes_on())
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.searched.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.searched.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// The first matches, by path, of files that come in any order.
#[derive(Debug)]
pub(crate) struct Found {
    enough: usize,
    /// There are enough matches, so that not every path is wanted any more.
    full: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathKey, Searched>,
    matches: usize,
    skipped: Skipped,
}

/// Files that were not searched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skipped {
    binary: usize,
    /// The first one that is binary.
    first_binary: Option<PathKey>,
    failed: usize,
    failure: Option<(PathBuf, String)>,
    /// The search ended before all files were seen, so how many there were says nothing.
    cut: bool,
}

impl Found {
    /// `enough` matches are kept, and what is left of the file with the last of them.
    pub(crate) fn new(enough: usize) -> Self {
        Self {
            enough,
            full: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether matches below this path could still be among the first ones.
    pub(crate) fn wants(&self, path: &Path) -> bool {
        if !self.full.load(Ordering::Relaxed) {
            return true;
        }
        let state = self.lock();
        state.matches < self.enough
            || state
                .files
                .last_key_value()
                .is_none_or(|(last, _)| last.is_after(path))
    }

    /// Whether there are as many as are kept.
    pub(crate) fn has_enough(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().files.is_empty()
    }

    pub(crate) fn add(&self, path: &Path, searched: Searched) {
        if !searched.binary && searched.problem.is_none() && searched.matches == 0 {
            return;
        }
        let mut state = self.lock();
        if searched.binary {
            state.skipped.binary += 1;
            let first = &mut state.skipped.first_binary;
            if first.as_ref().is_none_or(|first| first.is_after(path)) {
                *first = Some(PathKey::new(path));
            }
        }
        if let Some(problem) = &searched.problem {
            state.skipped.failed += 1;
            let first = state
                .skipped
                .failure
                .as_ref()
                .is_none_or(|(first, _)| path < first.as_path());
            if first {
                state.skipped.failure = Some((path.to_owned(), problem.clone()));
            }
        }
        if searched.matches == 0 {
            return;
        }
        state.matches += searched.matches;
        self.full
            .store(state.matches >= self.enough, Ordering::Relaxed);
        state.files.insert(PathKey::new(path), searched);
        while let Some((_, last)) = state.files.last_key_value() {
            let without = state.matches - last.matches;
            if without < self.enough {
                break;
            }
            state.matches = without;
            state.files.pop_last();
        }
    }

    pub(crate) fn finish(self) -> (Vec<(PathBuf, Searched)>, Skipped) {
        let mut state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        // Which files after the last one were looked at is chance.
        if let Some((last, _)) = state.files.last_key_value()
            && state.matches >= self.enough
        {
            let skipped = &mut state.skipped;
            skipped.cut = true;
            skipped.first_binary.take_if(|first| *first > *last);
            skipped
                .failure
                .take_if(|(first, _)| PathKey::new(first) > *last);
        }
        let files = state.files.into_iter();
        let files = files.map(|(path, searched)| (path.into_path(), searched));
        (files.collect(), state.skipped)
    }
}

impl Skipped {
    pub(crate) fn describe(&self, notices: &mut Vec<String>) {
        if let Some((path, problem)) = &self.failure {
            let more = match self.failed {
                _ if self.cut => String::new(),
                0 | 1 => String::new(),
                failed => format!(", and {} more", failed - 1),
            };
            notices.push(format!(
                "Not searched to the end: {}{more}: {problem}.",
                names::shown_path(path)
            ));
        }
        if self.cut {
            if self.first_binary.is_some() {
                notices.push("Binary files were left out.".to_owned());
            }
        } else if self.binary > 0 {
            let files = if self.binary == 1 {
                "file was"
            } else {
                "files were"
            };
            notices.push(format!("{} binary {files} left out.", self.binary));
        }
    }
}
