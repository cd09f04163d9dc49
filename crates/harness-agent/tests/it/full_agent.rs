//! An agent with everything on: its final prompt, and what stays the same over turns and processes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harness_agent::core::test_support::{ManualClock, Reply, ScriptedModel};
use harness_agent::core::{Caller, ModelRequest, from_fn};
use harness_agent::middlewares::{PlanModeMiddleware, WorkspaceContextOptions};
use harness_agent::prompt::{CommandTemplate, Layer, Library};
use harness_agent::skills::{Layer as LayerOfSkills, Root, Skills};
use harness_agent::{AgentHarness, Workspace, default_tools};

/// A project and a user's folder with a file of each kind.
fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("user/AGENTS.md", "Write commit messages in English."),
        ("project/.git/HEAD", ""),
        (
            "project/AGENTS.md",
            "Run `make check` before you finish.\n@docs/style.md\n",
        ),
        ("project/docs/style.md", "Four spaces, no tabs."),
        (
            "project/app/CLAUDE.md",
            "This folder is the web application.",
        ),
        (
            "project/app/MEMORY.md",
            "- the test server listens on 8081\n",
        ),
        ("project/app/KNOWLEDGE.md", "Orders are closed at midnight."),
        ("project/app/knowledge/orders/states.md", "open, paid, sent"),
        ("project/app/notes.txt", "The user's notes."),
        ("project/app/src/AGENTS.md", "Every module has a test."),
        ("project/app/src/main.rs", "fn main() {}\n"),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn agent(folder: &Path, model: Arc<ScriptedModel>, skills: usize) -> AgentHarness {
    let clock = ManualClock::new();
    clock.advance(Duration::from_hours(498_888));
    let workspace = Workspace::new(folder.join("project/app"));
    let mut context = WorkspaceContextOptions::default();
    context.user_folder = Some(folder.join("user"));
    context.files = vec!["notes.txt".into()];
    let mut library = Library::new();
    let command = CommandTemplate::parse("review", "Review $1.").unwrap();
    library.add_command(Layer::User, command, None);
    for number in 1..=skills {
        let skill = folder.join(format!("skills/skill-{number}"));
        std::fs::create_dir_all(&skill).unwrap();
        let text = format!(
            "---\nname: skill-{number}\ndescription: Does thing {number} <well>. Use it for thing {number}.\n---\n\
             Do thing {number}.\n"
        );
        std::fs::write(skill.join("SKILL.md"), text).unwrap();
    }
    let skills = Skills::discover(&[Root::new(LayerOfSkills::User, folder.join("skills"))]);
    AgentHarness::builder()
        .shared_model(model)
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .workspace_context(context)
        .library(library)
        .skills(skills)
        .task_list(true)
        .plan_mode(PlanModeMiddleware::new())
        .append_system_prompt("Appended by the caller.")
        .middleware(from_fn::on_system_prompt("house", |_, prompt| {
            Box::pin(async move {
                Ok(prompt.with_section("house", "A section of the user's.", "house"))
            })
        }))
        .clock(Arc::new(clock))
        .build()
        .unwrap()
}

fn scripted(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies))
}

/// The prompt in the order that `docs/prompt.md` describes.
#[tokio::test]
async fn the_final_prompt_of_a_fully_loaded_agent() {
    let folder = tree();
    let model = scripted([Reply::text("I will plan.")]);
    let agent = agent(folder.path(), model.clone(), 2);
    agent
        .prompt("/plan Add an order state.")
        .outcome()
        .await
        .unwrap();
    let request = model.requests().remove(0);
    let text = request.system.unwrap();
    let shown = text
        .replace(folder.path().to_str().unwrap(), "/home/ada")
        .replace(std::env::consts::OS, "linux");
    insta::assert_snapshot!(shown);

    // What the docs say of the order is what is sent.
    let docs = include_str!("../../../../docs/prompt.md");
    let shown = agent.system_prompt(Caller::default()).await.unwrap();
    let mut rest = docs;
    for section in shown.fitted.prompt.sections() {
        let heading = match section.name.strip_prefix("appended-") {
            Some(_) => "### `appended-N`".to_owned(),
            None if &*section.name == "house" => "### Sections of middlewares".to_owned(),
            None => format!("### `{}`", section.name),
        };
        let place = rest
            .find(&heading)
            .unwrap_or_else(|| panic!("{heading} is not in the rest of docs/prompt.md"));
        rest = &rest[place..];
    }
}

