//! `grep`: lines that match a pattern.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use harness_core::{
    Execution, Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::blocking::{self, Stop};
use crate::error::Error;
use crate::files::{FileKind, Next, WalkEntry};
use crate::glob::Glob;
use crate::invisible;
use crate::limits::Limits;
use crate::search::{FileSearch, Found, Line, Searched};
use crate::tree::{Tree, Visited};
use crate::truncate;
use crate::workspace::Workspace;

/// The largest compiled pattern, in bytes.
const PATTERN_BYTES: usize = 10 * 1024 * 1024;

/// Searches file contents for a regular expression (Rust syntax, line by line). Hidden files are
/// searched; .git, binary and ignored files (.gitignore) are not. Gives `path:line: text`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct GrepArgs {
    /// What to look for.
    pub pattern: String,
    /// File or folder; default: the workspace.
    pub path: Option<String>,
    /// Only files that match, such as *.rs or src/**.
    pub glob: Option<String>,
    /// Upper and lower case alike.
    pub ignore_case: Option<bool>,
    /// The pattern is plain text.
    pub literal: Option<bool>,
    /// Lines to show around each match.
    pub context: Option<u64>,
    /// Most matches; default 100.
    pub limit: Option<u64>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepResult {
    /// Lines to show: `path:line: text` for a match, `path-line- text` for context, `--` between
    /// groups that do not touch.
    pub lines: Vec<String>,
    /// How many matching lines are among them.
    pub matches: usize,
    /// There are more.
    pub more: bool,
    /// What else is to be known, one sentence each.
    pub notices: Vec<String>,
}

/// Searches files for a pattern.
///
/// Files are searched on several threads; the result is sorted by path and line, and always the first
/// matches in that order. Binary files, and lines longer than [`Limits::grep_line_bytes`], are left
/// out with a notice. UTF-16 with a byte order mark is read; other encodings are searched as bytes.
pub fn search_files(
    workspace: &Workspace,
    args: &GrepArgs,
    stop: &Stop,
) -> Result<GrepResult, Error> {
    let place = workspace.to_read(args.path.as_deref().unwrap_or("."))?;
    let limits = workspace.limits();
    let limit = Limits::wanted(limits.grep_matches, args.limit);
    let context = args
        .context
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(0);
    // One more than is shown, to know that there are more.
    let search = FileSearch::new(
        matcher(args)?,
        limits,
        context.min(limits.grep_context),
        limit + 1,
        stop,
    );
    let mut found = Found::new(limit + 1);
    let files = workspace.files();
    let mut notices = Vec::new();
    if place.is_folder() {
        let glob = args
            .glob
            .as_deref()
            .map(|glob| Glob::new(glob, &place.real))
            .transpose()?;
        let wanted = |entry: &WalkEntry<'_>| {
            entry.kind == FileKind::File
                && glob
                    .as_ref()
                    .is_none_or(|glob| glob.is_match(entry.path, false))
        };
        let withheld = AtomicUsize::new(0);
        let tree = Tree::new(workspace, &place.real, stop);
        let new = || (Found::new(limit + 1), Visited::default());
        let enough = |(found, _): &(Found, Visited)| found.has_enough();
        let (all, visited) = tree.collect(&mut notices, new, enough, |(found, visited), entry| {
            if !found.wants(entry.path) {
                return Next::Skip;
            }
            if wanted(entry) {
                visited.insert(entry.path);
                if workspace.leaves_out(entry.path) {
                    withheld.fetch_add(1, Ordering::Relaxed);
                    return Next::Continue;
                }
                found.add(entry.path, search.run(files, entry.path));
            }
            Next::Continue
        });
        stop.check()?;
        found = all;
        match withheld.into_inner() {
            0 => {}
            1 => notices.push(
                "A file that may hold secrets was left out. Name it in `path` to ask for it."
                    .to_owned(),
            ),
            count => notices.push(format!(
                "{count} files that may hold secrets were left out. Name one in `path` to ask for it."
            )),
        }
        if found.is_empty()
            && let Some(path) = tree.left_out(wanted, &|path| visited.contains(path))
        {
            notices.push(format!(
                "Ignored files were left out, such as `{}`. Name one in `path` to search it.",
                workspace.show(&path)
            ));
        }
    } else {
        crate::read::open_regular(workspace, &place)?;
        found.add(&place.real, search.run(files, &place.real));
        stop.check()?;
    }
    let (files, skipped) = found.finish();
    skipped.describe(&mut notices);
    Ok(lay_out(workspace, files, limit, search.context(), notices))
}

fn matcher(args: &GrepArgs) -> Result<RegexMatcher, Error> {
    if args.pattern.is_empty() {
        return Err(Error::Argument("`pattern` is empty.".to_owned()));
    }
    let literal = args.literal.unwrap_or(false);
    let invalid = |error: grep_regex::Error| {
        let hint = if args.pattern.contains('\n') || args.pattern.contains("\\n") {
            ". Lines are searched one by one: look for a part of one line, and set `context`."
        } else if literal {
            ""
        } else {
            ". To search for plain text, set `literal`."
        };
        Error::Argument(format!("`pattern` is invalid: {error}{hint}"))
    };
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(args.ignore_case.unwrap_or(false))
        .fixed_strings(literal)
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    let built = builder.build(&args.pattern);
    let built = match with_ends_of_lines(&args.pattern) {
        Some(pattern) if built.is_ok() && !literal => builder.build(&pattern),
        _ => built,
    };
    built.map_err(invalid)
}

