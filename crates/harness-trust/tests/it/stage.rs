//! What the tests of whole runs stand on: a workspace, tools that note that they ran, and what came of a run.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::executor::block_on;
use harness_core::test_support::{CountingEntropy, ManualClock, Reply, ScriptedModel};
use harness_core::{
    Caller, CommandEffect, DynamicTool, Event, LoopConfig, LoopConfigBuilder, Message,
    PermissionReport, Permit, RunError, RunInput, RunOptions, RunOutcome, Tool, ToolContext,
    ToolEffect, ToolEffects, ToolError, ToolOutcome, ToolOutput, ToolPreview, async_trait,
    run_with,
};
use harness_trust::test_support::ScriptedApprover;
use harness_trust::{Answer, Layer, Permissions, PlaceOfRuns, Rule, Rules, Verdict};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A workspace that is not trusted, somebody who answers, and what the tools did.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) approver: Arc<ScriptedApprover>,
    done: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::asking(ScriptedApprover::new(answers))
    }

    pub(crate) fn asking(approver: ScriptedApprover) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            approver: Arc::new(approver),
            done: Arc::default(),
        }
    }

    /// The workspace, by its real path.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Permissions by these rules, which ask the approver.
    pub(crate) fn permissions(&self, rules: &[(Layer, Verdict, &str)]) -> Permissions {
        let rules = rules
            .iter()
            .fold(Rules::new(), |rules, (layer, verdict, text)| {
                rules.with(*layer, Rule::parse(*verdict, text).unwrap())
            });
        Permissions::new(rules, PlaceOfRuns::new(self.root())).approver(self.approver.clone())
    }

    /// A configuration with the tools, without a real clock or real chance.
    pub(crate) fn config(&self, replies: Vec<Reply>) -> LoopConfigBuilder {
        let root = self.root();
        let place = move |arguments: &Value| root.join(arguments["of"].as_str().unwrap());
        let at = place.clone();
        let look = self.tool("look", move |it| ToolEffects::read(at(it)));
        let at = place.clone();
        let both = move |it: &Value| {
            ToolEffects::new([ToolEffect::Read(at(it)), ToolEffect::Write(at(it))])
        };
        let root = self.root();
        let sh = move |it: &Value| {
            let line = it["of"].as_str().unwrap();
            ToolEffects::run(CommandEffect::new(line).in_folder(&root))
        };
        let reach = |it: &Value| {
            ToolEffects::new([ToolEffect::Network(it["of"].as_str().unwrap().to_owned())])
        };
        LoopConfig::builder(Arc::new(ScriptedModel::new(replies)))
            .clock(Arc::new(ManualClock::new()))
            .entropy(Arc::new(CountingEntropy::default()))
            .tool(look)
            .tool(self.tool("both", both))
            .tool(self.tool("sh", sh))
            .tool(self.tool("reach", reach))
            .tool(self.tool("note", |_| ToolEffects::conversation()))
            .tool(self.tool("mystery", |_| ToolEffects::unknown()))
            .tool(Put {
                root: self.root(),
                done: Arc::clone(&self.done),
            })
    }

    /// A tool that notes that it ran.
    fn tool(
        &self,
        name: &str,
        effects: impl Fn(&Value) -> ToolEffects + Send + Sync + 'static,
    ) -> DynamicTool {
        let (done, named) = (Arc::clone(&self.done), name.to_owned());
        let schema = json!({
            "type": "object",
            "properties": {"of": {"type": "string"}},
            "required": ["of"],
        });
        DynamicTool::new(name, "A tool for tests.", schema, move |_, it| {
            let what = it["of"].as_str().unwrap_or_default();
            done.lock().unwrap().push(format!("{named} {what}"));
            Box::pin(std::future::ready(Ok("ok".into())))
        })
        .effects(move |_, it| effects(it))
    }

    /// What the tools did.
    pub(crate) fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    /// A run with these permissions, of turns with these calls.
    pub(crate) fn run(&self, permissions: Permissions, turns: &[&[(&str, &str)]]) -> Ran {
        let config = self.config(calling(turns)).middleware(permissions);
        ran(&config.build().unwrap(), Caller::default())
    }
}

