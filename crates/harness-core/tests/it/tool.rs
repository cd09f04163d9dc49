//! Tools: what the model is told of them, what it may send, how they end.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use futures::executor::block_on;
use harness_core::test_support::Reply;
use harness_core::{
    Caller, CancellationToken, DynamicTool, Execution, Replay, RunInput, Tool, ToolContext,
    ToolError, ToolOutcome, ToolOutput, ToolRef, ToolSpecs, async_trait, call_tool, run,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::stage::{assert_error, builder, finish, scripted, tool};

/// Looks something up.
///
/// Slowly, if it must.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "read by the derived `Debug`, which does not count"
)]
struct Lookup {
    /// Where to look.
    path: PathBuf,
    /// How many to give; all, if left out.
    limit: Option<u32>,
    /// How to sort.
    #[serde(default)]
    order: Order,
    /// What to leave out.
    #[serde(default)]
    without: Vec<Pattern>,
    /// Weights.
    weights: Option<BTreeMap<String, f64>>,
    /// Whether to go on.
    deep: Option<bool>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Name,
    Size,
}

/// A pattern.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(
    dead_code,
    reason = "read by the derived `Debug`, which does not count"
)]
struct Pattern {
    /// The pattern's text.
    text: String,
    /// How often it may match.
    times: Option<i64>,
}

struct LookupTool;

#[async_trait]
impl Tool for LookupTool {
    type Args = Lookup;

    fn name(&self) -> Cow<'_, str> {
        "lookup".into()
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn prepare(&self, mut arguments: Value) -> Value {
        if let Some(object) = arguments.as_object_mut()
            && let Some(file) = object.remove("file_path")
        {
            assert_ne!(file, "panic", "a bad name");
            object.entry("path").or_insert(file);
        }
        arguments
    }

