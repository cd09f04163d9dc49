//! What tests of hooks stand on: a folder, hooks, and runs with the usual tools in it.

use std::sync::{Arc, Mutex};

use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::core::{
    Caller, Event, HookVerdict, LoopConfig, Message, ModelRequest, RunInput, RunOptions,
    RunOutcome, ToolOutcome, from_fn, run_with,
};
use harness_agent::middlewares::{HookFile, Hooks, UserHooksMiddleware};
use harness_agent::{Workspace, default_tools};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with hooks, and what permissions would be told.
pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) middleware: UserHooksMiddleware,
    pub(crate) caller: Caller,
    pub(crate) verdicts: Arc<Mutex<Vec<Option<HookVerdict>>>>,
}

/// A run, and what was seen of it.
pub(crate) struct Seen {
    pub(crate) outcome: RunOutcome,
    pub(crate) events: Vec<Event>,
    pub(crate) requests: Vec<ModelRequest>,
}

impl Stage {
    pub(crate) fn new(hooks: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = json!({ "hooks": hooks }).to_string();
        let file = HookFile::parse("h.json", &text).unwrap();
        assert!(file.diagnostics().is_empty(), "{:?}", file.diagnostics());
        let caller = Caller {
            session: Some("s1".to_owned()),
            working_dir: Some(folder.path().to_owned()),
            ..Caller::default()
        };
        Self {
            middleware: UserHooksMiddleware::new(Hooks::from_files([file])),
            folder,
            caller,
            verdicts: Arc::default(),
        }
    }

    /// Hooks of one event, for every tool.
    pub(crate) fn of(event: &str, commands: &[&str]) -> Self {
        let hooks: Vec<Value> = commands.iter().map(|it| json!({ "command": it })).collect();
        Self::new(&json!({ event: [{ "hooks": hooks }] }))
    }

    pub(crate) fn config(&self, model: &Arc<ScriptedModel>) -> LoopConfig {
        let verdicts = Arc::clone(&self.verdicts);
        let permissions = from_fn::on_tool_call("permissions", move |cx, call, next| {
            let verdict = cx.value::<HookVerdict>().cloned();
            verdicts.lock().unwrap().push(verdict);
            Box::pin(next.run(cx, call))
        });
        LoopConfig::builder(model.clone())
            .tools(default_tools(&Workspace::new(self.folder.path())))
            .middleware(self.middleware.clone())
            .middleware(permissions)
            .build()
            .unwrap()
    }

    pub(crate) async fn run(&self, replies: Vec<Reply>, input: RunInput) -> Seen {
        let model = Arc::new(ScriptedModel::new(replies));
        let config = self.config(&model);
        let options = RunOptions {
            caller: self.caller.clone(),
            ..RunOptions::default()
        };
        let mut run = run_with(&config, input, options);
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        Seen {
            outcome: run.outcome().await.unwrap(),
            events,
            requests: model.requests(),
        }
    }

    /// Makes one call; gives its outcome and the warnings.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> (ToolOutcome, Vec<String>) {
        let replies = vec![
            Reply::call("c1", tool, &arguments.to_string()),
            Reply::text("Done."),
        ];
        let seen = self.run(replies, RunInput::prompt("go")).await;
        (seen.result(), seen.warnings())
    }

    pub(crate) fn touched(&self) -> bool {
        self.path("touched").exists()
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

impl Seen {
    pub(crate) fn result(&self) -> ToolOutcome {
        let found = self
            .outcome
            .history
            .iter()
            .find_map(|message| match &**message {
                Message::ToolResults(results) => Some(results.results[0].outcome.as_ref().clone()),
                _ => None,
            });
        found.unwrap()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let warnings = self.events.iter().filter_map(|event| match event {
            Event::Warning { message } => Some(message.clone()),
            _ => None,
        });
        warnings.collect()
    }
}

/// A command that answers with this object.
pub(crate) fn answers(answer: &Value) -> String {
    format!("cat > /dev/null; cat << 'END'\n{answer}\nEND")
}
