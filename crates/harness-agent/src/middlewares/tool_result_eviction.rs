//! Old, large results give way to a reference to a file that keeps them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::channel::oneshot;
use harness_core::{
    AssistantPart, Event, FailurePolicy, HookSet, Image, Message, MessageRef, Middleware,
    MiddlewareError, OutputPart, RunContext, Text, ToolOutcome, ToolOutput, ToolResult,
    ToolResults, UserPart, async_trait, estimate_tokens,
};
use harness_prompt::{Keep, cut_to_tokens};

use crate::evicted_results::EvictedResults;
use crate::loaded_skills::has_skill;
use crate::result_folder::ResultFolder;

/// How much of the beginning, and of the end, a reference shows: about 500 bytes.
const SHOWN_TOKENS: usize = 125;

/// What is shorter than this stays: references are.
const LEAST_BYTES: usize = 2 * 1024;

/// How often the same content may move to a file. Twice: a model may read a file back once, and what it
/// read may give way once more.
const MAX_MOVES: u32 = 2;

/// Bytes that are not those of a result itself: its id, the marks around it.
const AROUND_TOKENS: u64 = 8;

type Allow = Arc<dyn Fn(&Path) + Send + Sync>;

/// Shows references in place of old, large results, once a conversation has grown long.
///
/// A reference shows the beginning and the end of the result and names a file with all of it. The stored
/// conversation is not touched; this is only what the model is shown.
///
/// It happens in steps. When the messages are estimated above the threshold, the results that are old
/// and large enough give way, oldest first, until the estimate is below half of it. What gave way stays
/// so, to the byte, and nothing else changes until the threshold is reached again: so each request but
/// the first after a step begins with the one before it, as prompt caches want it.
///
/// The files lie in a folder of their own for each session, made when it is first needed, and removed
/// when the attributes of its caller are dropped. A result that cannot be written stays as it is, and a
/// warning says so once.
#[derive(Clone)]
pub struct ToolResultEvictionMiddleware {
    options: EvictionOptions,
    allow: Option<Allow>,
}

/// When results give way, and where they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EvictionOptions {
    /// Above how many tokens of messages, [estimated](estimate_tokens), results give way. 100,000,
    /// unless [`for_context_window`](Self::for_context_window) knows better.
    pub threshold_tokens: u64,
    /// How many messages at the end are left alone. 8.
    pub recent_messages: usize,
    /// A result gives way if its text has more bytes than this, or a picture in it more bytes of
    /// base64. 4 KiB; less than 2 KiB count as 2 KiB.
    pub large_bytes: usize,
    /// Where the folders of the sessions are made; `None`: in the system's folder for temporary files.
    pub folder: Option<PathBuf>,
}

impl Default for EvictionOptions {
    fn default() -> Self {
        Self {
            threshold_tokens: 100_000,
            recent_messages: 8,
            large_bytes: 4 * 1024,
            folder: None,
        }
    }
}

impl EvictionOptions {
    /// The defaults for a model with this context window: the threshold is half of it.
    pub fn for_context_window(tokens: Option<u64>) -> Self {
        let default = Self::default();
        Self {
            threshold_tokens: tokens.map_or(default.threshold_tokens, |tokens| tokens / 2),
            ..default
        }
    }

    /// From which size on a result gives way: never one that is as short as a reference.
    fn large(&self) -> usize {
        self.large_bytes.max(LEAST_BYTES)
    }

    /// How far a step goes down.
    fn target(&self) -> u64 {
        self.threshold_tokens / 2
    }

    /// How far it must go up from there to the next one.
    fn step(&self) -> u64 {
        self.threshold_tokens - self.target()
    }
}

impl Default for ToolResultEvictionMiddleware {
    fn default() -> Self {
        Self::new(EvictionOptions::default())
    }
}

impl ToolResultEvictionMiddleware {
    /// Lets results give way under these options.
    pub fn new(options: EvictionOptions) -> Self {
        Self {
            options,
            allow: None,
        }
    }

    /// Lets the tools of this workspace read the files, also where reading is confined to it.
    #[cfg(feature = "tools")]
    pub fn readable_in(mut self, workspace: &harness_tools::Workspace) -> Self {
        let workspace = workspace.clone();
        self.allow = Some(Arc::new(move |path| workspace.allow_reading(path)));
        self
    }
}

