//! What the server answers, as bytes made beforehand: streamed Chat Completions of `OpenAI`.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

/// How much of a long answer is handed to the kernel at once.
const BLOCK: usize = 64 * 1024;

/// The files that the turns of [`Script::reads`] take turns in reading.
pub(crate) const SMALL_FILES: [&str; 5] = [
    "small-1.txt",
    "small-2.txt",
    "small-3.txt",
    "small-4.txt",
    "small-5.txt",
];

/// The answers of one run, in order.
#[derive(Debug)]
pub(crate) struct Script {
    /// The name of its recording.
    pub(crate) name: &'static str,
    pub(crate) prompt: &'static str,
    pub(crate) answers: Vec<Answer>,
    /// What the last answer says.
    pub(crate) text: String,
    /// How long each answer lets wait for itself.
    pub(crate) pause: Duration,
}

/// The bytes of one answer, head included, in the blocks in which they are written.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) blocks: Vec<Vec<u8>>,
}

impl Script {
    /// One word.
    pub(crate) fn hi() -> Script {
        Script {
            name: "hi",
            prompt: "Say hi.",
            answers: vec![Stream::start().text(["Hi."]).finish("stop")],
            text: "Hi.".into(),
            pause: Duration::ZERO,
        }
    }

    /// So many turns that each read a small file, then one word.
    pub(crate) fn reads(name: &'static str, turns: usize) -> Script {
        let answers = (0..turns).map(|turn| {
            let path = SMALL_FILES[turn % SMALL_FILES.len()];
            Stream::start().call(turn, path).finish("tool_calls")
        });
        let last = Stream::start().text(["Done."]).finish("stop");
        Script {
            name,
            prompt: "Read the small files, one after another, then say done.",
            answers: answers.chain([last]).collect(),
            text: "Done.".into(),
            pause: Duration::ZERO,
        }
    }

    /// The same, from a service that takes its time.
    pub(crate) fn slowly(mut self, pause: Duration) -> Script {
        self.pause = pause;
        self
    }

    /// One answer in so many deltas.
    pub(crate) fn burst(deltas: usize) -> Script {
        let words = words(deltas);
        let stream = Stream::start()
            .together()
            .text(words.iter().map(String::as_str));
        Script {
            name: "burst",
            prompt: "Write at length.",
            answers: vec![stream.finish("stop")],
            text: words.concat().trim().to_owned(),
            pause: Duration::ZERO,
        }
    }
}

/// Short words in no visible period, so that no client takes the stream for one that repeats
/// itself.
fn words(count: usize) -> Vec<String> {
    const SYLLABLES: [&str; 16] = [
        "ba", "co", "di", "fu", "ge", "ha", "jo", "ki", "lu", "me", "na", "po", "ri", "su", "te",
        "wa",
    ];
    let mut state: u32 = 12345;
    let mut word = |place| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        let mut word = String::new();
        // The last one differs from that of the word before.
        for syllable in [(state >> 16) as usize, (state >> 24) as usize, place] {
            word += SYLLABLES[syllable % SYLLABLES.len()];
        }
        if place % 16 == 15 {
            let _ = writeln!(word, " {place}.");
        } else {
            word.push(' ');
        }
        word
    };
    (0..count).map(&mut word).collect()
}

/// An answer in the making.
struct Stream {
    blocks: Vec<Vec<u8>>,
    /// Events that wait to go out together, of an answer that is ready beforehand; `None`: each
    /// goes out in a chunk of its own, as servers do that flush each token.
    pending: Option<String>,
}

