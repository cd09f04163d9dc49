//! A model that refuses what does not fit, panics on what breaks a rule, and works at random.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use harness_agent::core::{
    CancellationToken, DynamicTool, Image, Message, MessageRef, Model, ModelError, ModelEvent,
    ModelId, ModelInfo, ModelRequest, ModelStream, OutputPart, StopReason, Text, ThinkingLevel,
    ToolOutput, Usage, UserPart, async_trait, protocol,
};
use serde_json::json;

/// Numbers that only depend on a seed.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

/// What a test wants to know of a request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) is_summary: bool,
    pub(crate) refused: bool,
}

/// Counts a token for every so many bytes, and works for so many turns a run.
#[derive(Debug)]
pub(crate) struct StrictModel {
    info: ModelInfo,
    window: u64,
    bytes_per_token: f64,
    turns: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    dice: Dice,
    turn: u64,
    calls: u64,
    asked: Vec<Asked>,
}

impl StrictModel {
    pub(crate) fn new(window: u64, seed: u64, turns: u64) -> Self {
        let mut info = ModelInfo::new(ModelId::new("test", "strict"));
        info.context_window = Some(window);
        info.max_output_tokens = Some(window / 4);
        Self {
            info,
            window,
            bytes_per_token: 4.0,
            turns,
            state: Mutex::new(State {
                dice: Dice::new(seed),
                turn: 0,
                calls: 0,
                asked: Vec::new(),
            }),
        }
    }

    /// Nobody knows the window.
    pub(crate) fn unknown(mut self) -> Self {
        self.info.context_window = None;
        self
    }

    /// Counts otherwise than it is expected to.
    pub(crate) fn bytes_per_token(mut self, bytes: f64) -> Self {
        self.bytes_per_token = bytes;
        self
    }

    /// Whether it counts as it is expected to.
    pub(crate) fn is_foreseen(&self) -> bool {
        self.bytes_per_token >= 4.0 && self.info.context_window.is_some()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }

    fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.bytes_per_token) as u64
    }
}

/// All text of a request's messages.
pub(crate) fn text_of(messages: &[MessageRef]) -> String {
    let mut all = String::new();
    for message in messages {
        match &**message {
            Message::User(user) => {
                for part in &user.content {
                    if let UserPart::Text(text) = part {
                        all.push_str(&text.text);
                        all.push('\n');
                    }
                }
            }
            Message::Assistant(reply) => all.push_str(&reply.text()),
            Message::ToolResults(results) => {
                for result in &results.results {
                    all.push_str(&result.outcome.shown_text());
                }
            }
            _ => {}
        }
    }
    all
}

/// Whether a model is asked for a summary.
pub(crate) fn is_summary(text: &str) -> bool {
    text.starts_with("You are about to lose")
        || text.starts_with("The conversation below is the beginning")
        || text.starts_with("The conversation below is a branch")
}

#[async_trait]
impl Model for StrictModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(
        &self,
        request: ModelRequest,
        _: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        if let Err(rule) = protocol::check_request(&request) {
            panic!("the request breaks a rule: {rule}");
        }
        let messages = request.messages.iter();
        let bytes: usize = messages.map(|message| message.approximate_bytes()).sum();
        let system = request.system.as_ref().map_or(0, |system| system.len());
        let tools: usize = request
            .tools
            .iter()
            .map(|tool| {
                tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
            })
            .sum();
        let tokens = self.tokens(bytes + system + tools);
        let most = self.info.max_output_tokens.unwrap_or(self.window);
        let output = request.max_output_tokens.unwrap_or(most).min(most);
        let text = text_of(&request.messages);
        let is_summary = is_summary(&text);
        let refused = tokens + output > self.window;
        let mut state = self.state.lock().unwrap();
        let asked = Asked {
            is_summary,
            refused,
        };
        state.asked.push(asked);
        if refused {
            return Err(ModelError::ContextOverflow {
                message: format!("{tokens} and {output} are more than {}", self.window),
            });
        }
        let bytes = (output as f64 * self.bytes_per_token) as u64;
        let events = if is_summary {
            assert_eq!(request.tools.iter().len(), 0);
            assert_eq!(request.thinking, ThinkingLevel::Off);
            state.summary(&text, bytes)
        } else {
            assert!(text.contains("GOAL-"), "the goal is lost: {text}");
            state.work(bytes, self.turns)
        };
        let usage = Usage {
            input_tokens: tokens,
            output_tokens: output / 2,
            ..Usage::default()
        };
        let mut events = events;
        events.insert(events.len() - 1, ModelEvent::Usage(usage));
        Ok(futures::stream::iter(events.into_iter().map(Ok)).boxed())
    }
}