/// Twenty turns with everything on: lists of tasks, instructions that join, searches, failures.
fn twenty_turns() -> Vec<Reply> {
    let todo = |text: &str, status: &str| {
        format!(
            r#"{{"todos":[{{"content":"{text}","status":"{status}"}},{{"content":"more","status":"pending"}}]}}"#
        )
    };
    (0..20)
        .map(|turn| {
            let (tool, arguments) = match turn % 7 {
                0 => ("todo_write", todo(&format!("step {turn}"), "in_progress")),
                1 => ("read", r#"{"path":"src/main.rs"}"#.to_owned()),
                2 => ("ls", r#"{"path":"."}"#.to_owned()),
                3 => ("grep", r#"{"pattern":"main"}"#.to_owned()),
                4 => ("read", r#"{"path":"nowhere.txt"}"#.to_owned()),
                5 => ("find", r#"{"pattern":"*.md"}"#.to_owned()),
                _ => ("nope", "{}".to_owned()),
            };
            Reply::call(&format!("call-{turn}"), tool, &arguments)
        })
        .chain([Reply::text("Done.")])
        .collect()
}

async fn played(folder: &Path) -> Vec<ModelRequest> {
    let model = scripted(twenty_turns());
    let agent = agent(folder, model.clone(), 20);
    agent.prompt("/review @notes.txt").outcome().await.unwrap();
    model.requests()
}

/// PROMPT-06: each request begins with the one before it, also from one process to the next.
#[tokio::test]
async fn prompt_06_each_request_of_twenty_turns_begins_with_the_one_before() {
    let folder = tree();
    let requests = played(folder.path()).await;
    assert_eq!(requests.len(), 21);
    let messages = |request: &ModelRequest| -> Vec<String> {
        let messages = request.messages.iter();
        messages
            .map(|m| serde_json::to_string(m).unwrap())
            .collect()
    };
    let specs = |request: &ModelRequest| -> Vec<String> {
        let specs = request.tools.iter();
        specs
            .map(|spec| serde_json::to_string(spec).unwrap())
            .collect()
    };
    for pair in requests.windows(2) {
        assert_eq!(pair[0].system, pair[1].system);
        assert_eq!(specs(&pair[0]), specs(&pair[1]));
        let (before, after) = (messages(&pair[0]), messages(&pair[1]));
        assert!(after.starts_with(&before) && after.len() > before.len());
        // Not only equal: the same in memory, so that what a client made of them is used again.
        assert!(
            pair[0]
                .messages
                .iter()
                .zip(pair[1].messages.iter())
                .all(|(a, b)| a.same(b))
        );
    }
    let last = messages(&requests[20]).join("\n");
    assert_eq!(
        last.matches("Every module has a test.").count(),
        1,
        "sent once"
    );
    assert!(
        messages(&requests[5]).last().unwrap().contains("step 0"),
        "the reminder is last"
    );
    assert!(
        !requests[20].system.as_ref().unwrap().contains("step "),
        "and not in the prompt"
    );

    // Another harness is as good as another process: nothing is shared, and hash seeds differ.
    let again = played(folder.path()).await;
    for (one, two) in requests.iter().zip(&again) {
        assert_eq!(one.system, two.system);
        assert_eq!(specs(one), specs(two));
        assert_eq!(messages(one), messages(two));
    }
}
