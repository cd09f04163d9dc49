//! When a request is made again, and how long is waited before.

use std::sync::Arc;
use std::time::Duration;

use harness_core::test_support::{ManualClock, Reply, ScriptedModel};
use harness_core::{Event, ModelError, RetryPolicy};

use crate::stage::{builder, ran, scripted};

const SECOND: Duration = Duration::from_secs(1);

fn policy() -> RetryPolicy {
    RetryPolicy {
        jitter: 0.0,
        ..RetryPolicy::default()
    }
}

fn busy(retry_after: Option<Duration>) -> ModelError {
    ModelError::Unavailable {
        status: Some(503),
        message: String::new(),
        retry_after,
    }
}

fn limited(status: Option<u16>, retry_after: Option<Duration>) -> ModelError {
    ModelError::RateLimited {
        status,
        message: String::new(),
        retry_after,
    }
}

#[test]
fn delays() {
    let year = Duration::from_hours(24 * 365);
    let none = Duration::ZERO;
    let half = RetryPolicy {
        jitter: 0.5,
        ..policy()
    };
    let long = RetryPolicy {
        base: Duration::MAX,
        max_delay: Duration::MAX,
        budget: Duration::MAX,
        max_attempts: u32::MAX,
        ..half.clone()
    };
    let nan = RetryPolicy {
        jitter: f64::NAN,
        ..policy()
    };
    let wild = RetryPolicy {
        jitter: 7.0,
        ..policy()
    };
    let cases = [
        // (policy, error, attempt, waited, random) → delay
        (&policy(), busy(None), 1, none, 0, Some(SECOND)),
        (&policy(), busy(None), 2, none, 0, Some(2 * SECOND)),
        (&policy(), busy(None), 4, none, 0, Some(8 * SECOND)),
        (&policy(), busy(None), 5, none, 0, None),
        (&policy(), busy(None), u32::MAX, none, 0, None),
        (&policy(), busy(None), 0, none, 0, Some(SECOND)),
        (&half, busy(None), 4, none, 0, Some(8 * SECOND)),
        (&half, busy(None), 4, none, u64::MAX, Some(4 * SECOND)),
        (&nan, busy(None), 1, none, u64::MAX, Some(SECOND)),
        (&wild, busy(None), 1, none, u64::MAX, Some(none)),
        (
            &RetryPolicy {
                max_attempts: 99,
                ..policy()
            },
            busy(None),
            90,
            none,
            0,
            Some(30 * SECOND),
        ),
        // The budget holds what was waited and what would be.
        (&policy(), busy(None), 4, 172 * SECOND, 0, Some(8 * SECOND)),
        (&policy(), busy(None), 4, 173 * SECOND, 0, None),
        // What the provider asks for: in full, without jitter, or not at all.
        (
            &half,
            busy(Some(60 * SECOND)),
            1,
            none,
            u64::MAX,
            Some(60 * SECOND),
        ),
        (
            &policy(),
            limited(Some(429), Some(3 * SECOND)),
            1,
            none,
            0,
            Some(3 * SECOND),
        ),
        (&policy(), limited(None, Some(none)), 1, none, 0, Some(none)),
        (&policy(), busy(Some(181 * SECOND)), 1, none, 0, None),
        (&policy(), busy(Some(180 * SECOND)), 1, SECOND, 0, None),
        (&policy(), busy(Some(year)), 1, none, 0, None),
        (&policy(), busy(Some(Duration::MAX)), 1, SECOND, 0, None),
        (
            &long,
            busy(Some(Duration::MAX)),
            1,
            Duration::MAX,
            0,
            Some(Duration::MAX),
        ),
        (&long, busy(None), 9, Duration::MAX, 0, Some(Duration::MAX)),
        (&RetryPolicy::never(), busy(None), 1, none, 0, None),
        (
            &RetryPolicy {
                max_attempts: 0,
                ..policy()
            },
            busy(None),
            1,
            none,
            0,
            None,
        ),
    ];
    for (policy, error, attempt, waited, random, expected) in cases {
        let delay = policy.delay(&error, attempt, waited, random);
        assert_eq!(
            delay, expected,
            "{error:?}, attempt {attempt}, waited {waited:?}, {policy:?}"
        );
    }
}