impl State {
    fn summary(&mut self, text: &str, bytes: u64) -> Vec<ModelEvent> {
        let goals: Vec<&str> = text
            .split_whitespace()
            .filter(|word| word.starts_with("GOAL-"))
            .collect();
        let mut summary = goals.first().map_or("no goal", |goal| goal).to_owned();
        let more = self
            .dice
            .below(bytes.saturating_sub(summary.len() as u64 + 1));
        summary.push_str(&" s".repeat(more as usize / 2));
        vec![
            ModelEvent::Text {
                block: 0,
                delta: summary,
            },
            ModelEvent::Stop(StopReason::EndTurn),
        ]
    }

    /// Calls at random; in the end, an answer.
    fn work(&mut self, bytes: u64, turns: u64) -> Vec<ModelEvent> {
        self.turn += 1;
        let mut events = Vec::new();
        if self.dice.below(3) == 0 {
            events.push(ModelEvent::Thinking {
                block: 0,
                delta: "hm ".repeat(self.dice.below(bytes / 24) as usize + 1),
            });
            events.push(ModelEvent::ThinkingSignature {
                block: 0,
                signature: "signed".to_owned(),
                redacted: false,
            });
        }
        if self.turn.is_multiple_of(turns) {
            events.push(ModelEvent::Text {
                block: 1,
                delta: "Done.".to_owned(),
            });
            events.push(ModelEvent::Stop(StopReason::EndTurn));
            return events;
        }
        events.push(ModelEvent::Text {
            block: 1,
            delta: "I look. ".repeat(self.dice.below(bytes / 64) as usize + 1),
        });
        let calls = match self.dice.below(6) {
            0 => self.dice.below(12) + 1,
            _ => self.dice.below(2) + 1,
        };
        for number in 0..calls {
            self.calls += 1;
            let pad = match self.dice.below(8) {
                0 => self.dice.below(bytes / 2 / calls),
                _ => self.dice.below(60),
            };
            let size = match self.dice.below(6) {
                0 => self.dice.below(bytes * 3),
                1 => self.dice.below(bytes),
                _ => self.dice.below(bytes / 8),
            };
            let arguments = json!({
                "size": size,
                "image": self.dice.below(20) == 0,
                "pad": "p".repeat(pad as usize),
                "number": self.calls,
            });
            let block = 2 + number as u32;
            events.push(ModelEvent::ToolCall {
                block,
                id: format!("c{}", self.calls),
                name: "work".to_owned(),
            });
            events.push(ModelEvent::ToolArguments {
                block,
                delta: arguments.to_string(),
            });
        }
        events.push(ModelEvent::Stop(StopReason::ToolCalls));
        events
    }
}

/// A tool whose results are as long as they are asked to be.
pub(crate) fn work() -> DynamicTool {
    let schema = json!({"type": "object"});
    DynamicTool::new("work", "Works.", schema, |_, arguments| {
        Box::pin(async move {
            let size = arguments["size"].as_u64().unwrap_or_default() as usize;
            let number = &arguments["number"];
            let mut output = ToolOutput::text(format!("{number}: {}", "line\n".repeat(size / 5)));
            if arguments["image"] == true {
                output = output.with_image(Image {
                    media_type: "image/png".to_owned(),
                    data: Arc::from("AAAA"),
                });
            }
            output.parts.push(OutputPart::Text(Text {
                text: "end".to_owned(),
            }));
            Ok(output)
        })
    })
}