/// Replies that make these calls, `(tool, of)`, turn by turn; ids count from 1.
pub(crate) fn calling(turns: &[&[(&str, &str)]]) -> Vec<Reply> {
    let mut id = 0;
    let mut replies: Vec<Reply> = turns
        .iter()
        .map(|calls| {
            calls.iter().fold(Reply::new(), |reply, (tool, of)| {
                id += 1;
                reply.and_call(&id.to_string(), tool, &json!({ "of": of }).to_string())
            })
        })
        .collect();
    replies.push(Reply::text("done"));
    replies
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) events: Vec<Event>,
    pub(crate) outcome: RunOutcome,
}

impl Ran {
    /// The audit.
    pub(crate) fn reports(&self) -> Vec<PermissionReport> {
        let report = |event: &Event| match event {
            Event::Permission(report) => Some((**report).clone()),
            _ => None,
        };
        self.events.iter().filter_map(report).collect()
    }

    /// The audit, one line each: decision, by, scope, layer, rule.
    pub(crate) fn audit(&self) -> Vec<String> {
        let line = |report: PermissionReport| {
            let word = |it: &Option<String>| it.clone().unwrap_or_else(|| "-".to_owned());
            format!(
                "{} {} {} {} {}",
                report.decision.word(),
                report.by.word(),
                word(&report.scope),
                word(&report.layer),
                word(&report.rule)
            )
        };
        self.reports().into_iter().map(line).collect()
    }

    /// The outcomes of the calls, in their order.
    pub(crate) fn outcomes(&self) -> Vec<ToolOutcome> {
        let of = |message: &Message| match message {
            Message::ToolResults(results) => results.results.clone(),
            _ => Vec::new(),
        };
        let results = self.outcome.history.iter().flat_map(|it| of(it));
        results.map(|it| it.outcome.as_ref().clone()).collect()
    }

    /// Why calls were refused; empty for one that was not.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let reason = |outcome: ToolOutcome| match outcome {
            ToolOutcome::Denied { by, reason } => {
                assert_eq!(by, "permissions");
                reason
            }
            _ => String::new(),
        };
        self.outcomes().into_iter().map(reason).collect()
    }
}

pub(crate) fn ran(config: &LoopConfig, caller: Caller) -> Ran {
    ran_with(
        config,
        RunInput::prompt("go"),
        RunOptions {
            caller,
            ..RunOptions::default()
        },
    )
}

pub(crate) fn ran_with(config: &LoopConfig, input: RunInput, options: RunOptions<'_>) -> Ran {
    block_on(async {
        let mut handle = run_with(config, input, options);
        let mut events = Vec::new();
        while let Some(event) = handle.next().await {
            events.push(event);
        }
        let outcome = handle
            .outcome()
            .await
            .unwrap_or_else(RunError::into_outcome);
        Ran { events, outcome }
    })
}

/// Writes its own path into the file `of`, and shows what is there before.
struct Put {
    root: PathBuf,
    done: Arc<Mutex<Vec<String>>>,
}

/// Puts something there.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct PutArgs {
    /// The file.
    of: String,
    /// What.
    #[serde(default)]
    text: String,
}

fn state(path: &Path) -> (String, u64) {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    (text, hasher.finish())
}

#[async_trait]
impl Tool for Put {
    type Args = PutArgs;

    fn name(&self) -> Cow<'_, str> {
        "put".into()
    }

    fn effects(&self, _: &ToolContext, args: &PutArgs) -> ToolEffects {
        ToolEffects::write(self.root.join(&args.of))
    }

    async fn preview(&self, _: &ToolContext, args: PutArgs) -> Option<ToolPreview> {
        let (text, state) = state(&self.root.join(&args.of));
        Some(ToolPreview::new(format!("-{text}\n+{}", args.text), state))
    }

    async fn call(&self, cx: &ToolContext, args: PutArgs) -> Result<ToolOutput, ToolError> {
        let path = self.root.join(&args.of);
        let permit = cx.run().value::<Permit>();
        let approved = permit.and_then(Permit::preview);
        if approved.is_some_and(|approved| approved != state(&path).1) {
            return Err(ToolError::failed("it has changed"));
        }
        std::fs::write(&path, &args.text).unwrap();
        self.done.lock().unwrap().push(format!("put {}", args.of));
        Ok(ToolOutput::text("ok"))
    }
}
