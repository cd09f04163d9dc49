//! Old, large results give way to references.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use harness_agent::core::test_support::{ManualClock, Reply, ScriptedModel, assert_hooks_honest};
use harness_agent::core::{
    AssistantMessage, AssistantPart, Caller, Event, Image, Limits, Message, MessageRef, Middleware,
    ModelId, OutputPart, RunContext, RunInput, RunOptions, StopReason, Text, ToolCall, ToolOutcome,
    ToolOutput, ToolResult, ToolResults, from_fn, protocol,
};
use harness_agent::middlewares::{EvictionOptions, ToolResultEvictionMiddleware};
use harness_agent::{AgentHarness, AgentSession};

fn options(threshold: u64, folder: &Path) -> EvictionOptions {
    let mut options = EvictionOptions::default();
    options.threshold_tokens = threshold;
    options.folder = Some(folder.to_owned());
    options
}

fn user(text: &str) -> MessageRef {
    Message::user(text).into()
}

fn call(id: &str, name: &str, arguments: &str) -> MessageRef {
    Message::Assistant(AssistantMessage {
        content: vec![AssistantPart::ToolCall(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })],
        model: ModelId::new("test", "scripted"),
        stop: StopReason::ToolCalls,
        usage: None,
        response_id: None,
    })
    .into()
}

fn result(id: &str, name: &str, outcome: ToolOutcome) -> MessageRef {
    Message::ToolResults(ToolResults {
        results: vec![ToolResult {
            call_id: id.to_owned(),
            name: name.to_owned(),
            outcome: Arc::new(outcome),
        }],
    })
    .into()
}

/// A conversation in which the model makes these calls, and then much that is small.
fn conversation(calls: &[(&str, &str, ToolOutcome)]) -> Vec<MessageRef> {
    let mut messages = vec![user("Go.")];
    for (n, (name, arguments, outcome)) in calls.iter().enumerate() {
        let id = format!("c{n}");
        messages.push(call(&id, name, arguments));
        messages.push(result(&id, name, outcome.clone()));
    }
    messages.extend((0..8).map(|n| user(&format!("small {n}"))));
    messages
}

fn lines(count: usize) -> String {
    let lines: Vec<_> = (1..=count)
        .map(|n| format!("line {n} of what a tool gave\n"))
        .collect();
    lines.concat()
}

fn outcome(message: &Message) -> &ToolOutcome {
    match message {
        Message::ToolResults(results) => &results.results[0].outcome,
        other => panic!("{other:?}"),
    }
}

/// The file that a reference names.
fn file(text: &str) -> PathBuf {
    let (_, rest) = text.split_once(" is in ").unwrap();
    PathBuf::from(rest.split_once(']').unwrap().0)
}

async fn show(
    middleware: &ToolResultEvictionMiddleware,
    cx: &RunContext,
    messages: &[MessageRef],
) -> Vec<MessageRef> {
    let shown = middleware.on_context(cx, messages.to_vec()).await.unwrap();
    protocol::check_messages(&shown).unwrap();
    shown
}

#[tokio::test]
async fn its_hooks_are_honest() {
    assert_hooks_honest(ToolResultEvictionMiddleware::default()).await;
}

#[test]
fn the_threshold_is_half_of_a_known_window() {
    for (window, threshold) in [(None, 100_000), (Some(32_000), 16_000)] {
        let options = EvictionOptions::for_context_window(window);
        assert_eq!(options.threshold_tokens, threshold);
    }
}

