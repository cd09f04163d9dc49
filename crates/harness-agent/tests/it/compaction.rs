//! What a compaction does in a run, case by case.

use std::sync::{Arc, Mutex};

use harness_agent::core::test_support::{PushedModel, Reply, ScriptedModel, assert_hooks_honest};
use harness_agent::core::{
    Attributes, Caller, CancellationToken, CompactionReason, Event, Message, ModelError,
    ModelEvent, RunContext, RunInput, RunOptions, StopReason, async_trait, from_fn,
};
use harness_agent::middlewares::{CompactionMiddleware, CompactionOptions, CompactionRequests};
use harness_agent::prompt::Library;
use harness_agent::{
    CompactionSummary, Extension, ExtensionResult, SummaryDraft, SystemPromptSource,
};

use crate::compaction_stage::{agent, builder, info, model, overflow, run, run_as, talk, texts};
use crate::strict_model::is_summary;

#[tokio::test]
async fn a_long_conversation_is_summarised_before_the_next_request() {
    let model = model([
        Reply::text("In short: GOAL-1.").usage(100, 5),
        Reply::text("Done.").usage(9, 1),
    ]);
    let history = talk(30);
    let ran = run(&agent(&model), history.clone(), "And now?").await;
    assert_eq!(ran.outcome.status.word(), "finished");
    assert_eq!(ran.compactions(), ["start threshold", "end threshold"]);
    let texts = texts(&model);
    assert_eq!(texts.len(), 2);
    assert!(is_summary(&texts[0]) && texts[0].contains("GOAL-1 is to mend"));
    assert!(!texts[0].contains("And now?"));
    assert!(texts[1].contains("In short: GOAL-1.") && texts[1].contains("And now?"));
    assert!(texts[1].contains("Step 29.") && !texts[1].contains("Step 0."));
    // What it cost is in the sum.
    assert_eq!(ran.outcome.usage.total(), 115);
    // What is kept is the same messages.
    let kept = ran.outcome.history[1].clone();
    assert!(history.iter().any(|message| message.same(&kept)));
}

#[tokio::test]
async fn an_earlier_summary_is_brought_up_to_date() {
    let replies = [
        Reply::text("FIRST summary of GOAL-1."),
        Reply::text("Done."),
        Reply::text("SECOND summary."),
        Reply::text("Done."),
    ];
    let model = model(replies);
    let agent = agent(&model);
    let mut history = run(&agent, talk(30), "And now?").await.outcome.history;
    history.push(Message::user("More.").into());
    history.extend(talk(30).into_iter().skip(1));
    let ran = run(&agent, history, "And then?").await;
    let texts = texts(&model);
    assert!(texts[2].contains("<previous-summary>\nFIRST summary of GOAL-1.\n</previous-summary>"));
    assert!(
        !texts[2].contains("too long and was replaced"),
        "{}",
        texts[2]
    );
    assert_eq!(ran.summary().text, "SECOND summary.");
    let summaries = ran.outcome.history.iter();
    let summaries = summaries.filter(|it| CompactionSummary::of(it).is_some());
    assert_eq!(summaries.count(), 1);
}

