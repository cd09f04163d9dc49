//! Skills in an agent: what the model is told, what it can load, and what stays.

use std::path::Path;
use std::sync::Arc;

use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::core::{Caller, Event, Message, MessageRef, ToolOutcome, UserPart};
use harness_agent::middlewares::PlanModeMiddleware;
use harness_agent::skills::{Layer, Policy, Root, Skill, Skills};
use harness_agent::{
    AgentHarness, AgentHarnessBuilder, Extension, ExtensionResult, LoopContext, Workspace,
    default_tools,
};

pub(crate) fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn skill(folder: &Path, path: &str, extra: &str, body: &str) {
    let name = Path::new(path).file_name().unwrap().to_str().unwrap();
    let text = format!("---\nname: {name}\ndescription: About {name}.\n{extra}---\n{body}\n");
    write(folder, &format!("{path}/SKILL.md"), &text);
}

/// A folder with a skill `review` in `skills`.
pub(crate) fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    skill(
        folder.path(),
        "skills/review",
        "",
        "CANARY of review. Read references/a.md.",
    );
    write(
        folder.path(),
        "skills/review/references/a.md",
        "CANARY of a.\n",
    );
    write(folder.path(), "work/file.txt", "text\n");
    folder
}

pub(crate) fn found(folder: &Path) -> Skills {
    Skills::discover(&[Root::new(Layer::User, folder.join("skills"))])
}

pub(crate) fn builder(folder: &Path, model: &Arc<ScriptedModel>) -> AgentHarnessBuilder {
    let workspace = Workspace::new(folder.join("work"));
    AgentHarness::builder()
        .shared_model(model.clone())
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .skills(found(folder))
}

pub(crate) fn scripted(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies))
}

pub(crate) fn load(id: &str, arguments: &str) -> Reply {
    Reply::call(id, "load_skill", arguments)
}

/// The outcomes of all calls of a conversation.
pub(crate) fn outcomes(history: &[MessageRef]) -> Vec<ToolOutcome> {
    let results = history.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(results),
        _ => None,
    });
    let results = results.flat_map(|results| &results.results);
    results.map(|result| (*result.outcome).clone()).collect()
}

pub(crate) fn shown(outcome: &ToolOutcome) -> String {
    outcome.shown_text()
}