#[tokio::test]
async fn a_reference_shows_both_ends_and_the_file_keeps_all() {
    let parent = tempfile::tempdir().unwrap();
    let middleware = ToolResultEvictionMiddleware::new(options(1_000, parent.path()));
    let cx = RunContext::detached(Caller::default());
    let all = lines(1_000);
    let messages = conversation(&[
        ("bash", "{}", ToolOutcome::done(all.clone())),
        ("../x", "{}", ToolOutcome::failed("é€".repeat(5_000))),
        ("ls", "{}", ToolOutcome::done("short")),
    ]);
    let shown = show(&middleware, &cx, &messages).await;
    let text = outcome(&shown[2]).shown_text();
    assert!(text.starts_with("line 1 of") && text.ends_with("line 1000 of what a tool gave\n"));
    assert!(text.len() < 1_500, "{text}");
    assert!(
        text.contains(&format!("of {} bytes are left out here", all.len())),
        "{text}"
    );
    let kept = file(&text);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), all);
    assert!(kept.ends_with("0001-bash.txt"), "{kept:?}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&kept), mode(kept.parent().unwrap())), (0o600, 0o700));

    assert!(matches!(outcome(&shown[4]), ToolOutcome::Failed(_)));
    let text = outcome(&shown[4]).shown_text();
    assert_eq!(
        std::fs::read_to_string(file(&text)).unwrap(),
        "é€".repeat(5_000)
    );
    for (n, (shown, stored)) in shown.iter().zip(&messages).enumerate() {
        assert_eq!(shown.same(stored), n != 2 && n != 4, "message {n}");
    }
    // The same bytes again, also for messages that somebody made anew.
    let anew: Vec<MessageRef> = messages
        .iter()
        .map(|one| serde_json::from_str(&serde_json::to_string(one).unwrap()).unwrap())
        .collect();
    for again in [messages, anew] {
        let again = show(&middleware, &cx, &again).await;
        assert!(again[2].same(&shown[2]) && again[4].same(&shown[4]));
    }
    drop(cx);
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn pictures_give_way_to_their_files() {
    let parent = tempfile::tempdir().unwrap();
    let middleware = ToolResultEvictionMiddleware::new(options(1_000, parent.path()));
    let cx = RunContext::detached(Caller::default());
    let picture = |data: &str| Image {
        media_type: "image/png".to_owned(),
        data: data.into(),
    };
    let large = "QUJD".repeat(2_000);
    let output = ToolOutput::text("a note")
        .with_image(picture(&large))
        .with_image(picture("QUJD"))
        .with_image(picture(&"!".repeat(9_000)));
    let messages = conversation(&[("read", "{}", ToolOutcome::Done(output))]);
    let shown = show(&middleware, &cx, &messages).await;
    let parts = outcome(&shown[2]).shown();
    let OutputPart::Text(reference) = &parts[1] else {
        panic!("{parts:?}");
    };
    assert_eq!(
        std::fs::read(file(&reference.text)).unwrap(),
        b"ABC".repeat(2_000)
    );
    assert!(file(&reference.text).ends_with("0001-read.png"));
    let note = Text {
        text: "a note".to_owned(),
    };
    assert_eq!(parts[0], OutputPart::Text(note));
    assert!(matches!(
        &parts[2..],
        [OutputPart::Image(_), OutputPart::Image(_)]
    ));
}

#[tokio::test]
async fn what_is_recent_small_or_below_the_threshold_stays() {
    let parent = tempfile::tempdir().unwrap();
    let cx = RunContext::detached(Caller::default());
    let small = conversation(&vec![
        ("ls", "{}", ToolOutcome::done("x".repeat(4_096)));
        20
    ]);
    let mut recent = conversation(&[("bash", "{}", ToolOutcome::done(lines(1_000)))]);
    recent.truncate(9);
    let large = conversation(&[("bash", "{}", ToolOutcome::done(lines(1_000)))]);
    for (messages, threshold) in [(small, 1_000), (recent, 1_000), (large, 100_000)] {
        let middleware = ToolResultEvictionMiddleware::new(options(threshold, parent.path()));
        let shown = show(&middleware, &cx, &messages).await;
        assert!(shown.iter().zip(&messages).all(|(one, two)| one.same(two)));
    }
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

/// Content that was read back gives way once more, and then never again.
#[tokio::test]
async fn what_is_read_back_does_not_go_in_a_circle() {
    let parent = tempfile::tempdir().unwrap();
    let middleware = ToolResultEvictionMiddleware::new(options(1_000, parent.path()));
    let cx = RunContext::detached(Caller::default());
    let mut calls = vec![("bash", "{}".to_owned(), ToolOutcome::done(lines(1_000)))];
    for round in 0..4 {
        let listed: Vec<_> = calls
            .iter()
            .map(|(name, arguments, outcome)| (*name, arguments.as_str(), outcome.clone()))
            .collect();
        let shown = show(&middleware, &cx, &conversation(&listed)).await;
        let last = outcome(&shown[2 * calls.len()]).shown_text();
        if round >= 2 {
            assert_eq!(last, lines(1_000), "round {round}");
            break;
        }
        let path = file(&last);
        assert!(
            path.to_str()
                .unwrap()
                .contains(&format!("/000{}-", round + 1)),
            "{path:?}"
        );
        let arguments = serde_json::json!({ "path": path }).to_string();
        calls.push((
            "read",
            arguments,
            ToolOutcome::done(std::fs::read_to_string(path).unwrap()),
        ));
    }
    assert_eq!(calls.len(), 3);
}

#[tokio::test]
async fn what_cannot_be_written_stays_and_is_told_once() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let history = conversation(&[("bash", "{}", ToolOutcome::done(lines(1_000)))]);
    let model = Arc::new(ScriptedModel::new([
        Reply::call("x", "nothing", "{}"),
        Reply::text("End."),
    ]));
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .clock(Arc::new(ManualClock::new()))
        .middleware(ToolResultEvictionMiddleware::new(options(1_000, &file)))
        .build()
        .unwrap();
    let input = RunInput::prompt("And?").with_history(history.clone());
    let mut run = agent.run(input, RunOptions::default());
    let mut warnings = Vec::new();
    while let Some(event) = run.next().await {
        if let Event::Warning { message } = event {
            warnings.push(message);
        }
    }
    assert!(
        matches!(&warnings[..], [one] if one.contains("stays: ")),
        "{warnings:?}"
    );
    for request in model.requests() {
        assert!(request.messages[2].same(&history[2]));
    }
}

/// A tool whose results are large.
fn session_of(
    turns: usize,
    middleware: ToolResultEvictionMiddleware,
) -> (Arc<ScriptedModel>, AgentSession) {
    let replies = (0..turns).map(|n| {
        let id = |k: usize| format!("call_{n}_{k}");
        Reply::new()
            .and_text("Let me see.")
            .and_call(&id(0), "large", "{}")
            .and_call(&id(1), "small", "{}")
    });
    let model = Arc::new(ScriptedModel::new(replies.chain([Reply::text("Done.")])));
    let results = from_fn::on_tool_call("results", |_, call, _| {
        let text = match call.name.as_str() {
            "large" => format!("{}{}", call.id, lines(200)),
            _ => "small".to_owned(),
        };
        Box::pin(async move { ToolOutcome::done(text) })
    });
    let mut limits = Limits::default();
    limits.max_turns = 100;
    let session = AgentHarness::builder()
        .shared_model(model.clone())
        .clock(Arc::new(ManualClock::new()))
        .limits(limits)
        .middleware(results)
        .middleware(middleware)
        .build()
        .unwrap()
        .session();
    (model, session)
}

/// PROMPT-06: each request begins with the one before it, but for the few after a step.
#[tokio::test]
async fn prompt_06_forty_turns_are_rewritten_a_few_times() {
    let parent = tempfile::tempdir().unwrap();
    let middleware = ToolResultEvictionMiddleware::new(options(20_000, parent.path()));
    let (model, mut session) = session_of(40, middleware);
    session.prompt("Go.").outcome().await.unwrap();
    let requests = model.requests();
    assert_eq!(requests.len(), 41);
    let mut rewritten = Vec::new();
    for (n, pair) in requests.windows(2).enumerate() {
        protocol::check_request(&pair[1]).unwrap();
        let (before, after) = (&pair[0].messages, &pair[1].messages);
        // The same values in memory, so that their encoded form is used again.
        if !before
            .iter()
            .zip(after.iter())
            .all(|(one, two)| one.same(two))
        {
            rewritten.push(n);
        }
    }
    assert!((1..=6).contains(&rewritten.len()), "{rewritten:?}");
    assert!(
        rewritten.windows(2).all(|pair| pair[1] - pair[0] >= 5),
        "{rewritten:?}"
    );
    let bytes: usize = requests[40]
        .messages
        .iter()
        .map(|one| one.approximate_bytes())
        .sum();
    assert!(bytes < 90_000, "{bytes}");
    // What is stored is whole.
    let large = lines(200);
    for message in session.history() {
        if let Message::ToolResults(results) = &**message {
            let text = results.results[0].outcome.shown_text();
            assert_eq!(text, format!("{}{large}", results.results[0].call_id));
            assert_eq!(results.results.len(), 2);
        }
    }
    drop(session);
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

/// What cannot shrink enough is not rewritten on each turn either.
#[tokio::test]
async fn a_threshold_that_cannot_be_kept_is_not_tried_on_each_turn() {
    let parent = tempfile::tempdir().unwrap();
    let middleware = ToolResultEvictionMiddleware::new(options(4_000, parent.path()));
    let (model, mut session) = session_of(40, middleware);
    session.prompt("Go.").outcome().await.unwrap();
    let rewritten = model
        .requests()
        .windows(2)
        .filter(|pair| {
            let (before, after) = (&pair[0].messages, &pair[1].messages);
            !before
                .iter()
                .zip(after.iter())
                .all(|(one, two)| one.same(two))
        })
        .count();
    assert!((5..=30).contains(&rewritten), "{rewritten}");
}

#[tokio::test]
async fn sessions_share_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let middleware = ToolResultEvictionMiddleware::new(options(1_000, parent.path()));
    let contexts: Vec<RunContext> = (0..8)
        .map(|_| RunContext::detached(Caller::default()))
        .collect();
    let paths = Mutex::new(Vec::new());
    let messages = conversation(&[("bash", "{}", ToolOutcome::done(lines(1_000)))]);
    let all = contexts.iter().map(|cx| async {
        let shown = show(&middleware, cx, &messages).await;
        paths
            .lock()
            .unwrap()
            .push(file(&outcome(&shown[2]).shown_text()));
    });
    futures::future::join_all(all).await;
    let mut folders: Vec<_> = paths
        .into_inner()
        .unwrap()
        .iter()
        .map(|path| path.parent().unwrap().to_owned())
        .collect();
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), 8);
    // Two runs of one session at once: one of the two references stays.
    let cx = RunContext::detached(Caller::default());
    let (one, two) = futures::join!(
        show(&middleware, &cx, &messages),
        show(&middleware, &cx, &messages)
    );
    let again = show(&middleware, &cx, &messages).await;
    assert!(again[2].same(&one[2]) || again[2].same(&two[2]));
}

