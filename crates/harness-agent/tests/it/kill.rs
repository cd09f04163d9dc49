//! Processes that are killed at every step of a run's record, and at random moments: nothing that was
//! acknowledged is lost, nothing is done twice, and no request is malformed.
//!
//! The process is this very test binary, which runs [`victim`] with a folder in its environment. It kills
//! itself at a given point, or is killed from here. How many kills are tried at random moments is read from
//! `HARNESS_KILLS`.

mod story;
mod victim;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness_core::{Message, ToolOutcome, protocol};
use harness_session::{Access, Body, JsonlStore, Session, Store};

use self::story::texts;
use self::victim::{ACKNOWLEDGED, EFFECTS, FOLDER, KILL_AT, SAID, SESSIONS};

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Killed,
    Done,
}

/// The process that is killed. Only then is there something to do.
#[test]
fn victim() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let kill_at = std::env::var(KILL_AT).ok();
        let kill_at = kill_at.map(|text| text.parse().unwrap());
        victim::run(Path::new(&folder), kill_at);
    }
}

fn command(folder: &Path, kill_at: Option<u64>) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "kill::victim", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(kill_at) = kill_at {
        command.env(KILL_AT, kill_at.to_string());
    }
    command
}

/// Runs the process to its end, or to the point where it kills itself.
fn live(folder: &Path, kill_at: Option<u64>) -> Ended {
    let output = command(folder, kill_at).output().unwrap();
    ended(output.status, &output.stderr, folder)
}

