//! Other processes: this test program, run once more to play a part.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use harness_session::{Access, Error, Filter, Header, Log, SessionId, Store};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::place::{Place, say, texts};

const PART: &str = "HARNESS_SESSION_TEST_PART";
const FOLDER: &str = "HARNESS_SESSION_TEST_FOLDER";
/// What is said of the part, not of the tests.
const ANSWER: &str = "answer: ";

/// Another process, which answers line by line.
pub(crate) struct Other {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn new(part: &str, place: &Place) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new("sh")
            // A program that writes beyond its limit is killed, unless it says otherwise.
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(program)
            .args(["--exact", "process::plays_its_part", "--nocapture"])
            .args(["--test-threads", "1"])
            .env(PART, part)
            .env(FOLDER, &place.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it says next.
    pub(crate) fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "the other process ended without an answer");
            if let Some(at) = line.find(ANSWER) {
                return line[at + ANSWER.len()..].trim_end().to_owned();
            }
        }
    }

    /// Tells it to go on, and gives what it says.
    pub(crate) fn ask(&mut self, what: &str) -> String {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{what}").unwrap();
        self.answer()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) {
        self.input = None;
        assert!(self.child.wait().unwrap().success());
    }
}

fn answer(text: &str) {
    println!("{ANSWER}{text}");
}

/// What this process was told.
fn told() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).unwrap();
    (read > 0).then(|| line.trim_end().to_owned())
}

#[test]
fn plays_its_part() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let place = Place::at(std::env::var(FOLDER).unwrap().as_ref());
    let (verb, rest) = part.split_once(' ').unwrap_or((&part, ""));
    match verb {
        "write" => write(&place, rest.parse().unwrap()),
        "fill" => fill(&place),
        "list" => list(&place),
        other => panic!("no such part: {other}"),
    }
}

/// Writes to a session whatever it is told.
fn write(place: &Place, id: SessionId) {
    let mut log = match place.store.open(id, Access::Write) {
        Ok(log) => log,
        Err(Error::Locked { process, .. }) => {
            let holder = process.map_or("nobody".to_owned(), |it| it.to_string());
            return answer(&format!("locked by {holder}"));
        }
        Err(error) => return answer(&error.to_string()),
    };
    answer("open");
    while let Some(text) = told() {
        match say(&mut *log, &text) {
            Ok(number) => answer(&number.to_string()),
            Err(error) => answer(&error.to_string()),
        }
    }
}

/// Writes a session until there is no more room for its file, and then there is again.
fn fill(place: &Place) {
    let limit = |bytes: u64| {
        let maximum = getrlimit(Resource::Fsize).maximum;
        let limit = Rlimit {
            current: Some(bytes),
            maximum,
        };
        setrlimit(Resource::Fsize, limit).unwrap();
    };
    let mut log = place.store.create(Header::new(None)).unwrap();
    let id = log.header().id;
    let text = "The disk is filling up. ".repeat(30);
    limit(20_000);
    let written = fill_until_it_fails(place, &mut *log, id, &text);
    limit(1_000_000);
    go_on(place, log, id, written);
    answer(&written.to_string());
}

/// Appends until that fails, and checks that only whole entries are there. Gives how many.
pub(crate) fn fill_until_it_fails(
    place: &Place,
    log: &mut dyn Log,
    id: SessionId,
    text: &str,
) -> u64 {
    let error = loop {
        if let Err(error) = say(log, text) {
            break error;
        }
    };
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert!(error.is_retryable(), "{error}");
    let written = log.len();
    assert!(written > 1, "{written}");
    for _ in 0..3 {
        // Nothing is left behind, so that there may be room for a smaller one.
        let much = text.repeat(50);
        assert!(say(log, &much).is_err());
        assert_eq!(log.len(), written);
        let bytes = place.bytes(id);
        assert_eq!(bytes.last(), Some(&b'\n'));
        let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
        assert_eq!(lines, written + 2);
    }
    assert_eq!(texts(log), vec![text; written as usize]);
    written
}

/// There is room again: the same log goes on, and the next one has everything.
pub(crate) fn go_on(place: &Place, mut log: Box<dyn Log>, id: SessionId, written: u64) {
    assert_eq!(say(&mut *log, "room again").unwrap(), written);
    drop(log);
    let mut log = place.write(id);
    assert_eq!(log.take_warnings(), [""; 0]);
    assert_eq!(log.len(), written + 1);
    assert_eq!(texts(&*log).last().unwrap(), "room again");
}

/// Lists the sessions, and tells how many bytes it read for that.
fn list(place: &Place) {
    let before = bytes_read();
    let listed = place.store.list(&Filter::default()).unwrap();
    let bytes = bytes_read() - before;
    answer(&format!("{} {bytes}", listed.len()));
}

fn bytes_read() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.unwrap().parse().unwrap()
}