#[cfg(feature = "tools")]
#[tokio::test]
async fn read_opens_the_file_where_reading_is_confined() {
    use harness_agent::core::CancellationToken;
    use harness_tools::{Access, Workspace};

    let parent = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let workspace = Workspace::new(project.path()).with_read_access(Access::WorkspaceOnly);
    let middleware =
        ToolResultEvictionMiddleware::new(options(1_000, parent.path())).readable_in(&workspace);
    let cx = RunContext::detached(Caller::default());
    let messages = conversation(&[("bash", "{}", ToolOutcome::done(lines(500)))]);
    let shown = show(&middleware, &cx, &messages).await;
    let path = file(&outcome(&shown[2]).shown_text());
    let agent = AgentHarness::builder()
        .model(ScriptedModel::new([]))
        .tools(harness_agent::default_tools(&workspace))
        .build()
        .unwrap();
    let read = async |path: &Path| {
        let arguments = serde_json::json!({ "path": path }).to_string();
        let cancel = CancellationToken::new();
        agent
            .call_tool(Caller::default(), "read", &arguments, cancel)
            .await
            .unwrap()
    };
    assert_eq!(read(&path).await.shown_text(), lines(500));
    let beside = path.with_file_name("beside.txt");
    std::fs::write(&beside, "not told of").unwrap();
    assert!(matches!(read(&beside).await, ToolOutcome::Denied { .. }));
}