impl Stream {
    fn start() -> Stream {
        let head = "HTTP/1.1 200 OK\r\n\
                    Content-Type: text/event-stream; charset=utf-8\r\n\
                    Cache-Control: no-cache\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        let mut stream = Stream {
            blocks: vec![head.into()],
            pending: None,
        };
        stream.delta(&json!({"role": "assistant", "content": ""}));
        stream
    }

    /// From here on, events go out in chunks of some [`BLOCK`] bytes: the client sets the pace.
    fn together(mut self) -> Stream {
        self.pending = Some(String::new());
        self
    }

    fn text<'a>(mut self, deltas: impl IntoIterator<Item = &'a str>) -> Stream {
        for delta in deltas {
            self.delta(&json!({ "content": delta }));
        }
        self
    }

    /// A call of `read`, its arguments in two pieces as a model sends them.
    fn call(mut self, turn: usize, path: &str) -> Stream {
        let function = json!({"name": "read", "arguments": ""});
        let call = json!({
            "index": 0, "id": format!("call_{turn}"), "type": "function", "function": function,
        });
        self.delta(&json!({ "tool_calls": [call] }));
        let arguments = json!({ "path": path }).to_string();
        let (front, back) = arguments.split_at(arguments.len() / 2);
        for piece in [front, back] {
            let call = json!({"index": 0, "function": {"arguments": piece}});
            self.delta(&json!({ "tool_calls": [call] }));
        }
        self
    }

    fn finish(mut self, reason: &str) -> Answer {
        self.choices(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]));
        let usage = json!({"prompt_tokens": 1500, "completion_tokens": 20, "total_tokens": 1520});
        self.event(&chunk(&json!([]), Some(&usage)));
        self.event("[DONE]");
        if let Some(pending) = self.pending.take() {
            self.chunk(&pending);
        }
        self.write(b"0\r\n\r\n");
        Answer {
            blocks: self.blocks,
        }
    }

    fn delta(&mut self, delta: &serde_json::Value) {
        self.choices(&json!([{"index": 0, "delta": delta, "finish_reason": null}]));
    }

    fn choices(&mut self, choices: &serde_json::Value) {
        self.event(&chunk(choices, None));
    }

    fn event(&mut self, data: &str) {
        let event = format!("data: {data}\n\n");
        let Some(pending) = &mut self.pending else {
            return self.chunk(&event);
        };
        pending.push_str(&event);
        if pending.len() >= BLOCK {
            let full = std::mem::take(pending);
            self.chunk(&full);
        }
    }

    /// One chunk of the transfer.
    fn chunk(&mut self, content: &str) {
        if !content.is_empty() {
            self.write(format!("{:x}\r\n{content}\r\n", content.len()).as_bytes());
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.extend_from_slice(bytes),
            _ => self.blocks.push(bytes.to_vec()),
        }
    }
}

fn chunk(choices: &serde_json::Value, usage: Option<&serde_json::Value>) -> String {
    let mut chunk = json!({
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "model",
        "choices": choices,
    });
    if let Some(usage) = usage {
        chunk["usage"] = usage.clone();
    }
    chunk.to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use super::{Answer, Script, words};

    const END: &[u8] = b"\r\n0\r\n\r\n";

    /// The events of an answer, out of their chunks.
    fn events(answer: &Answer) -> Vec<String> {
        let text = String::from_utf8(answer.blocks.concat()).unwrap();
        let (_, mut rest) = text.split_once("\r\n\r\n").unwrap();
        let mut events = Vec::new();
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            let (chunk, after) = after.split_at(size);
            rest = after.strip_prefix("\r\n").unwrap();
            let parts = chunk
                .split("\n\n")
                .filter_map(|it| it.strip_prefix("data: "));
            events.extend(parts.map(|it| it.trim_end().to_owned()));
        }
        events
    }

    fn deltas(answer: &Answer, pointer: &str) -> String {
        let events = events(answer);
        let values = events
            .iter()
            .filter_map(|it| serde_json::from_str::<Value>(it).ok());
        values
            .filter_map(|it| it.pointer(pointer)?.as_str().map(str::to_owned))
            .collect()
    }

    #[test]
    fn a_reading_turn_calls_the_tool_with_a_path() {
        let script = Script::reads("reads", 7);
        assert_eq!(script.answers.len(), 8);
        let function = "/choices/0/delta/tool_calls/0/function";
        assert_eq!(
            deltas(&script.answers[6], &format!("{function}/arguments")),
            r#"{"path":"small-2.txt"}"#
        );
        assert_eq!(
            deltas(&script.answers[6], &format!("{function}/name")),
            "read"
        );
        assert_eq!(
            deltas(&script.answers[7], "/choices/0/delta/content"),
            "Done."
        );
        assert_eq!(events(&script.answers[7]).last().unwrap(), "[DONE]");
    }

    #[test]
    fn a_burst_says_its_text_in_large_blocks() {
        let script = Script::burst(3000);
        let [answer] = script.answers.as_slice() else {
            panic!("one answer");
        };
        let said = deltas(answer, "/choices/0/delta/content");
        assert_eq!(said.trim(), script.text);
        assert_eq!(events(answer).len(), 3000 + 4);
        let (last, full) = answer.blocks.split_last().unwrap();
        assert!(full.len() > 3 && full.iter().all(|block| block.len() >= super::BLOCK));
        assert!(last.ends_with(END));
    }

    /// The floor takes these bytes for the end, wherever it sees them.
    #[test]
    fn an_answer_has_one_end() {
        for script in [Script::hi(), Script::reads("reads", 3), Script::burst(500)] {
            for answer in script.answers {
                let bytes = answer.blocks.concat();
                let ends = bytes.windows(END.len()).filter(|it| *it == END).count();
                assert_eq!(ends, 1);
                assert!(bytes.ends_with(END));
            }
        }
    }

    #[test]
    fn words_do_not_repeat_in_a_row() {
        let words = words(20_000);
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(words.iter().collect::<HashSet<_>>().len() > 3000);
    }
}