impl std::fmt::Debug for ToolResultEvictionMiddleware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolResultEvictionMiddleware")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for ToolResultEvictionMiddleware {
    fn name(&self) -> &'static str {
        "tool-result-eviction"
    }

    fn hooks(&self) -> HookSet {
        HookSet::CONTEXT
    }

    /// Without it the conversation is longer, and still the right one.
    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailOpen
    }

    async fn on_context(
        &self,
        cx: &RunContext,
        mut messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        let evictions = cx.attributes().get_or_insert_with(Evictions::default);
        evictions.show(&mut messages);
        let estimate = evictions.estimate(&messages);
        if !evictions.is_due(estimate, &self.options) {
            return Ok(messages);
        }
        let candidates = self.candidates(&messages);
        if candidates.is_empty() {
            return Ok(messages);
        }
        let step = Step {
            options: self.options.clone(),
            allow: self.allow.clone(),
            candidates,
            evictions: Arc::clone(&evictions),
        };
        if let Some(problem) = step.on_a_thread(estimate).await
            && !evictions.warned.swap(true, Ordering::Relaxed)
        {
            let message =
                format!("An old result could not be moved to a file and stays: {problem}");
            cx.emit(Event::Warning { message });
        }
        evictions.show(&mut messages);
        Ok(messages)
    }
}

impl ToolResultEvictionMiddleware {
    /// The messages that may give way, oldest first.
    fn candidates(&self, messages: &[MessageRef]) -> Vec<Candidate> {
        let old = messages.len().saturating_sub(self.options.recent_messages);
        let large = self.options.large();
        let mut before: Option<&MessageRef> = None;
        let mut candidates = Vec::new();
        for message in messages.iter().take(old) {
            if results(message).is_some_and(|results| has_large(results, large)) {
                candidates.push(Candidate {
                    results: message.clone(),
                    reply: before.cloned(),
                });
            }
            before = Some(message);
        }
        candidates
    }
}

/// What gave way in one session. Lives in the attributes of its caller.
#[derive(Debug, Default)]
struct Evictions {
    shown: Mutex<EvictedResults>,
    /// The tokens of each message, as far as they were counted.
    counted: Mutex<Vec<(MessageRef, u64)>>,
    /// The estimate above which the next step is taken, if that is more than the threshold: a step that
    /// could not go down far enough is not followed by one on each turn.
    next_step: Mutex<u64>,
    folder: Mutex<Option<ResultFolder>>,
    warned: AtomicBool,
}

impl Evictions {
    /// Puts in what is shown in place of what gave way.
    fn show(&self, messages: &mut [MessageRef]) {
        let evicted = lock(&self.shown);
        if evicted.is_empty() {
            return;
        }
        for message in messages {
            let shown = results(message).and_then(|results| evicted.shown(results));
            if let Some(shown) = shown.cloned() {
                *message = shown;
            }
        }
    }

    /// The tokens of a conversation. Each message is looked at once, so that a long conversation costs no
    /// more on each turn than a short one.
    fn estimate(&self, messages: &[MessageRef]) -> u64 {
        let mut counted = lock(&self.counted);
        let known = counted
            .iter()
            .zip(messages)
            .take_while(|((known, _), message)| known.same(message));
        let known = known.count();
        counted.truncate(known);
        let new = messages.iter().skip(known);
        counted.extend(new.map(|message| (message.clone(), tokens(message))));
        counted.iter().map(|(_, tokens)| tokens).sum()
    }

    /// The estimate is at most this: it may have been compacted since the last step.
    fn fell_to(&self, estimate: u64, options: &EvictionOptions) {
        let mut next_step = lock(&self.next_step);
        *next_step = (*next_step).min(estimate + options.step());
    }

    fn is_due(&self, estimate: u64, options: &EvictionOptions) -> bool {
        self.fell_to(estimate, options);
        estimate > options.threshold_tokens && estimate > *lock(&self.next_step)
    }
}

/// A message of results, and the reply whose calls they answer.
struct Candidate {
    results: MessageRef,
    reply: Option<MessageRef>,
}

impl Candidate {
    /// The arguments of a call, as the model wrote them.
    fn arguments(&self, call: &str) -> &str {
        let Some(Message::Assistant(reply)) = self.reply.as_deref() else {
            return "";
        };
        reply
            .tool_calls()
            .find(|one| one.id == call)
            .map_or("", |call| &call.arguments)
    }
}

/// One step: candidates give way until the estimate is low enough.
struct Step {
    options: EvictionOptions,
    allow: Option<Allow>,
    candidates: Vec<Candidate>,
    evictions: Arc<Evictions>,
}

impl Step {
    /// Writes the files away from the threads of the runtime, whichever that is. A thread is made for it:
    /// steps are rare.
    async fn on_a_thread(self, estimate: u64) -> Option<String> {
        let (done, waiting) = oneshot::channel();
        let thread = std::thread::Builder::new().name("eviction".to_owned());
        let spawned = thread.spawn(move || {
            // Nobody waits if the run was dropped.
            let _ = done.send(self.take(estimate));
        });
        if let Err(error) = spawned {
            return Some(error.to_string());
        }
        match waiting.await {
            Ok(problem) => problem,
            Err(_) => Some("the thread that wrote it panicked".to_owned()),
        }
    }

