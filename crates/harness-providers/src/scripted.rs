//! A model that plays a script: for demonstrations, for tests, and offline.
//!
//! # The format
//!
//! A JSON object. Everything but `turns` may be left out; unknown fields are errors.
//!
//! ```json
//! {
//!   "model": { "name": "tiny", "context_window": 8000, "prices": { "input": 1, "output": 5 } },
//!   "turns": [
//!     { "text": "Let me look.", "calls": [{ "tool": "ls", "arguments": { "path": "." } }] },
//!     { "error": { "kind": "rate_limited", "status": 429, "retry_after": 0.1 } },
//!     { "text": "It holds:\n${result:call_0_0}", "expect": { "last_results": [{ "tool": "ls" }] } }
//!   ],
//!   "side": [{ "when": { "last_user_contains": "You are about to lose the conversation" }, "text": "A summary." }]
//! }
//! ```
//!
//! `model`: `name`, `context_window`, `max_output_tokens`, `images`, `thinking` (a list of levels),
//! `prices` (`input`, `output`, `cache_read`, `cache_write`; US dollars per million tokens).
//!
//! A turn is one answer to one request:
//!
//! | field | meaning |
//! |---|---|
//! | `thinking`, `text` | what it says; `${result:ID}` in the text becomes the result of the call `ID` |
//! | `calls` | a list of `{tool, arguments, id?}`; `arguments` is an object, or a string to send as it is, valid or not; the id is `call_T_N` unless given: the turn and the call, both from 0 |
//! | `stop` | `end_turn`, `tool_calls`, `length`, `content_filter` or any other word; by default what fits |
//! | `usage` | `input_tokens`, `output_tokens`, `cache_read_tokens`, `cache_write_tokens`, `reasoning_tokens`; by default nothing is reported |
//! | `error` | the request fails, after what is said, if anything is: `kind` is the word of a [`ModelError`], beside it `status`, `message`, `retry_after` (seconds) and `retryable` (for `other`) |
//! | `cut` | `true`: the reply breaks off, the last call in the middle of its arguments |
//! | `repeat` | how many times the turn is played, or `"forever"` |
//! | `delay_ms` | how long to wait before the answer |
//! | `expect` | what the request must be like |
//!
//! `expect` holds any of `last_user_contains` and `system_contains` (a text or a list of texts),
//! `last_results` (a list, one `{tool?, contains?, is_error?}` for each result of the last message,
//! which must hold as many), `tools` (the names on offer, in any order), `messages` (how many), and
//! `hint` (words to add when it fails).
//!
//! An answer of `side` is given, and no turn is played, whenever the request is as its `when` says,
//! which is written like `expect`: summaries and titles are asked for beside the conversation.
//!
//! Each request is also checked against the rules that every conversation keeps
//! ([`check_request`]). What does not hold, and a script that is at its end, is a
//! [`ModelError::Other`] that is not retried and names the turn, counted from 0.
//!
//! # Which turn is played
//!
//! The conversation says it: each reply carries its turn's number as its `response_id`, and the next
//! turn is the one after the last such reply. So a script goes on where it was after a crash, a
//! restart or a compaction that left a reply standing, it follows the conversation to a branch, and
//! runs that share a model do not disturb each other. Replies of the same model without that number
//! count one turn each; those of other models do not count.
//!
//! A turn that fails leaves nothing in the conversation. How many of them were played at one place is
//! therefore counted here, for each conversation by the request's `cache_key` (the loop sets it to the
//! session's or the run's id), or, without one, by the identity of its last message. The count is
//! forgotten when a reply succeeds.

mod expect;
mod play;
mod script;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use harness_core::protocol::check_request;
use harness_core::{
    CancellationToken, MessageRef, Model, ModelError, ModelId, ModelInfo, ModelRequest, ModelStream,
};

use crate::error::ConfigError;
use play::position;
use script::{Script, Turn};

/// The most bytes of a script.
const MAX_SCRIPT_BYTES: u64 = 64 * 1024 * 1024;

/// For how many conversations failed attempts are remembered.
const MAX_CONVERSATIONS: usize = 1024;

/// A model that plays a script.
///
/// ```
/// use harness_core::{CancellationToken, Message, Model, ModelRequest};
/// use harness_providers::Scripted;
/// # use std::sync::Arc;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model: Arc<dyn Model> = Arc::new(Scripted::from_json(r#"{"turns": [{"text": "Hi."}]}"#)?);
/// let request = ModelRequest::new(Arc::clone(&model), vec![Message::user("Hello").into()]);
/// let reply = model.complete(request, CancellationToken::new()).await?;
/// assert_eq!(reply.text(), "Hi.");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Scripted {
    info: ModelInfo,
    script: Script,
    /// The oldest first.
    failed: Mutex<Vec<Failed>>,
}