    async fn call(&self, _: &ToolContext, args: Lookup) -> Result<ToolOutput, ToolError> {
        Ok(format!("{args:?}").into())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Empty {}

/// A tool without a word about itself.
struct Silent;

#[async_trait]
impl Tool for Silent {
    type Args = Empty;

    fn name(&self) -> Cow<'_, str> {
        "silent".into()
    }

    fn description(&self) -> Option<String> {
        Some("Says nothing.".to_owned())
    }

    fn execution(&self) -> Execution {
        Execution::Sequential
    }

    async fn call(&self, _: &ToolContext, _: Empty) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

#[test]
fn specs_of_typed_tools() {
    let specs: Vec<_> = [ToolRef::new(LookupTool), ToolRef::new(Silent)]
        .iter()
        .map(|tool| serde_json::to_string_pretty(&**tool.spec()).unwrap())
        .collect();
    insta::assert_snapshot!(specs.join("\n"));
}

fn call(arguments: Value) -> ToolOutcome {
    block_on(ToolRef::new(LookupTool).call(&ToolContext::detached(), arguments))
}

/// What a model meant, where it cannot be misread.
#[test]
fn arguments_that_are_read() {
    let cases = [
        (json!({"path": "a"}), r#"path: "a", limit: None"#),
        (json!({"file_path": "a"}), r#"path: "a""#),
        (json!({"file_path": "b", "path": "a"}), r#"path: "a""#),
        (json!({"path": "a", "limit": "12"}), "limit: Some(12)"),
        (json!({"path": "a", "limit": " 12 "}), "limit: Some(12)"),
        (json!({"path": "a", "limit": 12.0}), "limit: Some(12)"),
        (json!({"path": "a", "limit": null}), "limit: None"),
        (json!({"path": "a", "deep": "true"}), "deep: Some(true)"),
        (json!({"path": "a", "deep": "False"}), "deep: Some(false)"),
        (json!({"path": "a", "order": "size"}), "order: Size"),
        (json!({"path": "12"}), r#"path: "12""#),
        (
            json!({"path": "a", "without": [{"text": "7", "times": "3"}]}),
            r#"Pattern { text: "7", times: Some(3) }"#,
        ),
        (
            json!({"path": "a", "weights": {"x": 1}}),
            r#"weights: Some({"x": 1.0})"#,
        ),
    ];
    for (arguments, expected) in cases {
        let outcome = call(arguments.clone());
        assert!(!outcome.is_error(), "{arguments}: {outcome:?}");
        let shown = outcome.shown_text();
        assert!(shown.contains(expected), "{arguments}: {shown}");
    }
}

/// What is wrong, where, and what there is instead.
#[test]
fn arguments_that_are_refused() {
    let cases = [
        json!({}),
        json!([]),
        json!({"path": 7}),
        json!({"path": null}),
        json!({"path": "a", "limit": "many"}),
        json!({"path": "a", "limit": 1.5}),
        json!({"path": "a", "limit": -1}),
        json!({"path": "a", "limit": "1e999"}),
        json!({"path": "a", "order": "color"}),
        json!({"path": "a", "colour": "red"}),
        json!({"path": "a", "without": [{"text": "x"}, {"times": "x"}]}),
        json!({"path": "a", "weights": {"x/y": "heavy"}}),
        json!({"path": "a", "without": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}),
    ];
    let texts: Vec<String> = cases
        .into_iter()
        .map(|arguments| {
            let outcome = call(arguments.clone());
            assert!(outcome.is_error(), "{arguments}");
            format!("{arguments}\n{}", outcome.shown_text())
        })
        .collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

/// `null` is a value where the schema says so.
#[test]
fn null_that_means_something_is_kept() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "c": {"type": "string"},
            "d": {"type": "null"},
        },
    });
    let echo = DynamicTool::new("echo", "", schema, |_, arguments| {
        Box::pin(async move { Ok(arguments.to_string().into()) })
    });
    let arguments = json!({"a": null, "b": null, "c": null, "d": null, "e": null});
    let outcome = block_on(ToolRef::from(echo).call(&ToolContext::detached(), arguments));
    assert_eq!(
        outcome.shown_text(),
        r#"{"a":null,"b":null,"d":null,"e":null}"#
    );
}

#[derive(Debug)]
struct Layered(&'static str, Option<Box<Layered>>);

impl std::fmt::Display for Layered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Layered {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.1.as_deref().map(|error| error as _)
    }
}

#[test]
fn errors_of_a_tool() {
    let layered = || {
        Layered(
            "outer",
            Some(Box::new(Layered(
                "inner",
                Some(Box::new(Layered("outer", None))),
            ))),
        )
    };
    let cases: Vec<(ToolError, ToolOutcome)> = vec![
        (ToolError::failed("no"), ToolOutcome::failed("no")),
        (layered().into(), ToolOutcome::failed("outer: inner")),
        (ToolError::Cancelled, ToolOutcome::Cancelled),
        (
            ToolError::Denied {
                by: "policy".into(),
                reason: "no".into(),
            },
            ToolOutcome::Denied {
                by: "policy".into(),
                reason: "no".into(),
            },
        ),
        (
            ToolError::Fatal("disk gone".into()),
            ToolOutcome::failed("disk gone"),
        ),
    ];
    for (error, expected) in cases {
        let error = std::sync::Mutex::new(Some(error));
        let broken = tool("broken", move |_| {
            Err(error.lock().unwrap().take().unwrap())
        });
        let outcome = block_on(ToolRef::from(broken).call(&ToolContext::detached(), json!({})));
        assert_eq!(outcome, expected);
    }
}

/// A fatal error ends the run; the calls beside it have their results, and so has it.
#[test]
fn a_fatal_error_ends_the_run() {
    let fatal = tool("fatal", |_| Err(ToolError::Fatal("disk gone".into())));
    let reply = Reply::call("c1", "silent", "{}")
        .and_call("c2", "fatal", "{}")
        .and_call("c3", "silent", "{}");
    let model = scripted([reply]);
    let config = builder(&model).tool(fatal).tool(Silent).build().unwrap();
    let ran = finish(run(&config, RunInput::prompt("go")));
    assert_eq!(
        ran.status(),
        r#"Failed(Tool { tool: "fatal", message: "disk gone" })"#
    );
    let results = ran.results();
    assert_eq!(results.len(), 3);
    assert_error(&results[1].outcome, "disk gone");
    // Sequential: what came after it was not begun.
    assert_eq!(*results[2].outcome, ToolOutcome::Cancelled);
}

#[test]
fn a_panic_while_arguments_are_prepared_is_a_failure() {
    let reply = Reply::call("c", "lookup", r#"{"file_path": "panic"}"#);
    let model = scripted([reply, Reply::text("done")]);
    let ran = finish(run(
        &builder(&model).tool(LookupTool).build().unwrap(),
        RunInput::prompt("go"),
    ));
    assert_eq!(ran.word(), "finished");
    assert_error(&ran.results()[0].outcome, "The tool panicked");
}

#[test]
fn dynamic_tools() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let add = DynamicTool::new("add", "Adds one.", schema.clone(), |_, arguments| {
        Box::pin(async move {
            Ok((arguments["n"].as_i64().unwrap_or(0) + 1)
                .to_string()
                .into())
        })
    })
    .execution(Execution::Sequential)
    .replay(Replay::Safe);
    let add = ToolRef::from(add);
    let spec = add.spec();
    assert_eq!(
        (spec.name.as_str(), spec.description.as_str()),
        ("add", "Adds one.")
    );
    assert_eq!(
        (spec.execution, spec.replay),
        (Execution::Sequential, Replay::Safe)
    );
    assert_eq!(spec.parameters, schema);
    let call = |arguments| block_on(add.call(&ToolContext::detached(), arguments)).shown_text();
    assert_eq!(call(json!({"n": "41"})), "42");
    assert!(call(json!({"n": "x"})).contains("at /n"));

    // A schema that is none makes a tool that cannot be called, and harms nothing else.
    let broken = DynamicTool::new("broken", "", json!({"type": "nonsense"}), |_, _| {
        Box::pin(async { Ok("called".into()) })
    });
    let model = scripted([Reply::call("c", "broken", "{}"), Reply::text("done")]);
    let ran = finish(run(
        &builder(&model).tool(broken).build().unwrap(),
        RunInput::prompt("go"),
    ));
    assert_error(&ran.results()[0].outcome, "its schema is invalid");
}

#[test]
fn names_that_cannot_be() {
    let model = scripted([]);
    let named = |name: &str| builder(&model).tool(tool(name, |_| Ok("".into()))).build();
    for name in ["", " ", "a b", "a.b", "é", &"x".repeat(65)] {
        assert!(named(name).is_err(), "{name:?}");
    }
    for name in ["a", "A-1_b", &"x".repeat(64)] {
        assert!(named(name).is_ok(), "{name:?}");
    }
    let twice = builder(&model).tool(Silent).tool(Silent).build();
    assert!(
        twice
            .unwrap_err()
            .to_string()
            .contains("two tools named `silent`")
    );
}

/// A tool that is not there is named, with those that are.
#[test]
fn unknown_tools() {
    for (tools, text) in [
        (vec![], "There is no tool `x`; there are no tools at all."),
        (
            vec![ToolRef::new(Silent), ToolRef::new(LookupTool)],
            "The tools are: silent, lookup.",
        ),
    ] {
        let model = scripted([Reply::call("c", "x", "{}"), Reply::text("done")]);
        let config = builder(&model).tools(tools).build().unwrap();
        let ran = finish(run(&config, RunInput::prompt("go")));
        assert_error(&ran.results()[0].outcome, text);
    }
}

/// A call outside a run passes the same middlewares.
#[test]
fn a_call_outside_a_run() {
    let recorder = harness_core::test_support::Recorder::new("r");
    let model = scripted([]);
    let fatal = tool("fatal", |_| Err(ToolError::Fatal("disk gone".into())));
    let config = builder(&model)
        .tool(LookupTool)
        .tool(fatal)
        .middleware(recorder.clone())
        .build()
        .unwrap();
    let call = |tool: &'static str, arguments: &'static str| {
        block_on(call_tool(
            &config,
            Caller::default(),
            tool,
            arguments,
            CancellationToken::new(),
        ))
    };
    assert!(
        call("lookup", r#"{"path": "a"}"#)
            .unwrap()
            .shown_text()
            .contains("path")
    );
    assert_error(&call("lookup", "{").unwrap(), "not valid JSON");
    assert_error(&call("none", "{}").unwrap(), "There is no tool `none`");
    assert!(call("fatal", "{}").is_err());
    let passed = recorder
        .log()
        .iter()
        .filter(|line| *line == "r:tool_call>")
        .count();
    assert_eq!(passed, 4);
}

#[test]
fn specs_are_shared_and_measured() {
    let specs = ToolSpecs::new(vec![std::sync::Arc::clone(ToolRef::new(Silent).spec())]);
    assert_eq!(specs.iter().len(), 1);
    assert!(specs.approximate_bytes() > "silentSays nothing.".len());
    assert_eq!(&*specs.encoded(1, |_| "a".to_owned()), "a");
    assert_eq!(&*specs.encoded(1, |_| "b".to_owned()), "a");
    assert!(ToolSpecs::default().is_empty());
}
