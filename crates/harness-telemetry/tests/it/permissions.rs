//! Decisions about calls, as events of their spans.

use futures::executor::block_on;
use harness_core::test_support::Reply;
use harness_core::{
    Event, Middleware, PermissionDecision, PermissionReport, PermissionSource, RunInput,
    ToolOutcome, from_fn, run,
};
use harness_telemetry::middleware::Telemetry;
use serde_json::json;

use crate::runs::{finish, recorded, recording, scripted, tool};

/// A policy that decides as the call's id says.
fn policy() -> impl Middleware {
    from_fn::on_tool_call("policy", |cx, call, next| {
        Box::pin(async move {
            use PermissionDecision::{Allow, Deny};
            let (decision, by) = match call.id.as_str() {
                "rule" => (Allow, PermissionSource::Rule),
                "person" => (Allow, PermissionSource::Person),
                "hook" => (Allow, PermissionSource::Hook),
                _ => (Deny, PermissionSource::Nobody),
            };
            let mut report = PermissionReport::new(&call.id, &call.name, decision, by);
            report.effects = vec!["reads /secret/canary".to_owned()];
            match call.id.as_str() {
                "rule" => {
                    report.rule = Some("read(/secret/canary)".to_owned());
                    report.layer = Some("user".to_owned());
                }
                "person" => report.scope = Some("project".to_owned()),
                "hook" => {}
                _ => report.reason = Some("the canary is not read".to_owned()),
            }
            cx.emit(Event::Permission(Box::new(report)));
            if decision == Deny {
                return ToolOutcome::Denied {
                    by: "permissions".to_owned(),
                    reason: "the canary is not read".to_owned(),
                };
            }
            next.run(cx, call).await
        })
    })
    .order(i32::MAX - 2)
}

#[test]
fn a_decision_is_an_event_of_its_calls_span() {
    // Of calls that run beside each other, too.
    let calls = Reply::call("rule", "look", "{}")
        .and_call("person", "look", "{}")
        .and_call("hook", "look", "{}")
        .and_call("nobody", "look", "{}");
    let model = scripted([calls, Reply::text("done")]);
    let telemetry = Telemetry::new("coder");
    let config = recorded(&model, &telemetry)
        .tool(tool("look"))
        .middleware(policy())
        .build()
        .unwrap();
    let recording = recording();
    let outcome = tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(finish(run(&config, RunInput::prompt("go"))))
    });
    assert_eq!(outcome.status.word(), "finished");
    assert_eq!(recording.problems(), [""; 0]);
    let spans = recording.of("harness.tool_call");
    let of = |id: &str| {
        let span = spans
            .iter()
            .find(|span| json!(span.attributes)["gen_ai.tool.call.id"] == id)
            .unwrap();
        let events: Vec<_> = span
            .events
            .iter()
            .map(|event| (event.name.clone(), json!(event.attributes)))
            .collect();
        events
    };
    let event = |decision: &str, by: &str, layer: &str, scope: &str| {
        let attributes = json!({
            "harness.permission.decision": decision,
            "harness.permission.by": by,
            "harness.permission.layer": layer,
            "harness.permission.scope": scope,
        });
        [("harness.permission".to_owned(), attributes)]
    };
    assert_eq!(of("rule"), event("allow", "rule", "user", "none"));
    assert_eq!(of("person"), event("allow", "person", "none", "project"));
    assert_eq!(of("hook"), event("allow", "hook", "none", "none"));
    assert_eq!(of("nobody"), event("deny", "nobody", "none", "none"));
    // Nothing of what was asked leaves the machine.
    let everything = format!("{:?}", recording.spans());
    assert!(!everything.contains("canary"), "{everything}");
}
