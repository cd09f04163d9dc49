//! A session in a list, and a session to look at.

use std::sync::Arc;
use std::time::Duration;

use harness_core::{
    AssistantMessage, AssistantPart, Image, Message, ModelId, Replay, StopReason, Text, Thinking,
    ThinkingLevel, ToolCall, ToolOutcome, ToolOutput, Usage, UserMessage, UserPart,
};
use harness_session::{
    Body, BranchSummaryBody, CompactionBody, Entry, EntryId, Error, Header, Intent, LabelBody,
    LeafBody, Log, MessageBody, ModelChangeBody, NameBody, Node, NodeKind, ResultsBody, Settled,
    Settlement, StoredResult, Timestamp,
};

/// 1 March 2026, 14:15:09 UTC.
pub(crate) const BEGAN: u64 = 1_772_374_509_000;

/// A log that is a list of lines.
#[derive(Debug)]
pub(crate) struct Kept {
    header: Header,
    lines: Vec<Vec<u8>>,
    nodes: Vec<Option<Node>>,
    now: u64,
}

impl Kept {
    pub(crate) fn new() -> Self {
        let header = serde_json::json!({
            "version": 1, "id": "019ca9c0-0000-7000-8000-000000000001", "time": BEGAN,
            "cwd": "/home/ada/engine",
            "parent": {"session": "019ca9b0-0000-7000-8000-000000000002"},
        });
        Self {
            header: serde_json::from_value(header).unwrap(),
            lines: Vec::new(),
            nodes: Vec::new(),
            now: BEGAN,
        }
    }

    pub(crate) fn leaf(&self) -> Option<u64> {
        self.len().checked_sub(1)
    }

    pub(crate) fn wait(&mut self, milliseconds: u64) {
        self.now += milliseconds;
    }

    /// Appends behind the leaf.
    pub(crate) fn add(&mut self, body: Body) -> u64 {
        let parent = self.leaf();
        self.add_to(parent, body)
    }

    pub(crate) fn add_to(&mut self, parent: Option<u64>, body: Body) -> u64 {
        self.now += 100;
        // Ids that are the same each time, so that snapshots are.
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&self.now.to_be_bytes()[2..]);
        bytes[6] = 0x70;
        bytes[8] = 0x80;
        bytes[15] = self.lines.len() as u8;
        let id = EntryId::from_bytes(bytes);
        let line = serde_json::json!({
            "type": "leaf", "id": id, "time": Timestamp(self.now),
            "parent": parent.map(|parent| self.id(parent)),
        });
        let mut entry = Entry::parse(line.to_string().as_bytes()).unwrap();
        entry.body = body;
        self.append(&entry, parent).unwrap()
    }

    pub(crate) fn id(&self, number: u64) -> EntryId {
        self.node(number).unwrap().id
    }

    /// Appends a line that nobody can vouch for.
    pub(crate) fn add_line(&mut self, line: &str) -> u64 {
        let parent = self.leaf();
        self.keep(parent, line.as_bytes().to_vec())
    }

    fn keep(&mut self, parent: Option<u64>, line: Vec<u8>) -> u64 {
        let entry = Entry::parse(&line).ok();
        self.nodes.push(entry.map(|entry| Node {
            id: entry.id,
            parent,
            kind: NodeKind::of(&entry.body),
        }));
        self.lines.push(line);
        self.len() - 1
    }

    pub(crate) fn user(&mut self, text: &str) -> u64 {
        self.add(user(text))
    }

    pub(crate) fn begin_run(&mut self) -> EntryId {
        let number = self.add(Body::Intent(Intent::Run {
            run: "r".to_owned(),
            model: model(),
        }));
        self.id(number)
    }

    pub(crate) fn end_run(&mut self, run: EntryId, outcome: &str, error: Option<&str>) {
        self.add(settled(
            run,
            Settled::Run {
                outcome: outcome.to_owned(),
                error: error.map(str::to_owned),
                turns: 1,
                usage: Usage::default(),
                cost: None,
            },
        ));
    }

    /// A reply, with the journal of its request.
    pub(crate) fn reply(&mut self, turn: u32, content: Vec<AssistantPart>) -> u64 {
        let intent = self.add(Body::Intent(Intent::Model {
            step: format!("t{turn}/a1/model1"),
            model: model(),
            thinking: ThinkingLevel::Medium,
            messages: 3,
            max_output_tokens: None,
        }));
        self.wait(2_400);
        let usage = Usage {
            input_tokens: 12_345,
            output_tokens: 678,
            cache_read_tokens: 10_000,
            cache_write_tokens: 2_000,
            reasoning_tokens: 300,
        };
        let calls = content
            .iter()
            .any(|part| matches!(part, AssistantPart::ToolCall(_)));
        let stop = if calls {
            StopReason::ToolCalls
        } else {
            StopReason::EndTurn
        };
        self.add(settled(
            self.id(intent),
            Settled::Model {
                stop: Some(stop.clone()),
                usage: Some(usage),
                cost: Some(0.0123),
                error: None,
            },
        ));
        self.add(Body::Message(MessageBody {
            message: Message::Assistant(AssistantMessage {
                content,
                model: model(),
                stop,
                usage: Some(usage),
                response_id: None,
            })
            .into(),
            queued: None,
        }))
    }

    /// Calls that run one after the other, and their results.
    pub(crate) fn results(&mut self, turn: u32, results: Vec<(&str, &str, ToolOutcome)>) -> u64 {
        let mut stored = Vec::new();
        for (index, (call_id, name, outcome)) in results.into_iter().enumerate() {
            let intent = self.add(Body::Intent(Intent::Tool {
                step: format!("t{turn}/call{index}/tool1"),
                call_id: call_id.to_owned(),
                name: name.to_owned(),
                arguments: Arc::new(serde_json::json!({"path": "src/engine.rs"})),
                replay: Replay::Never,
            }));
            self.wait(700);
            let settlement = self.add(settled(
                self.id(intent),
                Settled::Tool {
                    call_id: call_id.to_owned(),
                    outcome: Arc::new(outcome),
                    elapsed: Duration::from_millis(640),
                },
            ));
            stored.push(StoredResult {
                call_id: call_id.to_owned(),
                name: name.to_owned(),
                outcome: None,
                settlement: Some(self.id(settlement)),
            });
        }
        self.add(Body::Results(ResultsBody { results: stored }))
    }
}

