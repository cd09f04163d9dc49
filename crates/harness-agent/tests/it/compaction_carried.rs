//! What goes along with a summary: files, tasks, skills; and who may say so.

use std::sync::Arc;

use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::core::{Caller, Message, RunInput};
use harness_agent::middlewares::{TaskList, restored_tasks};
use harness_agent::{AgentHarness, CompactionSummary, loaded_skills};
use serde_json::json;

use crate::compaction_stage::{Ran, agent, builder, model, run, run_as, talk, texts};

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
        assert_eq!(restored_tasks(&history), tasks);
        assert_eq!(restored_tasks(&history[..1]), tasks);
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