#[test]
fn only_what_may_pass_is_retried() {
    let text = String::new;
    let cases = [
        (
            ModelError::Connection {
                url: text(),
                message: text(),
            },
            true,
        ),
        (ModelError::Timeout { seconds: 1 }, true),
        (ModelError::StreamCut { message: text() }, true),
        (ModelError::StreamInvalid { message: text() }, true),
        (limited(Some(429), None), true),
        (busy(None), true),
        (
            ModelError::Other {
                message: text(),
                retryable: true,
            },
            true,
        ),
        (
            ModelError::Other {
                message: text(),
                retryable: false,
            },
            false,
        ),
        (ModelError::ReplyTooLarge { max_bytes: 1 }, false),
        (
            ModelError::Quota {
                status: Some(429),
                message: text(),
            },
            false,
        ),
        (
            ModelError::Authentication {
                status: 401,
                message: text(),
            },
            false,
        ),
        (
            ModelError::NotFound {
                url: text(),
                message: text(),
            },
            false,
        ),
        (ModelError::ContextOverflow { message: text() }, false),
        (ModelError::RequestTooLarge { message: text() }, false),
        (
            ModelError::InvalidRequest {
                status: Some(400),
                message: text(),
            },
            false,
        ),
        (ModelError::Cancelled, false),
    ];
    for (error, retried) in cases {
        let word = error.word();
        assert_eq!(error.is_retryable(), retried, "{word}");
        let model = scripted([Reply::error(error), Reply::text("ok")]);
        let ran = ran(&builder(&model).build().unwrap(), "go");
        assert_eq!(model.requests().len(), 1 + usize::from(retried), "{word}");
        let expected = match word {
            _ if retried => "finished",
            "cancelled" => "cancelled",
            _ => "failed",
        };
        assert_eq!(ran.word(), expected, "{word}");
    }
}

/// Waits grow, are on the run's clock, and start anew with each turn.
#[test]
fn waits_on_the_clock() {
    let clock = Arc::new(ManualClock::new());
    let replies = [
        Reply::busy(),
        Reply::busy(),
        Reply::busy(),
        Reply::call("c", "none", "{}"),
        Reply::busy(),
        Reply::error(limited(Some(429), Some(7 * SECOND))),
        Reply::text("ok"),
    ];
    let model = scripted(replies);
    let config = builder(&model)
        .clock(Arc::clone(&clock) as _)
        .retry(policy())
        .build()
        .unwrap();
    assert_eq!(ran(&config, "go").word(), "finished");
    let waits: Vec<u64> = clock.slept().iter().map(Duration::as_secs).collect();
    assert_eq!(waits, [1, 2, 4, 1, 7]);
}

#[test]
fn the_budget_ends_the_waiting() {
    let clock = Arc::new(ManualClock::new());
    let model =
        Arc::new(ScriptedModel::new([Reply::error(busy(Some(100 * SECOND)))]).last_forever());
    let config = builder(&model)
        .clock(Arc::clone(&clock) as _)
        .retry(policy())
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.word(), "failed");
    assert_eq!(clock.slept(), [100 * SECOND]);
    let told: Vec<(u32, Option<Duration>)> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::AttemptDiscarded {
                attempt, retry_in, ..
            } => Some((*attempt, *retry_in)),
            _ => None,
        })
        .collect();
    assert_eq!(told, [(1, Some(100 * SECOND)), (2, None)]);
}

/// A middleware that asks again takes back what was shown, as the loop does, and counts its requests.
#[test]
fn a_middleware_that_asks_again_announces_it() {
    let fallback = harness_core::from_fn::on_model_call("fallback", |cx, request, next| {
        Box::pin(async move {
            match next.clone().run(cx, request.clone()).await {
                Err(error) if error.is_retryable() => next.run(cx, request).await,
                reply => reply,
            }
        })
    });
    let half = Reply::text("half").then_cut();
    let model = scripted([half.clone(), half.clone(), half, Reply::text("whole")]);
    let config = builder(&model).middleware(fallback).build().unwrap();
    let ran = ran(&config, "go");
    let shown: String = ran
        .events
        .iter()
        .map(|event| match event {
            Event::TextDelta(delta) => delta.text.clone(),
            Event::AttemptDiscarded { attempt, .. } => format!("[{attempt}]"),
            _ => String::new(),
        })
        .collect();
    assert_eq!(shown, "half[1]half[1]half[2]whole");

    let model = Arc::new(ScriptedModel::new([Reply::busy()]).last_forever());
    let again = harness_core::from_fn::on_reasoning("again", |cx, request, next| {
        Box::pin(async move {
            let _ = next.clone().run(cx, request.clone()).await;
            next.run(cx, request).await
        })
    });
    let ran = crate::stage::ran(&builder(&model).middleware(again).build().unwrap(), "go");
    assert_eq!(model.requests().len(), 10);
    assert!(ran.status().contains("attempts: 10"), "{}", ran.status());
}