#[tokio::test]
async fn a_split_task_has_a_summary_of_its_own() {
    let calls = (0..6).map(|it| Reply::call(&format!("c{it}"), "get", r#"{"path":"a.txt"}"#));
    let mut replies: Vec<Reply> = calls.collect();
    replies.push(Reply::text("BEFORE the task."));
    replies.push(Reply::text("BEGINNING of the task."));
    replies.push(Reply::text("Done."));
    let model = model(replies);
    let ran = run(&agent(&model), talk(10), "TASK: look at it.").await;
    let texts = texts(&model);
    let [before, beginning] = [6, 7].map(|at| &texts[at]);
    assert!(before.starts_with("You are about to lose") && !before.contains("TASK"));
    assert!(beginning.starts_with("The conversation below is the beginning"));
    assert!(beginning.contains("TASK: look at it.") && beginning.contains("result of get"));
    let text = ran.summary().text;
    assert_eq!(
        text,
        "BEFORE the task.\n\n# The beginning of the task at hand\n\nBEGINNING of the task."
    );
    assert!(texts[8].contains(&text), "{}", texts[8]);
}

#[tokio::test]
async fn loop_13_a_window_that_is_too_small_is_told_of_once() {
    let replies = (0..4).map(|it| Reply::call(&format!("c{it}"), "get", r#"{"path":"a"}"#));
    let model =
        Arc::new(ScriptedModel::new(replies.chain([Reply::text("Done.")])).info(info(Some(4_000))));
    let long = SystemPromptSource::Text("Rule. ".repeat(1_400));
    let agent = builder().shared_model(model.clone()).system_prompt(long);
    let ran = run(&agent.build().unwrap(), Vec::new(), "Go.").await;
    let warnings = ran.warnings();
    let told = warnings
        .iter()
        .filter(|it| it.contains("the tools take about"));
    assert_eq!(told.count(), 1, "{warnings:?}");
    assert_eq!(ran.compactions(), Vec::<String>::new());
    assert!(texts(&model).iter().all(|text| !is_summary(text)));
}

#[tokio::test]
async fn loop_14_what_is_asked_for_by_hand_happens_once() {
    let replies = [
        Reply::call("c", "get", r#"{"path":"a.txt"}"#),
        Reply::text("In short."),
        Reply::call("d", "get", r#"{"path":"b.txt"}"#),
        Reply::text("Done."),
    ];
    let model = model(replies);
    let requests = Attributes::default();
    let asked = requests.get_or_insert_with(CompactionRequests::default);
    // While the first reply streams.
    let middleware = {
        let asked = Mutex::new(Some(asked));
        from_fn::on_event("asks", move |_, event| {
            if matches!(event, Event::Reply { .. })
                && let Some(asked) = asked.lock().unwrap().take()
            {
                asked.request(Some("the files".to_owned()));
                asked.request(Some("the FOCUS".to_owned()));
            }
        })
    };
    let agent = builder().shared_model(model.clone()).middleware(middleware);
    let caller = Caller {
        attributes: requests,
        ..Caller::default()
    };
    let input = RunInput::prompt("Go.").with_history(talk(8));
    let ran = run_as(&agent.build().unwrap(), input, caller).await;
    assert_eq!(ran.compactions(), ["start manual", "end manual"]);
    let texts = texts(&model);
    let summaries: Vec<&String> = texts.iter().filter(|text| is_summary(text)).collect();
    assert_eq!(summaries.len(), 1);
    assert!(
        summaries[0].contains("<focus>\nthe FOCUS\n</focus>"),
        "{}",
        summaries[0]
    );
}

#[tokio::test]
async fn loop_26_a_reply_has_room_behind_any_request() {
    let mut info = info(Some(20_000));
    info.max_output_tokens = Some(12_000);
    let model = Arc::new(ScriptedModel::new([Reply::text("Done.")]).info(info));
    run(&agent(&model), talk(35), "And now?").await;
    let requests = model.requests();
    // Below the threshold, and with all of the output above the window.
    assert_eq!(requests.len(), 1);
    let bytes: usize = requests[0]
        .messages
        .iter()
        .map(|it| it.approximate_bytes())
        .sum();
    let output = requests[0].max_output_tokens.unwrap();
    assert!(
        bytes as u64 / 3 + output <= 20_000 && output > 1_024,
        "{bytes} {output}"
    );
}

#[tokio::test]
async fn loop_27_a_request_of_too_many_bytes_is_not_summarised() {
    let model = model([Reply::error(ModelError::RequestTooLarge {
        message: "one picture".to_owned(),
    })]);
    let ran = run(&agent(&model), talk(10), "And now?").await;
    assert_eq!(ran.outcome.status.word(), "failed");
    assert_eq!(ran.compactions(), Vec::<String>::new());
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn an_overflow_is_followed_by_one_compaction_and_then_by_an_honest_failure() {
    for window in [None, Some(200_000)] {
        let replies = [overflow(), Reply::text("In short."), Reply::text("Done.")];
        let model = Arc::new(ScriptedModel::new(replies).info(info(window)));
        let ran = run(&agent(&model), talk(30), "And now?").await;
        assert_eq!(ran.outcome.status.word(), "finished");
        assert_eq!(ran.compactions(), ["start overflow", "end overflow"]);
        let replies = [overflow(), Reply::text("In short."), overflow()];
        let model = Arc::new(ScriptedModel::new(replies).info(info(window)));
        let ran = run(&agent(&model), talk(30), "And now?").await;
        assert_eq!(ran.outcome.status.word(), "failed");
        assert_eq!(model.requests().len(), 3);
        let error = format!("{:?}", ran.outcome.status);
        assert!(error.contains("ContextOverflow"), "{error}");
    }
}

/// Summaries that are no summaries do not get into the conversation.
#[tokio::test]
async fn what_is_not_whole_is_never_stored() {
    let cut = || Reply::text("Half a sum").stop(StopReason::Length);
    let other = || Reply::text("x").stop(StopReason::Other("odd".to_owned()));
    let filtered = || Reply::text("x").stop(StopReason::ContentFilter);
    let broken = || {
        Reply::error(ModelError::InvalidRequest {
            status: Some(400),
            message: "no".to_owned(),
        })
    };
    for (bad, why) in [
        (vec![cut(), cut(), cut()], "cut off"),
        (
            vec![
                Reply::text(" \n"),
                Reply::new().and_thinking("hm", None),
                Reply::text("<think>x"),
            ],
            "empty",
        ),
        (
            vec![
                Reply::call("x", "get", "{}"),
                Reply::call("y", "get", "{}"),
                Reply::call("z", "get", "{}"),
            ],
            "asked for tools",
        ),
        (vec![other(), other(), other()], "unknown reason: odd"),
        (vec![filtered()], "content filter"),
        (vec![broken()], "refused the request"),
        (
            vec![Reply::busy(), Reply::busy(), Reply::busy()],
            "the provider failed",
        ),
        (vec![overflow(), overflow(), overflow()], "does not fit"),
    ] {
        let asked = bad.len();
        let model = model(bad.into_iter().chain([Reply::text("Done.")]));
        let history = talk(30);
        let ran = run(&agent(&model), history.clone(), "And now?").await;
        assert_eq!(ran.outcome.status.word(), "finished", "{why}");
        assert!(ran.outcome.history.starts_with(&history), "{why}");
        assert_eq!(model.requests().len(), asked + 1, "{why}");
        let [start, end] = &ran.compactions()[..] else {
            panic!("{why}: {:?}", ran.compactions());
        };
        assert_eq!(start, "start threshold");
        assert!(
            end.starts_with("failed threshold:") && end.contains(why),
            "{end}"
        );
        assert!(ran.warnings().iter().any(|it| it.contains(why)), "{why}");
    }
}

#[tokio::test]
async fn a_summary_is_asked_for_again_and_all_of_it_is_counted() {
    let replies = [
        Reply::text("Half").stop(StopReason::Length).usage(10, 1),
        Reply::busy(),
        Reply::text("Whole.").usage(20, 2),
        Reply::text("Done.").usage(40, 4),
    ];
    let model = model(replies);
    let ran = run(&agent(&model), talk(30), "And now?").await;
    assert_eq!(ran.summary().text, "Whole.");
    assert_eq!(ran.outcome.usage.total(), 77);
    let outputs: Vec<Option<u64>> = model
        .requests()
        .iter()
        .map(|it| it.max_output_tokens)
        .collect();
    assert!(outputs[1] >= outputs[0], "{outputs:?}");
}

#[tokio::test]
async fn too_long_a_transcript_is_halved() {
    let replies = [
        overflow(),
        overflow(),
        Reply::text("Short."),
        Reply::text("Done."),
    ];
    let model = model(replies);
    run(&agent(&model), talk(30), "And now?").await;
    let lengths: Vec<usize> = texts(&model).iter().map(String::len).collect();
    assert!(
        lengths[1] < lengths[0] && lengths[2] < lengths[1],
        "{lengths:?}"
    );
    assert!(texts(&model)[2].contains("GOAL-1"));
}

#[tokio::test]
async fn after_three_failures_no_more_is_tried() {
    let bad = || {
        Reply::error(ModelError::InvalidRequest {
            status: None,
            message: "no".to_owned(),
        })
    };
    let mut replies = Vec::new();
    for number in 0..5 {
        if number < 3 {
            replies.push(bad());
        }
        replies.push(Reply::call(&format!("c{number}"), "get", "{}"));
    }
    replies.push(Reply::text("Done."));
    let model = model(replies);
    let ran = run(&agent(&model), talk(30), "And now?").await;
    assert_eq!(ran.outcome.status.word(), "finished");
    assert_eq!(ran.compactions().len(), 6);
}

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
async fn between_runs_a_conversation_is_made_shorter_on_demand() {
    let model = model([Reply::text("In short.").usage(7, 7), Reply::text("Done.")]);
    let agent = agent(&model);
    let cx = RunContext::detached(Caller::default());
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