/// Failed attempts at one place of one conversation.
#[derive(Debug)]
struct Failed {
    conversation: Conversation,
    position: usize,
    attempts: usize,
}

#[derive(Clone, Debug)]
enum Conversation {
    Named(Arc<str>),
    /// Held, so that nothing else can come to stand at its address.
    EndingIn(MessageRef),
}

impl Conversation {
    fn of(request: &ModelRequest) -> Option<Self> {
        match &request.cache_key {
            Some(name) => Some(Self::Named(Arc::clone(name))),
            None => request.messages.last().cloned().map(Self::EndingIn),
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(other)) => one == other,
            (Self::EndingIn(one), Self::EndingIn(other)) => one.same(other),
            _ => false,
        }
    }
}

impl Scripted {
    /// Reads a script from a file. The model is called like the file, unless the script names it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let origin = path.display().to_string();
        let refuse = |reason: String| ConfigError::Script {
            origin: origin.clone(),
            reason,
        };
        let mut text = String::new();
        let count = File::open(path)
            .and_then(|file| file.take(MAX_SCRIPT_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| refuse(error.to_string()))?;
        if count as u64 > MAX_SCRIPT_BYTES {
            return Err(refuse(format!(
                "it is larger than {MAX_SCRIPT_BYTES} bytes"
            )));
        }
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        Self::read(&text, &origin, name.as_deref().unwrap_or("script"))
    }

    /// Reads a script from a text.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        Self::read(text, "given as text", "script")
    }

    pub(crate) fn read(text: &str, origin: &str, name: &str) -> Result<Self, ConfigError> {
        let refuse = |reason: String| ConfigError::Script {
            origin: origin.to_owned(),
            reason,
        };
        let script: Script =
            serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        script.check().map_err(refuse)?;
        let name = script.model.name.as_deref().unwrap_or(name);
        let mut info = ModelInfo::new(ModelId::new("scripted", name));
        info.context_window = script.model.context_window;
        info.max_output_tokens = script.model.max_output_tokens;
        info.images = script.model.images;
        info.thinking.clone_from(&script.model.thinking);
        info.prices = script.model.prices;
        Ok(Self {
            info,
            script,
            failed: Mutex::default(),
        })
    }

    /// The turn to play, and its number.
    fn turn(&self, request: &ModelRequest) -> Result<(usize, &Turn), ModelError> {
        let position = position(&request.messages, &self.info.id);
        let conversation = Conversation::of(request);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = conversation
            .as_ref()
            .and_then(|this| failed.iter().position(|entry| entry.conversation.is(this)));
        let attempts = known
            .map(|at| &failed[at])
            .filter(|entry| entry.position == position)
            .map_or(0, |entry| entry.attempts);
        let number = position + attempts;
        let Some(turn) = self.script.turn(number) else {
            let turns = self.script.turns.len();
            return Err(wrong(format!(
                "the script is at its end: it has no turn {number} ({turns} are written)"
            )));
        };
        if let Some(expect) = &turn.expect {
            expect
                .check(request)
                .map_err(|what| wrong(format!("scripted turn {number}: {what}")))?;
        }
        if let Some(at) = known {
            failed.remove(at);
        }
        if turn.fails()
            && let Some(conversation) = conversation
        {
            if failed.len() >= MAX_CONVERSATIONS {
                failed.remove(0);
            }
            failed.push(Failed {
                conversation,
                position,
                attempts: attempts + 1,
            });
        }
        Ok((number, turn))
    }
}

#[async_trait]
impl Model for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        check_request(&request)
            .map_err(|rule| wrong(format!("the request is not valid: {rule}")))?;
        let is_meant = |turn: &&Turn| {
            turn.when
                .as_ref()
                .is_some_and(|when| when.check(&request).is_ok())
        };
        let side = self.script.side.iter().find(is_meant);
        let (played, delay) = if let Some(turn) = side {
            (play::turn(turn, None, &request), turn.delay_ms)
        } else {
            let (number, turn) = self.turn(&request)?;
            let copy = self.script.copy(number);
            (
                play::turn(turn, Some((number, copy)), &request),
                turn.delay_ms,
            )
        };
        let events = played?;
        if delay > 0 {
            let wait = tokio::time::sleep(Duration::from_millis(delay));
            cancel
                .run_until_cancelled(wait)
                .await
                .ok_or(ModelError::Cancelled)?;
        }
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        match events.as_slice() {
            // Nothing was said before it: the request as a whole failed.
            [Err(error)] => Err(error.clone()),
            _ => Ok(stream::iter(events).boxed()),
        }
    }
}

/// The script and what happens do not fit.
fn wrong(message: String) -> ModelError {
    ModelError::Other {
        message,
        retryable: false,
    }
}