/// The pattern with `^` for `\A` and `$` for `\z`, and without `(?-m)`, if it has such: a line is a
/// text of its own, and where it begins and ends the searcher does not tell the pattern otherwise.
fn with_ends_of_lines(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '(']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let flags = from.strip_prefix("(?").and_then(|from| {
            let flags = from.split([')', ':']).next()?;
            let (on, off) = flags.split_once('-')?;
            let known = |flag: char| flag.is_ascii_alphabetic();
            (on.chars().all(known) && off.contains('m')).then_some((flags, on, off))
        });
        if let Some((flags, on, off)) = flags {
            let off = off.replace('m', "");
            let dash = if off.is_empty() { "" } else { "-" };
            let _ = write!(out, "(?{on}m{dash}{off}");
            rest = from.get(2 + flags.len()..).unwrap_or_default();
        } else if let Some(after) = from.strip_prefix(r"\A") {
            out.push('^');
            rest = after;
        } else if let Some(after) = from.strip_prefix(r"\z") {
            out.push('$');
            rest = after;
        } else {
            // With a backslash goes what it escapes.
            let escaped = from.chars().nth(1).filter(|_| from.starts_with('\\'));
            let (this, after) = from.split_at(1 + escaped.map_or(0, char::len_utf8));
            out.push_str(this);
            rest = after;
        }
    }
    out.push_str(rest);
    (out != pattern).then_some(out)
}

fn lay_out(
    workspace: &Workspace,
    files: Vec<(std::path::PathBuf, Searched)>,
    limit: usize,
    context: usize,
    notices: Vec<String>,
) -> GrepResult {
    // How many lines belong to matches that are shown.
    let mut complete = 0;
    let mut result = GrepResult {
        lines: Vec::new(),
        matches: 0,
        more: false,
        notices,
    };
    for (path, searched) in files {
        let shown = workspace.show(&path);
        let mut last: Option<u64> = None;
        let mut last_match: Option<u64> = None;
        for line in searched.lines {
            if line.is_match && result.matches == limit {
                // The context of this match has been laid out already.
                result.lines.truncate(complete);
                result.more = true;
                return result;
            }
            if context > 0
                && !result.lines.is_empty()
                && last.is_none_or(|last| line.number > last + 1)
            {
                result.lines.push("--".to_owned());
            }
            last = Some(line.number);
            result.matches += usize::from(line.is_match);
            let Line {
                number,
                is_match,
                text,
            } = line;
            result.lines.push(if is_match {
                format!("{shown}:{number}: {text}")
            } else {
                format!("{shown}-{number}- {text}")
            });
            if is_match {
                last_match = Some(number);
            }
            if last_match.is_some_and(|at| number <= at + context as u64) {
                complete = result.lines.len();
            }
        }
    }
    result
}

impl GrepResult {
    /// The lines, at most `max_bytes` of them, and notices in brackets.
    pub fn render(&self, max_bytes: usize) -> String {
        let (mut text, shown) = truncate::join_lines(&self.lines, max_bytes);
        if self.lines.is_empty() {
            "No matches.".clone_into(&mut text);
        }
        if shown < self.lines.len() {
            let _ = write!(
                text,
                "\n[{shown} of {} lines are shown. Narrow the search for the rest.]",
                self.lines.len()
            );
        } else if self.more {
            let _ = write!(
                text,
                "\n[The first {} matches are shown; there are more.]",
                self.matches
            );
        }
        let (text, hidden) = invisible::shown(&text, Some("the file"), None);
        let mut text = text.into_owned();
        for notice in self.notices.iter().chain(&hidden) {
            let _ = write!(text, "\n[{notice}]");
        }
        text
    }
}

/// The tool `grep`.
///
/// Runs beside other calls, and may be run again after a crash.
#[derive(Clone, Debug)]
pub struct GrepTool(Workspace);

impl GrepTool {
    /// Searches this workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self(workspace.clone())
    }
}

#[async_trait]
impl Tool for GrepTool {
    type Args = GrepArgs;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "grep".into()
    }

    fn execution(&self) -> Execution {
        Execution::Parallel
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn prepare(&self, arguments: Value) -> Value {
        aliases::apply("grep", arguments)
    }

    fn effects(&self, cx: &ToolContext, args: &GrepArgs) -> ToolEffects {
        self.0
            .for_call(cx)
            .reads(args.path.as_deref().unwrap_or("."))
    }

    async fn call(&self, cx: &ToolContext, args: GrepArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let max_bytes = workspace.limits().output_bytes;
        let found = blocking::run(cx, move |stop| search_files(&workspace, &args, stop)).await?;
        Ok(ToolOutput::text(found.render(max_bytes))
            .with_details(json!({ "matches": found.matches, "more": found.more })))
    }
}
