//! What happens beside a compaction: what is said meanwhile, what rides along, who may give a summary.

use std::sync::Arc;

use harness_agent::core::test_support::{
    PushedModel, Reply, ScriptedModel, assert_hooks_honest,
};
use harness_agent::core::{
    Caller, CancellationToken, CompactionReason, Message, ModelEvent, RunInput, RunOptions,
    StopReason, async_trait,
};
use harness_agent::middlewares::{
    CompactionMiddleware, CompactionOptions, TaskList,
};
use harness_agent::prompt::Library;
use harness_agent::{
    AgentHarness, CompactionSummary, Extension, ExtensionResult, SummaryDraft, loaded_skills,
};
use serde_json::json;

use crate::compaction_stage::*;

#[tokio::test]
async fn loop_28_and_30_what_is_said_meanwhile_is_delivered_once_behind_it() {
    let (pushed, mut requests) = PushedModel::new();
    let mut options = CompactionOptions::default();
    options.model = Some(Arc::new(pushed));
    options.background_tokens = None;
    let model = model([
        Reply::call("c", "get", r#"{"path":"a.txt"}"#),
        Reply::text("Done."),
        Reply::text("Done again."),
    ]);
    let agent = builder().shared_model(model.clone()).compaction(options);
    let agent = agent.build().unwrap();
    let input = RunInput::prompt("And now?").with_history(talk(30));
    let handle = agent.run(input, RunOptions::default());
    let control = handle.control();
    let meanwhile = async {
        let exchange = futures::StreamExt::next(&mut requests).await.unwrap();
        control.steer("STEERED words").unwrap();
        control.follow_up("FOLLOWED words").unwrap();
        exchange.send(ModelEvent::Text {
            block: 0,
            delta: "In short.".to_owned(),
        });
        exchange.send(ModelEvent::Stop(StopReason::EndTurn));
    };
    let (outcome, ()) = futures::join!(handle.outcome(), meanwhile);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.compactions, 1);
    let texts = texts(&model);
    // After the compaction: the first request, without it; then with it.
    let counts = |word: &str| -> Vec<usize> {
        texts
            .iter()
            .map(|text| text.matches(word).count())
            .collect()
    };
    assert_eq!(counts("STEERED"), [0, 1, 1]);
    assert_eq!(counts("FOLLOWED"), [0, 0, 1]);
    assert_eq!(counts("In short."), [1, 1, 1]);
}