fn said(message: &Message) -> String {
    match message {
        Message::User(user) => match &user.content[..] {
            [UserPart::Text(text), ..] => text.text.clone(),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn g01_no_skills_no_block_no_tool() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "work/file.txt", "");
    let model = scripted([Reply::text("Done.")]);
    let agent = builder(folder.path(), &model).build().unwrap();
    agent.prompt("Go.").outcome().await.unwrap();
    let request = model.requests().remove(0);
    assert!(!request.system.unwrap().to_lowercase().contains("skill"));
    assert!(request.tools.iter().all(|tool| tool.name != "load_skill"));
    let decisions = &agent.assembly().tools;
    let decision = decisions
        .iter()
        .find(|decision| decision.tool == "load_skill");
    assert_eq!(decision.unwrap().why, "there are no skills");
}

#[tokio::test]
async fn without_any_tool_the_model_is_told_of_none() {
    let folder = tree();
    let model = scripted([Reply::text("Done.")]);
    let agent = builder(folder.path(), &model)
        .only_tools([""; 0])
        .build()
        .unwrap();
    agent.prompt("Go.").outcome().await.unwrap();
    assert!(
        !model.requests()[0]
            .system
            .as_ref()
            .unwrap()
            .contains("review")
    );
}

#[tokio::test]
async fn skill_13_what_is_listed_is_what_is_loaded() {
    let folder = tree();
    skill(
        folder.path(),
        "project/review",
        "",
        "CANARY of the project.",
    );
    let roots = [
        Root::new(Layer::Project, folder.path().join("project")),
        Root::new(Layer::User, folder.path().join("skills")),
    ];
    let replies = [
        load("1", r#"{"name":"review"}"#),
        load("2", r#"{"name":"review@user"}"#),
        Reply::text("Done."),
    ];
    let model = scripted(replies);
    let agent = builder(folder.path(), &model)
        .skills(Skills::discover(&roots))
        .build()
        .unwrap();
    let outcome = agent.prompt("Go.").outcome().await.unwrap();
    let system = model.requests()[0].system.clone().unwrap();
    // SKILL-12: one name, one entry.
    assert_eq!(system.matches("<name>review</name>").count(), 1);
    let listed = folder.path().join("project/review/SKILL.md");
    assert!(system.contains(listed.to_str().unwrap()), "{system}");
    let outcomes = outcomes(&outcome.history);
    assert!(shown(&outcomes[0]).contains("CANARY of the project."));
    assert!(shown(&outcomes[1]).contains("CANARY of review."));
}

#[tokio::test]
async fn the_instructions_come_with_their_folder_and_its_files() {
    let folder = tree();
    let replies = [
        load("1", r#"{"name":"REVIEW"}"#),
        load("2", r#"{"name":"review","file":"references/a.md"}"#),
        load("3", r#"{"name":"review"}"#),
        Reply::text("Done."),
    ];
    let model = scripted(replies);
    let agent = builder(folder.path(), &model).build().unwrap();
    let outcome = agent.prompt("Go.").outcome().await.unwrap();
    let outcomes = outcomes(&outcome.history);
    let directory = folder.path().join("skills/review");
    let directory = directory.to_str().unwrap();
    let first = shown(&outcomes[0]);
    assert!(
        first.starts_with("<skill_content name=\"review\" digest=\""),
        "{first}"
    );
    assert!(first.ends_with("</skill_content>"), "{first}");
    assert!(
        first.contains("CANARY of review. Read references/a.md.\n"),
        "{first}"
    );
    assert!(first.contains(directory), "{first}");
    assert!(first.contains("<file>references/a.md</file>"), "{first}");
    assert_eq!(shown(&outcomes[1]), "CANARY of a.\n");
    // The same once more is a short note.
    let again = shown(&outcomes[2]);
    assert!(
        again.contains("loaded already") && !again.contains("CANARY"),
        "{again}"
    );
}

#[tokio::test]
async fn h04_what_is_edited_is_loaded_anew_and_listed_from_the_next_turn_on() {
    let folder = tree();
    let file = folder.path().join("skills/review/SKILL.md");
    let new = "---\nname: review\ndescription: Changed.\n---\nCANARY two.\n";
    let arguments = serde_json::json!({ "path": file, "content": new }).to_string();
    let replies = [
        load("1", r#"{"name":"review"}"#),
        Reply::call("2", "write", &arguments),
        load("3", r#"{"name":"review"}"#),
        Reply::text("Done."),
    ];
    let model = scripted(replies);
    let agent = builder(folder.path(), &model).build().unwrap();
    let outcome = agent.prompt("Go.").outcome().await.unwrap();
    assert!(shown(&outcomes(&outcome.history)[2]).contains("CANARY two."));
    let prompts: Vec<_> = model
        .requests()
        .into_iter()
        .map(|r| r.system.unwrap())
        .collect();
    assert_eq!(prompts[0], prompts[1]);
    assert!(prompts[1].contains("About review.") && !prompts[1].contains("Changed."));
    assert!(prompts[2].contains("Changed.") && !prompts[2].contains("About review."));
    assert_eq!(prompts[2], prompts[3]);
}

#[tokio::test]
async fn h05_what_is_gone_is_an_error_and_then_not_listed() {
    let folder = tree();
    let gone = folder.path().join("skills/review").display().to_string();
    let arguments = serde_json::json!({ "command": format!("rm -r {gone}") }).to_string();
    let both = Reply::text("").and_call("1", "bash", &arguments);
    let replies = [
        both,
        load("2", r#"{"name":"review"}"#),
        Reply::text("Done."),
    ];
    let model = scripted(replies);
    let agent = builder(folder.path(), &model).build().unwrap();
    let outcome = agent.prompt("Go.").outcome().await.unwrap();
    let outcomes = outcomes(&outcome.history);
    assert!(
        matches!(&outcomes[1], ToolOutcome::Failed(_)),
        "{outcomes:?}"
    );
    assert!(shown(&outcomes[1]).contains("there is no skill `review`"));
    let prompts: Vec<_> = model
        .requests()
        .into_iter()
        .map(|r| r.system.unwrap())
        .collect();
    assert!(prompts[0].contains("<name>review</name>"));
    assert!(!prompts[1].contains("<name>review</name>"));
}

#[tokio::test]
async fn h03_and_h08_what_cannot_be_loaded_says_why() {
    let folder = tree();
    skill(
        folder.path(),
        "skills/deploy",
        "disable-model-invocation: true\n",
        "CANARY",
    );
    let cases = [
        (r#"{"name":"reviev"}"#, "did you mean `review`?"),
        (r#"{"name":"deploy"}"#, "only the user can load it"),
        (
            r#"{"name":"review","file":"../deploy/SKILL.md"}"#,
            "there is `..` in it",
        ),
        (
            r#"{"name":"review","file":"/etc/passwd"}"#,
            "it is absolute",
        ),
        (
            r#"{"name":"review","file":"b.md"}"#,
            "these are there: references/a.md",
        ),
    ];
    let calls = cases
        .iter()
        .enumerate()
        .map(|(n, (arguments, _))| load(&n.to_string(), arguments));
    let model = scripted(calls.chain([Reply::text("Done.")]));
    let agent = builder(folder.path(), &model).build().unwrap();
    let outcome = agent.prompt("Go.").outcome().await.unwrap();
    for (outcome, (arguments, expected)) in outcomes(&outcome.history).iter().zip(cases) {
        let text = shown(outcome);
        assert!(
            matches!(outcome, ToolOutcome::Failed(_)),
            "{arguments}: {text}"
        );
        assert!(text.contains(expected), "{arguments}: {text}");
        assert!(!text.contains("CANARY"), "{arguments}: {text}");
    }
    assert!(
        !model.requests()[0]
            .system
            .as_ref()
            .unwrap()
            .contains("deploy")
    );
}

/// What a user types, and what the model is sent.
async fn typed(folder: &Path, prompt: &str) -> (String, Vec<String>) {
    let model = scripted([Reply::text("Done.")]);
    let agent = builder(folder, &model).build().unwrap();
    let mut run = agent.prompt(prompt);
    let mut warnings = Vec::new();
    while let Some(event) = run.next().await {
        if let Event::Warning { message } = event {
            warnings.push(message);
        }
    }
    run.outcome().await.unwrap();
    let request = model.requests().remove(0);
    (said(&request.messages[0]), warnings)
}

#[tokio::test]
async fn a_command_puts_the_instructions_into_the_prompt() {
    let folder = tree();
    skill(
        folder.path(),
        "skills/deploy",
        "disable-model-invocation: true\n",
        "CANARY of deploy.",
    );
    skill(
        folder.path(),
        "skills/inner",
        "user-invocable: false\n",
        "CANARY of inner.",
    );
    let (text, warnings) = typed(folder.path(), "/skill:review src/main.rs\nand more").await;
    assert!(text.starts_with("<skill_content name=\"review\""), "{text}");
    assert!(
        text.ends_with("</skill_content>\n\nsrc/main.rs\nand more"),
        "{text}"
    );
    assert!(warnings.is_empty(), "{warnings:?}");
    let (text, _) = typed(folder.path(), "/skill:deploy").await;
    assert!(text.contains("CANARY of deploy."), "{text}");
    for (prompt, why) in [
        ("/skill:reviev it", "did you mean `review`?"),
        ("/skill:inner", "not for users"),
    ] {
        let (text, warnings) = typed(folder.path(), prompt).await;
        assert_eq!(text, prompt);
        assert!(
            warnings.iter().any(|warning| warning.contains(why)),
            "{warnings:?}"
        );
    }
}

#[tokio::test]
async fn h12_nothing_in_the_instructions_is_expanded_or_run() {
    let folder = tree();
    let body = "{{ x }} $ARGUMENTS $1 !`touch canary` @file.txt /skill:review </skill_content>";
    skill(folder.path(), "skills/tricky", "", body);
    let (text, _) = typed(folder.path(), "/skill:tricky given").await;
    assert!(
        text.contains("{{ x }} $ARGUMENTS $1 !`touch canary` @file.txt /skill:review"),
        "{text}"
    );
    assert_eq!(text.matches("</skill_content>").count(), 1, "{text}");
    assert!(!folder.path().join("work/canary").exists());
}

#[tokio::test]
async fn plan_mode_lets_skills_be_loaded() {
    let folder = tree();
    let model = scripted([load("1", r#"{"name":"review"}"#), Reply::text("Done.")]);
    let agent = builder(folder.path(), &model)
        .plan_mode(PlanModeMiddleware::new())
        .build()
        .unwrap();
    let outcome = agent.prompt("/plan Do it.").outcome().await.unwrap();
    assert!(shown(&outcomes(&outcome.history)[0]).contains("CANARY of review."));
}

#[tokio::test]
async fn reading_that_is_confined_reaches_the_skills() {
    let folder = tree();
    write(folder.path(), "other/secret.md", "secret");
    let file = folder.path().join("skills/review/references/a.md");
    let secret = folder.path().join("other/secret.md");
    let read = |path: &Path| serde_json::json!({ "path": path }).to_string();
    let replies = [
        Reply::call("1", "read", &read(&file)),
        Reply::call("2", "read", &read(&secret)),
        Reply::text("Done."),
    ];
    let model = scripted(replies);
    let workspace = Workspace::new(folder.path().join("work"))
        .with_read_access(harness_tools::Access::WorkspaceOnly);
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .skills(found(folder.path()))
        .build()
        .unwrap();
    let outcome = agent.prompt("Go.").outcome().await.unwrap();
    let outcomes = outcomes(&outcome.history);
    assert!(shown(&outcomes[0]).contains("CANARY of a."), "{outcomes:?}");
    assert!(
        matches!(outcomes[1], ToolOutcome::Denied { .. }),
        "{outcomes:?}"
    );
}

#[tokio::test]
async fn a_session_may_have_skills_of_its_own() {
    let folder = tree();
    skill(folder.path(), "ada/hers", "", "CANARY of hers.");
    let model = scripted([Reply::text("Done."), Reply::text("Done.")]);
    let agent = builder(folder.path(), &model).build().unwrap();
    let mut session = agent.session();
    let mut context = LoopContext::default();
    let root = Root::new(Layer::IsolatedUser, folder.path().join("ada"));
    context.skills = Some(Skills::discover(&[root]));
    session.reconfigure(&context).unwrap();
    session.prompt("Go.").outcome().await.unwrap();
    agent.prompt("Go.").outcome().await.unwrap();
    let prompts: Vec<_> = model
        .requests()
        .into_iter()
        .map(|r| r.system.unwrap())
        .collect();
    assert!(
        prompts[0].contains("<name>hers</name>") && !prompts[0].contains("<name>review</name>")
    );
    assert!(
        prompts[1].contains("<name>review</name>") && !prompts[1].contains("<name>hers</name>")
    );
}

/// What two users of one agent may read: each the folders of their own skills.
#[tokio::test]
async fn no_session_reads_the_skills_of_another_one() {
    let folder = tree();
    let workspace = Workspace::new(folder.path().join("work"))
        .with_read_access(harness_tools::Access::WorkspaceOnly);
    let users = ["ada", "bob"];
    let mut replies = Vec::new();
    for owner in users.repeat(4) {
        let file = folder.path().join(format!("{owner}/{owner}s/SKILL.md"));
        let arguments = serde_json::json!({ "path": file }).to_string();
        replies.extend([Reply::call("1", "read", &arguments), Reply::text("Done.")]);
    }
    let model = scripted(replies);
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .build()
        .unwrap();
    let mut sessions = Vec::new();
    for user in users {
        skill(folder.path(), &format!("{user}/{user}s"), "", "CANARY");
        let mut context = LoopContext::default();
        let root = Root::new(Layer::IsolatedUser, folder.path().join(user));
        context.skills = Some(Skills::discover(&[root]));
        let mut session = agent.session().with_caller(Caller::default());
        session.reconfigure(&context).unwrap();
        sessions.push(session);
    }
    // The second round is after both have begun.
    for _ in 0..2 {
        for (session, user) in sessions.iter_mut().zip(users) {
            for owner in users {
                let outcome = session.prompt("Go.").outcome().await.unwrap();
                let last = outcomes(&outcome.history).pop().unwrap();
                let was_read = matches!(last, ToolOutcome::Done(_));
                assert_eq!(was_read, user == owner, "{user} reads of {owner}: {last:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_command_takes_every_name_that_leads_to_a_skill() {
    let folder = tree();
    skill(
        folder.path(),
        "project/review",
        "",
        "CANARY of the project.",
    );
    skill(folder.path(), "skills/übung", "", "CANARY of übung.");
    let roots = [
        Root::new(Layer::Project, folder.path().join("project")),
        Root::new(Layer::User, folder.path().join("skills")),
    ];
    for (prompt, canary) in [
        ("/skill:review x", "CANARY of the project."),
        ("/skill:review@user x", "CANARY of review."),
        ("/skill:übung x", "CANARY of übung."),
    ] {
        let model = scripted([Reply::text("Done.")]);
        let skills = Skills::discover(&roots);
        let agent = builder(folder.path(), &model)
            .skills(skills)
            .build()
            .unwrap();
        agent.prompt(prompt).outcome().await.unwrap();
        let text = said(&model.requests()[0].messages[0]);
        assert!(
            text.contains(canary) && text.ends_with("\n\nx"),
            "{prompt}: {text}"
        );
    }
}

/// Keeps one skill back.
struct Without(&'static str);

impl Extension for Without {
    fn name(&self) -> &'static str {
        "without"
    }

    fn on_build_skills(&self, mut skills: Vec<Arc<Skill>>) -> ExtensionResult<Vec<Arc<Skill>>> {
        skills.retain(|skill| skill.name() != self.0);
        Ok(skills)
    }
}

#[tokio::test]
async fn what_an_extension_leaves_out_is_nowhere() {
    let folder = tree();
    skill(folder.path(), "skills/other", "", "CANARY of other.");
    let replies = [load("1", r#"{"name":"review"}"#), Reply::text("Done.")];
    let model = scripted(replies);
    let agent = builder(folder.path(), &model)
        .extension(Without("review"))
        .build()
        .unwrap();
    let outcome = agent.prompt("/skill:review").outcome().await.unwrap();
    let request = model.requests().remove(0);
    assert_eq!(said(&request.messages[0]), "/skill:review");
    let system = request.system.unwrap();
    assert!(system.contains("<name>other</name>") && !system.contains("<name>review</name>"));
    let text = shown(&outcomes(&outcome.history)[0]);
    assert!(text.contains("left out by the extension without"), "{text}");
}

#[tokio::test]
async fn skill_07_a_list_that_is_too_long_is_cut_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "work/file.txt", "");
    for number in 0..300 {
        let description = format!("description: {}\n", "word ".repeat(1_000));
        let text = format!("---\nname: skill-{number}\n{description}---\nDo it.\n");
        write(
            folder.path(),
            &format!("skills/skill-{number}/SKILL.md"),
            &text,
        );
    }
    let model = scripted([Reply::text("Done.")]);
    let skills = Skills::discover_with(
        &[Root::new(Layer::User, folder.path().join("skills"))],
        harness_agent::skills::DiscoverOptions::default().policy(Policy::FirstWins),
    );
    let agent = builder(folder.path(), &model)
        .skills(skills)
        .build()
        .unwrap();
    let mut run = agent.prompt("Go.");
    let mut warnings = 0;
    while let Some(event) = run.next().await {
        warnings += usize::from(matches!(event, Event::Warning { .. }));
    }
    let system = model.requests()[0].system.clone().unwrap();
    let start = system.find("<available_skills>").unwrap();
    let end = system.find("</available_skills>").unwrap();
    let chars = system[start..end].chars().count();
    assert!(chars < 8_000, "{chars}");
    assert!(system.contains("more skills are not listed. If none of these fits, load_skill"));
    assert_eq!(warnings, 1);
}
