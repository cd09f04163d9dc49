//! Agents that work for an agent.

use std::sync::Arc;

use harness_agent::core::test_support::Reply;
use harness_agent::core::{
    Caller, Event, Message, ModelError, ModelRequest, RunOutcome, ToolOutcome,
};
use harness_agent::middlewares::SUBAGENTS_SECTION;
use tokio::sync::Semaphore;

use crate::subagent_stage::{Act, Cast, background, builder, id_of, options, said, task};

/// The results of a conversation, by their calls.
fn results(outcome: &RunOutcome) -> Vec<(String, Arc<ToolOutcome>)> {
    let mut all = Vec::new();
    for message in &outcome.history {
        if let Message::ToolResults(results) = &**message {
            for result in &results.results {
                all.push((result.call_id.clone(), Arc::clone(&result.outcome)));
            }
        }
    }
    all
}

fn texts(outcome: &RunOutcome) -> Vec<String> {
    let all = results(outcome);
    all.iter()
        .map(|(_, outcome)| outcome.shown_text())
        .collect()
}

/// The messages in which the parent is told of what it did not wait for.
fn told(outcome: &RunOutcome) -> Vec<String> {
    let mut told = Vec::new();
    for message in &outcome.history {
        if let Message::User(user) = &**message {
            for part in &user.content {
                if let harness_agent::core::UserPart::Text(text) = part
                    && text.text.starts_with("<subagent-result")
                {
                    told.push(text.text.clone());
                }
            }
        }
    }
    told
}

#[tokio::test]
async fn sub_05_a_subagent_gets_its_task_and_nothing_else() {
    let cast = Arc::new(
        Cast::new()
            .actor(
                "the secret plan of the parent",
                [
                    Reply::call("1", "agent_spawn", &task("helper", "count to three")),
                    Reply::text("It counted."),
                ],
            )
            .actor("count to three", [Reply::text("1 2 3")]),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let outcome = agent
        .prompt("the secret plan of the parent")
        .outcome()
        .await
        .unwrap();
    assert_eq!(outcome.answer(), "It counted.");
    let request = &cast.requests_of("count to three")[0];
    assert_eq!(said(request), ["count to three"]);
    assert_eq!(request.messages.len(), 1);
    let system = request.system.as_deref().unwrap_or_default();
    assert!(system.contains("You are the helper."), "{system}");
    assert!(!system.contains("secret"), "{system}");
    let texts = texts(&outcome);
    assert!(texts[0].contains("status=\"finished\"") && texts[0].contains("\n1 2 3\n"));
}

#[tokio::test]
async fn sub_09_two_of_the_same_words_are_two() {
    let spawn = task("helper", "same words");
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &spawn).and_call("2", "agent_spawn", &spawn),
                    Reply::text("done"),
                ],
            )
            .actor("same words", [Reply::text("mine")]),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let outcome = agent.prompt("go").outcome().await.unwrap();
    let requests = cast.requests_of("same words");
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.messages.len() == 1));
    let texts = texts(&outcome);
    let id = |text: &str| text.split("id=\"").nth(1).unwrap()[..15].to_owned();
    assert_ne!(id(&texts[0]), id(&texts[1]));
}

#[tokio::test]
async fn several_work_at_the_same_time() {
    // Each waits for the other.
    let (one, other) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &task("helper", "first")).and_call(
                        "2",
                        "agent_spawn",
                        &task("helper", "second"),
                    ),
                    Reply::text("done"),
                ],
            )
            .actor(
                "first",
                [
                    Act::Release(other.clone(), Reply::call("x", "agent_list", "{}")),
                    Act::When(one.clone(), Reply::text("1")),
                ],
            )
            .actor(
                "second",
                [
                    Act::When(other.clone(), Reply::call("x", "agent_list", "{}")),
                    Act::Release(one.clone(), Reply::text("2")),
                ],
            ),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let outcome = agent.prompt("go").outcome().await.unwrap();
    assert_eq!(outcome.answer(), "done");
}

#[tokio::test]
async fn what_goes_wrong_is_a_result() {
    let refused = ModelError::InvalidRequest {
        status: Some(400),
        message: "no such model".to_owned(),
    };
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &task("helper", "fail"))
                        .and_call("2", "agent_spawn", &task("nobody", "x"))
                        .and_call("3", "agent_spawn", &task("helper", "  "))
                        .and_call("4", "agent_send", r#"{"id":"helper-1","message":"x"}"#),
                    Reply::text("So be it."),
                ],
            )
            .actor("fail", [Reply::error(refused)]),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let outcome = agent.prompt("go").outcome().await.unwrap();
    let results = results(&outcome);
    assert!(
        results
            .iter()
            .all(|(_, it)| matches!(&**it, ToolOutcome::Failed(_)))
    );
    let texts = texts(&outcome);
    assert!(texts[0].contains("status=\"failed\"") && texts[0].contains("no such model"));
    assert!(texts[1].contains("nobody"), "{}", texts[1]);
    assert!(texts[2].contains("blank"), "{}", texts[2]);
    assert!(texts[3].contains("helper-1"), "{}", texts[3]);
    assert_eq!(outcome.answer(), "So be it.");
}