impl Log for Kept {
    fn header(&self) -> &Header {
        &self.header
    }

    fn len(&self) -> u64 {
        self.lines.len() as u64
    }

    fn node(&self, number: u64) -> Result<Node, Error> {
        self.nodes[number as usize].ok_or_else(|| Error::Unreadable {
            number,
            problem: "torn".to_owned(),
        })
    }

    fn find(&self, id: EntryId) -> Result<Option<u64>, Error> {
        let place = self
            .nodes
            .iter()
            .rposition(|node| node.is_some_and(|node| node.id == id));
        Ok(place.map(|place| place as u64))
    }

    fn read(&self, number: u64) -> Result<Entry, Error> {
        Entry::parse(&self.lines[number as usize]).map_err(|error| Error::Unreadable {
            number,
            problem: error.to_string(),
        })
    }

    fn append(&mut self, entry: &Entry, parent: Option<u64>) -> Result<u64, Error> {
        let mut line = Vec::new();
        entry.write(&mut line).unwrap();
        Ok(self.keep(parent, line))
    }

    fn checkpoint(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}

pub(crate) fn model() -> ModelId {
    ModelId::new("example", "model-5")
}

pub(crate) fn user(text: &str) -> Body {
    Body::Message(MessageBody {
        message: Message::user(text).into(),
        queued: None,
    })
}

pub(crate) fn settled(intent: EntryId, what: Settled) -> Body {
    Body::Settlement(Settlement { intent, what })
}

pub(crate) fn text(text: &str) -> AssistantPart {
    AssistantPart::Text(Text {
        text: text.to_owned(),
    })
}

pub(crate) fn thinking(text: &str) -> AssistantPart {
    AssistantPart::Thinking(Thinking {
        text: text.to_owned(),
        ..Thinking::default()
    })
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

/// A picture of one red pixel.
pub(crate) fn pixel() -> Image {
    Image {
        media_type: "image/png".to_owned(),
        data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==".into(),
    }
}

/// A session with a little of everything: two runs with a night between them, a branch that was left, a
/// branch of that branch, a compaction, every way in which a call may end.
pub(crate) fn sample() -> Kept {
    let mut kept = Kept::new();
    kept.add(Body::ModelChange(ModelChangeBody { model: model() }));
    let run = kept.begin_run();
    let first = kept.user("Fix the failing test in `engine.rs`, please.");
    kept.reply(
        1,
        vec![
            thinking("The test is about carries. I should read the file first."),
            text("I read the file and run the test."),
            call("c1", "read", r#"{"path":"src/engine.rs","limit":200}"#),
            call("c2", "bash", r#"{"command":"cargo test carries"}"#),
        ],
    );
    kept.results(
        1,
        vec![
            (
                "c1",
                "read",
                ToolOutcome::done("fn carry(digit: u8) -> bool {\n    digit > 9\n}\n"),
            ),
            (
                "c2",
                "bash",
                ToolOutcome::failed("test carries ... FAILED\nassertion failed: carry(9)"),
            ),
        ],
    );
    let answer = kept.reply(
        2,
        vec![text(
            "## What was wrong\n\nThe comparison in `carry` leaves out **nine**:\n\n```rust\nfn carry(digit: u8) -> bool {\n    digit >= 9\n}\n```\n\nShall I change it?",
        )],
    );
    kept.end_run(run, "finished", None);
    kept.add(Body::Label(LabelBody {
        target: kept.id(answer),
        label: Some("diagnosis".to_owned()),
    }));
    kept.add(Body::Name(NameBody {
        name: Some("The carry of nine".to_owned()),
    }));

    let left = add_left_branch(&mut kept);
    go_on(&mut kept, first, answer, left);
    kept
}

/// A branch that is left, with one of its own.
fn add_left_branch(kept: &mut Kept) -> u64 {
    kept.wait(40_000);
    let run = kept.begin_run();
    let aside = kept.user("Rewrite it with a table instead.");
    kept.reply(1, vec![text("A table of ten entries, then.")]);
    kept.end_run(run, "cancelled", None);
    kept.add_to(Some(aside), Body::Leaf(LeafBody {}));
    kept.user("Smaller, please.")
}

/// The branch of the leaf goes on from the answer, after a night.
fn go_on(kept: &mut Kept, first: u64, answer: u64, left: u64) {
    kept.wait(32_400_000);
    kept.add_to(Some(answer), Body::Leaf(LeafBody {}));
    kept.add(Body::BranchSummary(BranchSummaryBody {
        from: kept.id(left),
        message: Message::user("A table was tried and left.").into(),
        details: serde_json::Value::Null,
    }));
    let run = kept.begin_run();
    kept.add(Body::Message(MessageBody {
        message: Message::User(UserMessage {
            content: vec![
                UserPart::Text(Text {
                    text: "Yes. This is what it should look like:".to_owned(),
                }),
                UserPart::Image(pixel()),
            ],
        })
        .into(),
        queued: None,
    }));
    kept.reply(
        1,
        vec![
            call(
                "c3",
                "edit",
                r#"{"path":"src/engine.rs","edits":[{"old_text":"> 9","new_text":">= 9"}]}"#,
            ),
            call("c4", "bash", r#"{"command":"rm -rf target"}"#),
            call("c5", "bash", r#"{"command":"sleep 100"}"#),
            call("c6", "write", r#"{"path":"notes.txt","content":"nine"}"#),
        ],
    );
    kept.results(
        1,
        vec![
            (
                "c3",
                "edit",
                ToolOutcome::Done(ToolOutput::text("1 edit").with_image(pixel())),
            ),
            (
                "c4",
                "bash",
                ToolOutcome::Denied {
                    by: "policy".to_owned(),
                    reason: "deleting is not allowed".to_owned(),
                },
            ),
            ("c5", "bash", ToolOutcome::Cancelled),
            ("c6", "write", ToolOutcome::Interrupted),
        ],
    );
    kept.add(Body::Compaction(CompactionBody {
        messages: vec![Message::user("So far: nine carries now.").into()],
        first_kept: Some(kept.id(first)),
        tokens_before: 118_000,
        reason: "threshold".to_owned(),
        model: None,
        thinking: None,
        run: None,
        queued: Vec::new(),
        details: serde_json::Value::Null,
    }));
    kept.reply(2, vec![text("Done: nine carries, and the test passes.")]);
    kept.end_run(run, "limit", Some("the limit of 2 turns"));
}