    /// What went wrong, if something did.
    fn take(self, mut estimate: u64) -> Option<String> {
        let target = self.options.target();
        let mut problem = None;
        for candidate in &self.candidates {
            if estimate < target {
                break;
            }
            match self.evict(candidate) {
                Ok(Some(shown)) => {
                    let saved = tokens(&candidate.results).saturating_sub(tokens(&shown));
                    estimate = estimate.saturating_sub(saved);
                }
                Ok(None) => {}
                Err(error) => {
                    problem = Some(error.to_string());
                    break;
                }
            }
        }
        *lock(&self.evictions.next_step) = estimate + self.options.step();
        problem
    }

    /// What is shown in place of a message from now on; `None` if it stays.
    fn evict(&self, candidate: &Candidate) -> io::Result<Option<MessageRef>> {
        let Some(results) = results(&candidate.results) else {
            return Ok(None);
        };
        let mut folder = lock(&self.evictions.folder);
        let folder = match &mut *folder {
            Some(folder) => folder,
            none => {
                let parent = self
                    .options
                    .folder
                    .clone()
                    .unwrap_or_else(|| PathBuf::from("/tmp"));
                none.insert(ResultFolder::create(&parent)?)
            }
        };
        let mut writing = Writing {
            folder,
            large: self.options.large(),
            written: Vec::new(),
        };
        let mut short = Vec::with_capacity(results.results.len());
        for result in &results.results {
            let arguments = candidate.arguments(&result.call_id);
            let moves = writing.folder.moves(arguments) + 1;
            // Instructions that are being followed stay.
            let outcome = if moves > MAX_MOVES || has_skill(result) {
                Ok(None)
            } else {
                writing.outcome(result, moves)
            };
            match outcome {
                Ok(outcome) => short.push(ToolResult {
                    call_id: result.call_id.clone(),
                    name: result.name.clone(),
                    outcome: outcome.map_or_else(|| Arc::clone(&result.outcome), Arc::new),
                }),
                Err(error) => {
                    writing.take_back();
                    return Err(error);
                }
            }
        }
        if writing.written.is_empty() {
            return Ok(None);
        }
        if let Some(allow) = &self.allow {
            for path in &writing.written {
                allow(path);
            }
        }
        let shown = MessageRef::new(Message::ToolResults(ToolResults { results: short }));
        lock(&self.evictions.shown).put(results, shown.clone());
        Ok(Some(shown))
    }
}

/// The files that are written for one message.
struct Writing<'f> {
    folder: &'f mut ResultFolder,
    large: usize,
    written: Vec<PathBuf>,
}

