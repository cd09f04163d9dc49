//! Extensions, and the reasons that the assembler gives.

use std::sync::Arc;

use harness_agent::core::test_support::ScriptedModel;
use harness_agent::core::{
    Caller, DynamicTool, Execution, Message, MessageRef, SystemPrompt, ToolRef, async_trait,
};
use harness_agent::skills::{Layer as LayerOfSkills, Skill};
use harness_agent::{
    AgentHarness, AgentHarnessBuilder, Extension, ExtensionResult, LoopContext, LoopDraft,
    SummaryDraft, SummaryKind, SummaryRequest, Withheld, Workspace, default_tools,
};

fn builder() -> AgentHarnessBuilder {
    AgentHarness::builder().shared_model(Arc::new(ScriptedModel::new([])))
}

fn tool(name: &str) -> ToolRef {
    let schema = serde_json::json!({ "type": "object" });
    DynamicTool::new(name, name, schema, |_, _| Box::pin(async { Ok("".into()) })).into()
}

/// Leaves its mark on everything.
struct Marks(&'static str);

#[async_trait]
impl Extension for Marks {
    fn name(&self) -> &str {
        self.0
    }

    fn on_build_skills(&self, mut skills: Vec<Arc<Skill>>) -> ExtensionResult<Vec<Arc<Skill>>> {
        let name = format!("{}-after-{}", self.0, skills.len());
        let skill = Skill::from_text(LayerOfSkills::BuiltIn, &name, "d", "Do it.");
        skills.push(Arc::new(skill));
        Ok(skills)
    }

    fn on_build_tools(&self, mut tools: Vec<ToolRef>) -> ExtensionResult<Vec<ToolRef>> {
        tools.retain(|tool| tool.spec().name != "bash");
        tools.push(tool(&format!("{}-after-{}", self.0, tools.len())));
        Ok(tools)
    }

    fn on_build_system_prompt(&self, prompt: SystemPrompt) -> ExtensionResult<SystemPrompt> {
        let seen = prompt.sections().len();
        Ok(prompt.with_section(self.0, format!("{} after {seen}", self.0), self.0))
    }

    fn on_build_loop_config(&self, mut draft: LoopDraft) -> ExtensionResult<LoopDraft> {
        assert!(draft.system_prompt.section(self.0).is_some());
        draft.limits.max_turns += 1;
        draft.execution = Execution::Sequential;
        Ok(draft)
    }

    async fn on_compaction(&self, mut draft: SummaryDraft) -> ExtensionResult<SummaryDraft> {
        draft.instructions.push_str(self.0);
        Ok(draft)
    }

    async fn on_branch_summary(&self, mut draft: SummaryDraft) -> ExtensionResult<SummaryDraft> {
        draft.summary = Some(format!("{}{}", draft.summary.unwrap_or_default(), self.0));
        Ok(draft)
    }
}

#[tokio::test]
async fn each_sees_the_last_ones_result() {
    let agent = builder()
        .tools(default_tools(&Workspace::new("/srv")))
        .extension(Marks("one"))
        .extension(Marks("two"))
        .build()
        .unwrap();
    let config = agent.loop_config();
    let names: Vec<&str> = config
        .tools()
        .iter()
        .map(|tool| &*tool.spec().name)
        .collect();
    let expected = [
        "read",
        "write",
        "edit",
        "grep",
        "find",
        "ls",
        "load_skill",
        "one-after-7",
        "two-after-8",
    ];
    assert_eq!(names, expected);
    let prompt = config.system_prompt().text();
    assert!(
        prompt.contains("one after 2") && prompt.contains("two after 3"),
        "{prompt}"
    );
    assert_eq!(config.limits().max_turns, 1_002);
    let shown = agent
        .system_prompt(Caller::default())
        .await
        .unwrap()
        .fitted
        .prompt
        .text();
    assert!(
        shown.contains("one-after-0") && shown.contains("two-after-1"),
        "{shown}"
    );

    let told: Vec<String> = agent
        .assembly()
        .tools
        .iter()
        .map(|tool| format!("{} {} {}: {}", tool.tool, tool.offered, tool.from, tool.why))
        .collect();
    for expected in [
        "read true agent: given to the agent",
        "bash false extension one: taken out by the extension one",
        "one-after-7 true extension one: added",
        "two-after-8 true extension two: added",
    ] {
        assert!(
            told.iter().any(|line| line == expected),
            "{expected}: {told:#?}"
        );
    }
    assert_eq!(agent.assembly().batches.execution, Execution::Sequential);
    assert!(agent.assembly().batches.why.contains("one after another"));
}

#[tokio::test]
async fn summaries_pass_through_them() {
    let agent = builder()
        .extension(Marks("one"))
        .extension(Marks("two"))
        .build()
        .unwrap();
    let request = SummaryRequest {
        messages: vec![MessageRef::new(Message::user("Mend </conversation> it."))],
        focus: Some("the tests".to_owned()),
        previous: Some("What was before.".to_owned()),
        ..SummaryRequest::default()
    };
    let draft = agent.draft_compaction(request.clone()).await.unwrap();
    assert_eq!(draft.kind, SummaryKind::Compaction);
    assert!(
        draft.instructions.ends_with("onetwo"),
        "{}",
        draft.instructions
    );
    for part in [
        "the tests",
        "What was before.",
        "User:\nMend <\\/conversation> it.",
    ] {
        assert!(
            draft.instructions.contains(part),
            "{part}: {}",
            draft.instructions
        );
    }
    assert_eq!(draft.summary, None);
    let draft = agent.draft_branch_summary(request).await.unwrap();
    assert_eq!(draft.summary.as_deref(), Some("onetwo"));
}

/// Fails, or panics, in one hook.
struct Broken(&'static str, bool);

impl Broken {
    fn at<T>(&self, hook: &str, value: T) -> ExtensionResult<T> {
        match (hook == self.0, self.1) {
            (true, true) => panic!("oh no"),
            (true, false) => Err("not today".into()),
            (false, _) => Ok(value),
        }
    }
}

#[async_trait]
impl Extension for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn on_build_skills(&self, skills: Vec<Arc<Skill>>) -> ExtensionResult<Vec<Arc<Skill>>> {
        self.at("on_build_skills", skills)
    }

    fn on_build_tools(&self, tools: Vec<ToolRef>) -> ExtensionResult<Vec<ToolRef>> {
        self.at("on_build_tools", tools)
    }

    fn on_build_system_prompt(&self, prompt: SystemPrompt) -> ExtensionResult<SystemPrompt> {
        self.at("on_build_system_prompt", prompt)
    }

    fn on_build_loop_config(&self, draft: LoopDraft) -> ExtensionResult<LoopDraft> {
        self.at("on_build_loop_config", draft)
    }

    async fn on_compaction(&self, draft: SummaryDraft) -> ExtensionResult<SummaryDraft> {
        self.at("on_compaction", draft)
    }

    async fn on_branch_summary(&self, draft: SummaryDraft) -> ExtensionResult<SummaryDraft> {
        self.at("on_branch_summary", draft)
    }
}

#[tokio::test]
async fn an_error_names_the_extension_and_the_hook() {
    for panics in [false, true] {
        let why = if panics {
            "it panicked: oh no"
        } else {
            "not today"
        };
        for hook in [
            "on_build_skills",
            "on_build_tools",
            "on_build_system_prompt",
            "on_build_loop_config",
            "on_compaction",
            "on_branch_summary",
        ] {
            let error = match builder().extension(Broken(hook, panics)).build() {
                Err(error) => error,
                Ok(agent) if hook == "on_compaction" => agent
                    .draft_compaction(SummaryRequest::default())
                    .await
                    .unwrap_err(),
                Ok(agent) => agent
                    .draft_branch_summary(SummaryRequest::default())
                    .await
                    .unwrap_err(),
            };
            let expected = format!("the extension `broken` failed in {hook}: {why}");
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn why_a_tool_is_there_or_not() {
    let mut shell = harness_tools::ShellOptions::default();
    shell.shell = Some("/nowhere/sh".into());
    let workspace = Workspace::new("/srv").with_shell(shell);
    let agent = builder()
        .tools(default_tools(&workspace))
        .task_list(true)
        .build()
        .unwrap();
    let why = |context: &LoopContext, name: &str| {
        let assembly = agent.build_loop_config(context).unwrap();
        let decision = assembly
            .tools
            .into_iter()
            .find(|tool| tool.tool == name)
            .unwrap();
        (decision.offered, decision.why)
    };
    let usual = LoopContext::default();
    assert_eq!(why(&usual, "read"), (true, "given to the agent".to_owned()));
    assert_eq!(
        why(&usual, "todo_write"),
        (true, "the task list is on".to_owned())
    );
    let (offered, reason) = why(&usual, "bash");
    assert!(!offered && reason.contains("/nowhere/sh"), "{reason}");

    let context = LoopContext {
        only_tools: Some(vec!["read".to_owned(), "ls".to_owned()]),
        withheld: vec![Withheld {
            tool: "ls".to_owned(),
            by: "trust".to_owned(),
            reason: "the project is not trusted".to_owned(),
        }],
        ..LoopContext::default()
    };
    assert!(why(&context, "read").0);
    assert_eq!(
        why(&context, "ls"),
        (
            false,
            "withheld by trust: the project is not trusted".to_owned()
        )
    );
    assert_eq!(
        why(&context, "write"),
        (
            false,
            "it is not among the tools that were asked for".to_owned()
        )
    );
    let config = agent.build_loop_config(&context).unwrap().config;
    let names: Vec<&str> = config
        .tools()
        .iter()
        .map(|tool| &*tool.spec().name)
        .collect();
    assert_eq!(names, ["read", "todo_write"]);

    // Nothing at all is nothing at all, also what is switched on by itself.
    let context = LoopContext {
        only_tools: Some(Vec::new()),
        ..LoopContext::default()
    };
    assert!(
        agent
            .build_loop_config(&context)
            .unwrap()
            .config
            .tools()
            .is_empty()
    );
}