fn ended(status: std::process::ExitStatus, stderr: &[u8], folder: &Path) -> Ended {
    if status.signal() == Some(9) {
        return Ended::Killed;
    }
    assert!(
        status.success(),
        "{status}: {}\n{}",
        String::from_utf8_lossy(stderr),
        file_of(folder)
    );
    Ended::Done
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // A line that was not ended was not acknowledged either.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

/// The session as it stands in its file, for messages.
fn file_of(folder: &Path) -> String {
    let store = JsonlStore::new(folder.join(SESSIONS));
    let Some(id) = store.ids().unwrap_or_default().pop() else {
        return "no session".to_owned();
    };
    let path = store.path_of(id).unwrap();
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// What holds once the story has come to its end, however often its teller died.
fn check(folder: &Path, what: &str) {
    let store = JsonlStore::new(folder.join(SESSIONS));
    let ids = store.ids().unwrap();
    let [id] = ids[..] else {
        panic!("{what}: {ids:?}")
    };
    let mut session = Session::open(&store, id, Access::Read).unwrap();
    let warnings = session.take_warnings();
    assert!(warnings.is_empty(), "{what}: {warnings:?}");
    let all: Vec<_> = (0..session.log().len())
        .map(|number| session.log().read(number).unwrap())
        .collect();

    let known: BTreeSet<String> = all.iter().map(|entry| entry.id.to_string()).collect();
    assert_eq!(known.len(), all.len(), "{what}: an id is there twice");
    for id in lines(&folder.join(ACKNOWLEDGED)) {
        assert!(
            known.contains(&id),
            "{what}: {id} was acknowledged and is lost"
        );
    }

    let mut effects: BTreeMap<String, u32> = BTreeMap::new();
    for effect in lines(&folder.join(EFFECTS)) {
        *effects.entry(effect).or_default() += 1;
    }
    assert!(
        effects.values().all(|times| *times == 1),
        "{what}: {effects:?}"
    );

    let context = session.context().unwrap();
    assert!(context.queued.is_empty(), "{what}: {:?}", context.queued);
    let (last, before) = context.messages.split_last().unwrap();
    protocol::check_messages(before).unwrap();
    assert_eq!(texts(last), "done", "{what}");

    let branch = session.log().read_all(&session.branch().unwrap()).unwrap();
    let mut answered = BTreeMap::new();
    let mut said = Vec::new();
    let mut settled = BTreeMap::new();
    for entry in branch {
        match entry.body {
            Body::Message(body) => {
                if let Message::User(_) = &*body.message {
                    said.push(texts(&body.message));
                }
            }
            Body::Settlement(settlement) => {
                settled.insert(entry.id, settlement);
            }
            Body::Results(body) => {
                for result in body.results {
                    let outcome = result.outcome.or_else(|| {
                        let settlement = settled.get(&result.settlement?)?;
                        match &settlement.what {
                            harness_session::Settled::Tool { outcome, .. } => Some(outcome.clone()),
                            _ => None,
                        }
                    });
                    let again = answered.insert(result.call_id, outcome.unwrap());
                    assert!(again.is_none(), "{what}: a call has two results");
                }
            }
            _ => {}
        }
    }
    let calls = story::all_calls();
    assert_eq!(answered.len(), calls.len(), "{what}: {answered:?}");
    for (call, is_counted) in calls {
        let effect = effects.get(&call).copied().unwrap_or_default();
        match (&*answered[&call], is_counted) {
            // What is said to have been done was done.
            (ToolOutcome::Done(_), true) => assert_eq!(effect, 1, "{what}: {call}"),
            (ToolOutcome::Done(_), false) | (ToolOutcome::Interrupted, true) => {}
            (other, _) => panic!("{what}: {call}: {other:?}"),
        }
    }
    for message in ["go", "look here", "and then"] {
        let times = said.iter().filter(|text| *text == message).count();
        let acknowledged = lines(&folder.join(SAID)).iter().any(|line| line == message);
        assert!(
            times <= 1 && (times == 1 || !acknowledged),
            "{what}: {message}: {said:?}"
        );
    }
}

/// Each point alone: one kill, then a process that comes to the end.
#[test]
fn a_kill_at_every_step_of_the_record() {
    let mut points = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let ended = live(folder.path(), Some(points));
        if ended == Ended::Done {
            break;
        }
        // The next one lives in this process: where it lives makes no difference to it.
        victim::run(folder.path(), None);
        check(folder.path(), &format!("killed at point {points}"));
        points += 1;
    }
    assert!(points > 150, "{points} points are too few to have been all");
}

/// Kills one after another, each a few steps after the last one.
#[test]
fn kills_in_a_row() {
    for step in [1, 2, 3, 5, 8, 13] {
        let folder = tempfile::tempdir().unwrap();
        let mut kills = 0;
        // A process that dies at once comes nowhere; from some point on it has to live longer.
        while live(folder.path(), Some(step + kills / 4)) == Ended::Killed {
            kills += 1;
            assert!(kills < 2_000, "{}", file_of(folder.path()));
        }
        check(
            folder.path(),
            &format!("{kills} kills, each after {step} points or more"),
        );
    }
}

/// Kills from outside, whenever it happens to be.
#[test]
fn kills_at_random_moments() {
    let wanted: u32 = std::env::var("HARNESS_KILLS").map_or(100, |text| text.parse().unwrap());
    let started = Instant::now();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut kills, mut stories, mut of_this_story) = (0, 0, 0);
    // How long a process lives that nobody kills, as far as is known.
    let mut life = Duration::from_millis(30);
    while kills < wanted {
        let folder = tempfile::tempdir().unwrap();
        stories += 1;
        loop {
            let mut child = command(folder.path(), None).spawn().unwrap();
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let begun = Instant::now();
            std::thread::sleep(life.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64));
            // It may have ended.
            let _ = child.kill();
            let output = child.wait_with_output().unwrap();
            match ended(output.status, &output.stderr, folder.path()) {
                Ended::Killed => {
                    kills += 1;
                    of_this_story += 1;
                    // A process that is killed before it does anything proves nothing.
                    if of_this_story % 20 == 0 {
                        life = life.mul_f64(1.2);
                    }
                }
                Ended::Done => {
                    of_this_story = 0;
                    life = life.mul_f64(0.5) + begun.elapsed().mul_f64(0.5);
                    break;
                }
            }
        }
        check(
            folder.path(),
            &format!("story {stories}, after {kills} kills in all"),
        );
    }
    println!(
        "{kills} kills in {stories} stories, in {:.0} s: nothing lost, nothing twice, no malformed request",
        started.elapsed().as_secs_f64()
    );
}
