//! `@path` in a prompt attaches the file.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use harness_core::{
    Event, HookSet, Middleware, NextAgent, RunContext, RunInput, RunOutcome, Text, ToolContext,
    UserMessage, UserPart, async_trait,
};
use harness_tools::{
    Error, LsArgs, Place, ReadArgs, ReadResult, SeenFiles, Stop, Workspace, list_folder, read_file,
    run_blocking,
};

use crate::element::inside;
use crate::mention::{LineRange, Mention, Reading};
use crate::middlewares::is_hook_context;

/// How many different mentions of one message are looked at.
const MAX_MENTIONS: usize = 256;

/// Attaches the files that a prompt names with `@path`.
///
/// It looks at the messages that a run starts with, not at the history, nor at messages that are queued
/// while it goes. The text stays as it was written; each file becomes a part behind the message's own:
/// text in `<file path="…">`, with what `read` would show of it and its notices, a picture as a picture,
/// a folder as what `ls` shows. An end of the element within the text is written `<\/file>`, and the run's
/// [secrets](RunContext::secrets) are masked.
///
/// - `@file`, `@dir/file`, `@./file`, `@../file`, `@~/file`, `@/abs`, `@"with spaces"`; `:10` or `:10-20`
///   behind it names lines. The `@` is at the start of a word, outside of code. Signs at the end belong
///   to the sentence unless there is a file of that very name.
/// - Paths, policy and limits are those of the [`Workspace`]; a relative path is taken from the run's
///   working folder.
/// - A file is attached once for each message, however it is named, and counts as seen: `write` and
///   `edit` know its state.
/// - What cannot be attached but looks like a path is told in a warning. Nothing here fails a run.
#[derive(Clone, Debug)]
pub struct AtPathMiddleware {
    workspace: Workspace,
    limits: AtPathLimits,
}

/// How much one message may attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AtPathLimits {
    /// The most files and folders. 20.
    pub attachments: usize,
    /// The most bytes of text. 200 KiB.
    pub text_bytes: usize,
}

impl Default for AtPathLimits {
    fn default() -> Self {
        Self {
            attachments: 20,
            text_bytes: 200 * 1024,
        }
    }
}

impl AtPathMiddleware {
    /// Attaches files of this workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self {
            workspace: workspace.clone(),
            limits: AtPathLimits::default(),
        }
    }

    /// Sets how much one message may attach.
    pub fn with_limits(mut self, limits: AtPathLimits) -> Self {
        self.limits = limits;
        self
    }

    async fn attach(&self, cx: &RunContext, message: &mut UserMessage) {
        let mut known = HashSet::new();
        let texts = message.content.iter().filter_map(|part| match part {
            // What a hook tells may be anybody's text.
            UserPart::Text(text) if !is_hook_context(&text.text) => Some(text.text.as_str()),
            _ => None,
        });
        let mut mentions: Vec<Mention> = texts
            .flat_map(Mention::all)
            .filter(|mention| known.insert(mention.clone()))
            .collect();
        if mentions.is_empty() || cx.cancellation().is_cancelled() {
            return;
        }
        if mentions.len() > MAX_MENTIONS {
            mentions.truncate(MAX_MENTIONS);
            let message = format!("Only the first {MAX_MENTIONS} `@…` of a message are looked at.");
            cx.emit(Event::Warning { message });
        }
        let call = ToolContext::new(cx.clone(), "");
        let workspace = self.workspace.for_call(&call);
        let mut attaching = Attaching {
            seen: workspace.seen(&call),
            limits: self.limits,
            workspace,
            parts: Vec::new(),
            attached: HashSet::new(),
            text_bytes: 0,
            left_out: Vec::new(),
            warnings: Vec::new(),
        };
        let work = run_blocking(&call, move |stop| {
            for mention in &mentions {
                stop.check()?;
                attaching.mention(mention, stop);
            }
            stop.check()?;
            Ok(attaching)
        });
        // Only a run that is cancelled stops the work, and it is about to notice.
        let Ok(done) = work.await else { return };
        let left_out = (!done.left_out.is_empty()).then(|| {
            format!(
                "Not attached, since a message may attach {} files and {} bytes of text: {}",
                done.limits.attachments,
                done.limits.text_bytes,
                done.left_out.join(", ")
            )
        });
        for message in done.warnings.into_iter().chain(left_out) {
            cx.emit(Event::Warning { message });
        }
        let parts = done.parts.into_iter().map(|mut part| {
            if let UserPart::Text(text) = &mut part
                && let Cow::Owned(masked) = cx.secrets().mask(&text.text)
            {
                text.text = masked;
            }
            part
        });
        message.content.extend(parts);
    }
}