impl Writing<'_> {
    /// A result with references in place of what is large in it; `None` if nothing is, or if a
    /// reference would be no shorter.
    fn outcome(&mut self, result: &ToolResult, moves: u32) -> io::Result<Option<ToolOutcome>> {
        let (output, outcome): (_, fn(ToolOutput) -> ToolOutcome) = match &*result.outcome {
            ToolOutcome::Done(output) => (output, ToolOutcome::Done),
            ToolOutcome::Failed(output) => (output, ToolOutcome::Failed),
            _ => return Ok(None),
        };
        let before = self.written.len();
        let mut text = (text_bytes(output) > self.large)
            .then(|| self.text(&result.name, moves, &text_of(output)))
            .transpose()?
            .flatten();
        let text_is_short = text.is_some();
        let mut parts = Vec::with_capacity(output.parts.len());
        for part in &output.parts {
            match part {
                OutputPart::Text(_) if text_is_short => parts.extend(text.take()),
                OutputPart::Image(image) if image.data.len() > self.large => {
                    let reference = self.picture(&result.name, moves, image)?;
                    parts.push(reference.unwrap_or_else(|| part.clone()));
                }
                _ => parts.push(part.clone()),
            }
        }
        let details = output.details.clone();
        let changed = self.written.len() > before;
        Ok(changed.then(|| outcome(ToolOutput { parts, details })))
    }

    fn text(&mut self, tool: &str, moves: u32, text: &str) -> io::Result<Option<OutputPart>> {
        let Some(start) = cut_to_tokens(text, SHOWN_TOKENS, Keep::Start, |_, _| String::new())
        else {
            return Ok(None);
        };
        let path = self.write(tool, "txt", moves, text.as_bytes())?;
        let marker = |kept: usize, all: usize| {
            let left = all.saturating_sub(kept + start.kept);
            format!(
                "[{left} of {all} bytes are left out here; all of it is in {}]",
                path.display()
            )
        };
        // The marker is not to be at the cost of what is shown.
        let room = SHOWN_TOKENS + estimate_tokens(&marker(0, text.len())) + 1;
        let end = match cut_to_tokens(text, room, Keep::End, marker) {
            Some(end) if end.text.len() + start.text.len() < text.len() => end,
            _ => {
                self.take_back_last();
                return Ok(None);
            }
        };
        let gap = if start.text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{}{gap}{}", start.text, end.text);
        Ok(Some(OutputPart::Text(Text { text })))
    }

    /// `None` if the picture's base64 is none.
    fn picture(&mut self, tool: &str, moves: u32, image: &Image) -> io::Result<Option<OutputPart>> {
        let Ok(bytes) = STANDARD.decode(&*image.data) else {
            return Ok(None);
        };
        let extension = match image.media_type.as_str() {
            "image/png" => "png",
            "image/jpeg" => "jpg",
            "image/gif" => "gif",
            "image/webp" => "webp",
            _ => "bin",
        };
        let path = self.write(tool, extension, moves, &bytes)?;
        let text = format!(
            "[a picture of {} bytes is left out here; it is in {}]",
            bytes.len(),
            path.display()
        );
        Ok(Some(OutputPart::Text(Text { text })))
    }

    fn write(
        &mut self,
        tool: &str,
        extension: &str,
        moves: u32,
        bytes: &[u8],
    ) -> io::Result<PathBuf> {
        let path = self.folder.write(tool, extension, moves, bytes)?;
        self.written.push(path.clone());
        Ok(path)
    }

    fn take_back_last(&mut self) {
        if let Some(path) = self.written.pop() {
            self.folder.remove(&path);
        }
    }

    fn take_back(&mut self) {
        while !self.written.is_empty() {
            self.take_back_last();
        }
    }
}

fn results(message: &Message) -> Option<&ToolResults> {
    match message {
        Message::ToolResults(results) => Some(results),
        _ => None,
    }
}

fn output(outcome: &ToolOutcome) -> Option<&ToolOutput> {
    match outcome {
        ToolOutcome::Done(output) | ToolOutcome::Failed(output) => Some(output),
        _ => None,
    }
}

fn has_large(results: &ToolResults, large: usize) -> bool {
    let outputs = results
        .results
        .iter()
        .filter_map(|one| output(&one.outcome));
    let is_large_picture = |part: &OutputPart| match part {
        OutputPart::Image(image) => image.data.len() > large,
        _ => false,
    };
    outputs
        .into_iter()
        .any(|output| text_bytes(output) > large || output.parts.iter().any(is_large_picture))
}

fn texts(output: &ToolOutput) -> impl Iterator<Item = &str> {
    output.parts.iter().filter_map(|part| match part {
        OutputPart::Text(text) => Some(text.text.as_str()),
        _ => None,
    })
}

fn text_bytes(output: &ToolOutput) -> usize {
    texts(output).map(str::len).sum()
}

fn text_of(output: &ToolOutput) -> String {
    texts(output).collect::<Vec<_>>().join("\n")
}

/// About how many tokens a message is.
fn tokens(message: &Message) -> u64 {
    let picture = (Image::APPROXIMATE_BYTES / 4) as u64;
    let text = |text: &str| estimate_tokens(text) as u64;
    match message {
        Message::User(user) => {
            let part = |part: &UserPart| match part {
                UserPart::Text(part) => text(&part.text),
                _ => picture,
            };
            user.content.iter().map(part).sum()
        }
        Message::Assistant(reply) => {
            let part = |part: &AssistantPart| match part {
                AssistantPart::Text(part) => text(&part.text),
                AssistantPart::Thinking(thinking) => {
                    let signature = thinking.signature.as_deref();
                    text(&thinking.text) + signature.map_or(0, text)
                }
                AssistantPart::ToolCall(call) => {
                    text(&call.name) + text(&call.arguments) + AROUND_TOKENS
                }
                _ => 0,
            };
            reply.content.iter().map(part).sum()
        }
        Message::ToolResults(results) => {
            let part = |part: &OutputPart| match part {
                OutputPart::Text(part) => text(&part.text),
                _ => picture,
            };
            let one = |result: &ToolResult| match output(&result.outcome) {
                Some(output) => output.parts.iter().map(part).sum::<u64>() + AROUND_TOKENS,
                None => 3 * AROUND_TOKENS,
            };
            results.results.iter().map(one).sum()
        }
        other => (other.approximate_bytes() / 4) as u64,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
