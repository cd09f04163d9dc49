//! Places in a trace, on their way out and in.

use std::sync::Arc;

use futures::executor::block_on;
use harness_core::test_support::Reply;
use harness_core::{Caller, DynamicTool, RunInput, RunOptions, ToolOutput, TraceContext, run_with};
use harness_telemetry::middleware::{Propagation, Telemetry};
use serde_json::json;

use crate::runs::{finish, recorded, recording, scripted};

const PLACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Gives every span the same place, and tells where it was told to go on from.
#[derive(Clone)]
struct Places(Arc<std::sync::Mutex<Vec<String>>>);

impl Propagation for Places {
    fn inject(&self, span: &tracing::Span) -> Option<TraceContext> {
        let name = span.metadata()?.name();
        TraceContext::new(PLACE, Some(&format!("at={name}")))
    }

    fn extract(&self, span: &tracing::Span, from: &TraceContext) {
        let name = span.metadata().map_or("", |metadata| metadata.name());
        self.0
            .lock()
            .unwrap()
            .push(format!("{name} from {}", from.traceparent()));
    }
}

#[test]
fn places_go_out_and_come_in_only_when_that_is_on() {
    for on in [false, true] {
        let places = Places(Arc::default());
        let mut telemetry = Telemetry::new("coder");
        if on {
            telemetry = telemetry.propagate(Arc::new(places.clone()));
        }
        let seen = Arc::new(std::sync::Mutex::new(None));
        let put = Arc::clone(&seen);
        let look = DynamicTool::new("look", "Looks.", json!({"type": "object"}), move |cx, _| {
            *put.lock().unwrap() = cx.run().value::<TraceContext>().cloned();
            Box::pin(async { Ok(ToolOutput::text("seen")) })
        });
        let model = scripted([Reply::call("a", "look", "{}"), Reply::text("done")]);
        let config = recorded(&model, &telemetry).tool(look).build().unwrap();
        let caller = Caller::default();
        caller
            .attributes
            .insert(TraceContext::new(PLACE, None).unwrap());
        let options = RunOptions {
            caller,
            ..RunOptions::default()
        };
        tracing::subscriber::with_default(recording().subscriber(), || {
            block_on(finish(run_with(&config, RunInput::prompt("go"), options)))
        });
        let state = |trace: &TraceContext| trace.tracestate().map(str::to_owned);
        let sent: Vec<_> = model
            .requests()
            .iter()
            .map(|r| r.trace.as_ref().and_then(state))
            .collect();
        let in_tool = seen.lock().unwrap().as_ref().and_then(state);
        let came = places.0.lock().unwrap().clone();
        if on {
            let chat = Some("at=gen_ai.chat".to_owned());
            assert_eq!(sent, [chat.clone(), chat]);
            assert_eq!(in_tool.as_deref(), Some("at=gen_ai.execute_tool"));
            assert_eq!(came, [format!("harness.run from {PLACE}")]);
        } else {
            assert_eq!((sent, in_tool, came), (vec![None, None], None, Vec::new()));
        }
    }
}