#[async_trait]
impl Middleware for AtPathMiddleware {
    fn name(&self) -> &'static str {
        "at-path"
    }

    fn hooks(&self) -> HookSet {
        HookSet::AGENT
    }

    async fn on_agent(
        &self,
        cx: &RunContext,
        mut input: RunInput,
        next: NextAgent<'_>,
    ) -> RunOutcome {
        // A subagent's task was written by a model: only what a user typed is obeyed.
        if cx.parent().is_none() {
            for message in &mut input.messages {
                self.attach(cx, message).await;
            }
        }
        next.run(cx, input).await
    }
}

/// What is being attached to one message.
struct Attaching {
    workspace: Workspace,
    seen: SeenFiles,
    limits: AtPathLimits,
    parts: Vec<UserPart>,
    /// Real paths, with the lines of them; `None`: all that `read` shows.
    attached: HashSet<(PathBuf, Option<LineRange>)>,
    text_bytes: usize,
    left_out: Vec<String>,
    warnings: Vec<String>,
}

impl Attaching {
    fn mention(&mut self, mention: &Mention, stop: &Stop) {
        let (reading, place) = match self.find(mention) {
            Ok(found) => found,
            Err(error) => {
                if mention.looks_like_a_path() {
                    self.warn(mention, &error.to_string());
                }
                return;
            }
        };
        let lines = reading.lines.filter(|_| !place.is_folder());
        let key = (place.real.clone(), lines);
        let whole = (place.real.clone(), None);
        if self.attached.contains(&key) || self.attached.contains(&whole) {
            return;
        }
        // Once one found no room, the next ones do not even try: which are there is easy to say.
        let full = self.attached.len() >= self.limits.attachments || !self.left_out.is_empty();
        if full {
            self.left_out.push(mention.to_string());
            return;
        }
        // As with a call, a panic over a broken file is not the end of the run.
        let read = AssertUnwindSafe(|| self.read(&place, &reading, lines, stop));
        let (parts, seen) = match catch_unwind(read) {
            Ok(Ok(read)) => read,
            Ok(Err(Error::Stopped)) => return,
            Ok(Err(error)) => return self.warn(mention, &error.to_string()),
            Err(_) => return self.warn(mention, "reading it panicked."),
        };
        let bytes: usize = parts.iter().map(text_bytes).sum();
        if self.text_bytes + bytes > self.limits.text_bytes {
            self.left_out.push(mention.to_string());
            return;
        }
        // Only what is shown counts as seen.
        if let Some(version) = seen.version(&place.real) {
            self.seen.record(&place.real, version);
        }
        self.text_bytes += bytes;
        self.parts.extend(parts);
        self.attached.insert(key);
    }

    /// The first reading of a mention that leads somewhere; else why the last one does not.
    fn find<'m>(&self, mention: &'m Mention) -> Result<(Reading<'m>, Place), Error> {
        let mut problem = Error::Path("is empty".to_owned());
        for reading in mention.readings() {
            match self.workspace.to_read(reading.path) {
                Ok(place) => return Ok((reading, place)),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    fn read(
        &self,
        place: &Place,
        reading: &Reading<'_>,
        lines: Option<LineRange>,
        stop: &Stop,
    ) -> Result<(Vec<UserPart>, SeenFiles), Error> {
        let seen = SeenFiles::new();
        let path = reading.path.to_owned();
        if place.is_folder() {
            let args = LsArgs {
                path: Some(path),
                limit: None,
            };
            let listing = list_folder(&self.workspace, &args, stop)?;
            let text = listing.render(self.workspace.limits().output_bytes);
            return Ok((vec![element("folder", &place.shown, None, &text)], seen));
        }
        let args = ReadArgs {
            path,
            offset: lines.map(|lines| lines.first.into()),
            limit: lines.map(|lines| lines.count().into()),
        };
        let file = |text: &str| element("file", &place.shown, lines, text);
        let parts = match read_file(&self.workspace, &args, &seen, stop)? {
            ReadResult::Text(read) => vec![file(&read.render())],
            // The client tells a model that cannot see it.
            ReadResult::Picture(picture) => {
                vec![
                    element("file", &place.shown, None, &picture.note),
                    UserPart::Image(picture.image),
                ]
            }
            _ => vec![file("(cannot be shown)")],
        };
        Ok((parts, seen))
    }

    fn warn(&mut self, mention: &Mention, why: &str) {
        self.warnings
            .push(format!("{mention} was not attached: {why}"));
    }
}

fn element(name: &str, path: &str, lines: Option<LineRange>, text: &str) -> UserPart {
    let path = path
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let mut out = format!("<{name} path=\"{path}\"");
    if let Some(lines) = lines {
        let _ = write!(out, " lines=\"{lines}\"");
    }
    // A file that strangers wrote does not speak as the user.
    let text = inside(text, &[name]);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(out, ">\n{text}{end}</{name}>");
    UserPart::Text(Text { text: out })
}

fn text_bytes(part: &UserPart) -> usize {
    match part {
        UserPart::Text(text) => text.text.len(),
        _ => 0,
    }
}