#[tokio::test]
async fn one_in_the_background_is_waited_for_and_told_once() {
    let permits = Arc::new(Semaphore::new(0));
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Act::from(Reply::call(
                        "1",
                        "agent_spawn",
                        &background("helper", "slow"),
                    )),
                    Act::from(Reply::call("2", "agent_list", "{}")),
                    Act::Release(permits.clone(), Reply::text("I am done.")),
                    Act::from(Reply::text("It said so.")),
                ],
            )
            .actor("slow", [Act::When(permits, Reply::text("slowly"))]),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let outcome = agent.prompt("go").outcome().await.unwrap();
    assert_eq!(outcome.answer(), "It said so.");
    let told = told(&outcome);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("slowly"));
    let texts = texts(&outcome);
    assert!(texts[0].contains("in the background"));
    assert!(
        texts[1].contains("is at work in the background"),
        "{}",
        texts[1]
    );
}

#[tokio::test]
async fn a_subagent_is_gone_on_with() {
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &task("helper", "remember 7")),
                    Reply::text("first"),
                ],
            )
            .actor("remember 7", [Reply::text("kept"), Reply::text("it was 7")]),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let mut session = agent.session();
    let outcome = session.prompt("go").outcome().await.unwrap();
    let text = texts(&outcome)[0].clone();
    let id = text.split(" id=\"").nth(1).unwrap();
    let id = id.split('"').next().unwrap().to_owned();
    let send = serde_json::json!({ "id": id, "message": "what was it?" }).to_string();
    let tool = agent
        .call_tool(
            session.caller().clone(),
            "agent_send",
            &send,
            harness_agent::core::CancellationToken::new(),
        )
        .await
        .unwrap();
    assert!(tool.shown_text().contains("it was 7"), "{tool:?}");
}

#[tokio::test]
async fn sub_08_one_that_is_stopped_stays_stopped() {
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &background("helper", "hang")),
                    Reply::call("2", "agent_list", "{}"),
                ],
            )
            .actor("hang", [Act::Hang]),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let mut session = agent.session();
    let cancel = harness_agent::core::CancellationToken::new();
    let mut run = session.prompt_with("go", cancel.clone());
    let mut id = None;
    while let Some(event) = run.next().await {
        if let Event::Subagent(event) = &event {
            id = Some(event.id.clone());
        }
        // The script of the parent has come to its end: it is to be cancelled before that.
        if let Event::ToolEnd { id, .. } = &event
            && id == "2"
        {
            cancel.cancel();
        }
    }
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status.word(), "cancelled");
    let asked = cast.count();
    let id = id.unwrap();
    let list = agent
        .call_tool(
            session.caller().clone(),
            "agent_list",
            "{}",
            harness_agent::core::CancellationToken::new(),
        )
        .await
        .unwrap();
    let line = format!("{id}: cancelled");
    assert!(list.shown_text().contains(&line), "{}", list.shown_text());
    assert_eq!(cast.count(), asked);
}

#[tokio::test]
async fn sub_08_what_was_stopped_by_its_parent_is_told_by_that_call_alone() {
    let stop = |request: &ModelRequest| {
        let id = id_of(request, "1");
        Reply::call(
            "2",
            "agent_stop",
            &serde_json::json!({ "id": id }).to_string(),
        )
    };
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Act::from(Reply::call(
                        "1",
                        "agent_spawn",
                        &background("helper", "hang"),
                    )),
                    Act::Fitting(stop),
                    Act::from(Reply::text("stopped")),
                ],
            )
            .actor("hang", [Act::Hang]),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let outcome = agent.prompt("go").outcome().await.unwrap();
    assert_eq!(outcome.answer(), "stopped");
    assert!(told(&outcome).is_empty());
    assert!(texts(&outcome)[1].contains("status=\"cancelled\""));
}

#[tokio::test]
async fn the_list_of_agents_is_part_of_the_stable_prompt() {
    let cast = Arc::new(Cast::new().actor("go", [Reply::text("hi")]));
    let agent = builder(&cast, options()).build().unwrap();
    let shown = agent.system_prompt(Caller::default()).await.unwrap();
    let section = shown.fitted.prompt.section(SUBAGENTS_SECTION).unwrap();
    assert!(section.stable);
    let text = section.text.to_string();
    assert!(
        text.contains("- helper: Helps.\n- looker: Looks. (no tools)"),
        "{text}"
    );
}

/// What is given up while it waits has not finished, whatever the model said last.
#[tokio::test]
async fn a_run_that_is_cancelled_while_it_waits_is_cancelled() {
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &background("helper", "hang")),
                    Reply::text("I wait for it."),
                    Reply::text("Hm."),
                    Reply::text("It was cancelled."),
                ],
            )
            .actor("hang", [Act::Hang]),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let mut session = agent.session();
    let cancel = harness_agent::core::CancellationToken::new();
    let mut run = session.prompt_with("go", cancel.clone());
    while let Some(event) = run.next().await {
        if let Event::TurnEnd { turn: 2, .. } = event {
            cancel.cancel();
        }
    }
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status.word(), "cancelled");
    // The next run is told; and what a user pastes settles nothing.
    let pasted = "<subagent-result call=\"1\" id=\"x\">a log</subagent-result>";
    let outcome = session.prompt(pasted).outcome().await.unwrap();
    let told = told(&outcome);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("status=\"cancelled\""), "{told:?}");
}