#[tokio::test]
async fn loop_38_calls_and_results_of_a_turn_stay_together() {
    let two = Reply::call("a", "get", r#"{"path":"a"}"#).and_call("b", "put", r#"{"path":"b"}"#);
    let mut replies = vec![two];
    replies.extend((0..9).map(|it| Reply::call(&format!("c{it}"), "get", r#"{"path":"c"}"#)));
    // The fake checks the request for the summary as well; how often one is needed does not matter here.
    let replies = replies.into_iter().chain([Reply::text("Done.")]);
    let mut options = CompactionOptions::default();
    options.background_tokens = None;
    let summaries = Arc::new(ScriptedModel::new([Reply::text("In short.")]).last_forever());
    options.model = Some(summaries.clone());
    let model = model(replies);
    let agent = builder().shared_model(model).compaction(options).build();
    let ran = run(&agent.unwrap(), Vec::new(), "Go.").await;
    assert_eq!(ran.outcome.status.word(), "finished");
    let text = &texts(&summaries)[0];
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("[calls get") < at("[calls put") && at("[calls put") < at("result of get:"));
    assert!(at("result of get:") < at("result of put:"));
}

#[tokio::test]
async fn loop_46_a_cancel_during_a_summary_ends_the_run() {
    let (pushed, mut requests) = PushedModel::new();
    let mut options = CompactionOptions::default();
    options.model = Some(Arc::new(pushed));
    options.background_tokens = None;
    let model = model([]);
    let agent = builder().shared_model(model.clone()).compaction(options);
    let agent = agent.build().unwrap();
    let cancel = CancellationToken::new();
    let input = RunInput::prompt("And now?").with_history(talk(30));
    let options = RunOptions {
        cancellation: Some(cancel.clone()),
        ..RunOptions::default()
    };
    let handle = agent.run(input, options);
    let meanwhile = async {
        let exchange = futures::StreamExt::next(&mut requests).await.unwrap();
        cancel.cancel();
        exchange
    };
    let (outcome, exchange) = futures::join!(handle.outcome(), meanwhile);
    assert_eq!(outcome.unwrap().status.word(), "cancelled");
    assert!(exchange.cancel.is_cancelled());
    assert!(requests.try_recv().is_err() && model.requests().is_empty());
}

#[tokio::test]
async fn files_ride_along_each_once() {
    let call = |id: &str, tool: &str, path: &str| {
        Reply::call(id, tool, &json!({"path": path}).to_string())
    };
    let replies = [
        call("1", "get", "b\n<x>.txt"),
        call("2", "get", "a.txt"),
        call("3", "put", "a.txt"),
        Reply::call("4", "put", r#"{"path":"failed.txt","fail":true}"#),
        call("5", "put", "c.txt"),
        Reply::text("All is read."),
        Reply::text("In short."),
        Reply::text("Done."),
        Reply::text("Shorter still."),
        Reply::text("Done."),
    ];
    let model = model(replies);
    let agent = agent(&model);
    let mut history = run(&agent, Vec::new(), "Go.").await.outcome.history;
    for expected in ["In short.", "Shorter still."] {
        history.push(Message::user("More.").into());
        history.extend(talk(30).into_iter().skip(1));
        let ran = run(&agent, history, "And now?").await;
        let summary = ran.summary();
        assert_eq!(summary.text, expected);
        assert_eq!(summary.read_files, ["b\n<x>.txt"]);
        assert_eq!(summary.modified_files, ["a.txt", "c.txt"]);
        history = ran.outcome.history;
    }
    assert!(texts(&model)[6].contains("<changed-files>\na.txt\nc.txt\n"));
}

/// Gives every summary itself.
struct Gives;

#[async_trait]
impl Extension for Gives {
    fn name(&self) -> &'static str {
        "gives"
    }

    async fn on_compaction(&self, mut draft: SummaryDraft) -> ExtensionResult<SummaryDraft> {
        draft.summary = Some(format!("{} messages", draft.request.messages.len()));
        Ok(draft)
    }
}

#[tokio::test]
async fn an_extension_gives_the_summary() {
    let model = model([Reply::text("Done.").usage(5, 5)]);
    let agent = builder().shared_model(model.clone()).extension(Gives);
    let ran = run(&agent.build().unwrap(), talk(30), "And now?").await;
    assert!(ran.summary().text.ends_with(" messages"));
    assert_eq!(model.requests().len(), 1);
    assert_eq!(ran.outcome.usage.total(), 10);
}

#[tokio::test]
async fn it_can_be_switched_off() {
    let model = model([Reply::text("Done.")]);
    let agent = builder().shared_model(model.clone()).without_compaction();
    let ran = run(&agent.build().unwrap(), talk(30), "And now?").await;
    assert_eq!(ran.compactions(), Vec::<String>::new());
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_summary_cannot_be_forged_by_typing_it() {
    let mine = model([Reply::text("In short."), Reply::text("Done.")]);
    let ran = run(&agent(&mine), talk(30), "And now?").await;
    let Message::User(forged) = &*ran.outcome.history[0] else {
        panic!();
    };
    let model = model([Reply::text("Done.")]);
    let input = RunInput::prompt(forged.clone());
    let ran = run_as(&agent(&model), input, Caller::default()).await;
    assert_eq!(CompactionSummary::of(&ran.outcome.history[0]), None);
}

#[tokio::test]
async fn between_runs_a_conversation_is_made_shorter_on_demand() {
    let model = model([Reply::text("In short.").usage(7, 7), Reply::text("Done.")]);
    let agent = agent(&model);
    let cx = harness_agent::core::RunContext::detached(Caller::default());
    let history = talk(8);
    let config = agent.loop_config();
    let compaction = agent.summarise_history(&cx, config, &history, Some("the FOCUS"));
    let compaction = compaction.await.unwrap().unwrap();
    assert_eq!(compaction.reason, CompactionReason::Manual);
    assert!(compaction.kept > 0 && compaction.kept < history.len());
    assert_eq!(compaction.spent.unwrap().usage.total(), 14);
    assert_eq!(
        compaction.details["summarised"],
        history.len() - compaction.kept
    );
    assert!(texts(&model)[0].contains("the FOCUS"));
    let mut shorter = compaction.summary;
    shorter.extend_from_slice(&history[history.len() - compaction.kept..]);
    assert_eq!(
        run(&agent, shorter, "And now?").await.outcome.status.word(),
        "finished"
    );
    let nothing = agent.summarise_history(&cx, config, &talk(0), None).await;
    assert_eq!(nothing.unwrap(), None);
}

#[tokio::test]
async fn the_hooks_are_honest() {
    let options = CompactionOptions::default();
    let library = Arc::new(Library::default());
    assert_hooks_honest(CompactionMiddleware::new(options, library)).await;
}

mod tasks {
    use super::*;

    fn list(first: &str, second: &str) -> String {
        json!({"todos": [
            {"content": "CANARY one", "status": first},
            {"content": "CANARY two", "status": second},
        ]})
        .to_string()
    }

    /// Runs through the two lists, and then through a compaction in the very next request.
    async fn compacted(last: &str) -> (Ran, Arc<ScriptedModel>, AgentHarness) {
        let replies = [
            Reply::call("1", "todo_write", &list("in_progress", "pending")),
            Reply::call("2", "todo_write", last).and_call("3", "get", r#"{"path":"a"}"#),
            Reply::text("In short."),
            Reply::text("Done."),
            Reply::text("Done."),
        ];
        let model = model(replies);
        let agent = builder().shared_model(model.clone()).task_list(true);
        let agent = agent.build().unwrap();
        let caller = Caller::default();
        let input = RunInput::prompt("Go.").with_history(talk(21));
        let ran = run_as(&agent, input, caller).await;
        assert_eq!(ran.compactions(), ["start threshold", "end threshold"]);
        (ran, model, agent)
    }

    #[tokio::test]
    async fn sub_10_and_11_the_newest_list_is_restated() {
        let (ran, model, agent) = compacted(&list("completed", "in_progress")).await;
        let texts = texts(&model);
        let shown = "[x] CANARY one\n[~] CANARY two";
        assert!(texts[3].contains(shown), "{}", texts[3]);
        let tasks = ran.summary().tasks;
        assert_eq!(tasks.len(), 2);
        // A session that is opened again: nothing is in its attributes.
        let history = ran.outcome.history;
        assert_eq!(harness_agent::middlewares::restored_tasks(&history), tasks);
        assert_eq!(
            harness_agent::middlewares::restored_tasks(&history[..1]),
            tasks
        );
        let caller = Caller::default();
        let filled = caller.attributes.get_or_insert_with(TaskList::default);
        filled.set(tasks).unwrap();
        let input = RunInput::prompt("Go on.").with_history(history);
        run_as(&agent, input, caller).await;
        assert!(self::texts(&model)[4].contains(shown));
    }

    #[tokio::test]
    async fn sub_12_a_finished_list_is_not_restated() {
        let (ran, _, _) = compacted(&list("completed", "completed")).await;
        assert_eq!(ran.summary().tasks, []);
        let Message::User(summary) = &*ran.outcome.history[0] else {
            panic!();
        };
        assert!(!format!("{summary:?}").contains("CANARY"));
    }
}

mod skills {
    use super::*;
    use crate::skills::{found, load, tree};

    #[tokio::test]
    async fn the_texts_of_skills_outlive_compactions() {
        let folder = tree();
        let replies = [
            load("1", r#"{"name":"review"}"#),
            Reply::text("Loaded."),
            Reply::text("In short."),
            Reply::text("Done."),
            Reply::text("Shorter still."),
            Reply::text("Done."),
            load("2", r#"{"name":"review"}"#),
            Reply::text("Done."),
        ];
        let model = model(replies);
        let agent = builder()
            .shared_model(model.clone())
            .skills(found(folder.path()));
        let agent = agent.build().unwrap();
        let caller = Caller::default();
        let mut history = Vec::new();
        let ran = run_as(&agent, RunInput::prompt("Go."), caller.clone()).await;
        history.extend(ran.outcome.history);
        let loaded = loaded_skills(&history);
        assert_eq!(loaded.len(), 1);
        for expected in ["In short.", "Shorter still."] {
            history.push(Message::user("More.").into());
            history.extend(talk(30).into_iter().skip(1));
            let input = RunInput::prompt("And now?").with_history(history);
            let ran = run_as(&agent, input, caller.clone()).await;
            assert_eq!(ran.summary().text, expected);
            history = ran.outcome.history;
            assert_eq!(loaded_skills(&history), loaded);
        }
        // It is known to be there.
        let input = RunInput::prompt("Again.").with_history(history);
        run_as(&agent, input, caller).await;
        let last = texts(&model).pop().unwrap();
        assert!(last.contains("loaded already"), "{last}");
    }
}
