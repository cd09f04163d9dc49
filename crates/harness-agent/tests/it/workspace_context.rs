//! What the model is told of the workspace, from files that change while it works.

use std::path::Path;
use std::sync::Arc;

use harness_agent::core::test_support::{ManualClock, Reply, ScriptedModel, assert_hooks_honest};
use harness_agent::core::{
    Caller, Event, Message, ModelRequest, OutputPart, RunOutcome, UserPart, estimate_tokens,
};
use harness_agent::middlewares::{WorkspaceContextMiddleware, WorkspaceContextOptions};
use harness_agent::{AgentHarness, Workspace, default_tools};
use proptest::prelude::*;

/// Files in a folder; a path that ends in `/` is a folder.
pub(crate) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    if path.to_str().unwrap().ends_with('/') {
        std::fs::create_dir_all(path).unwrap();
        return;
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn link(folder: &Path, path: &str, target: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, path).unwrap();
}

fn agent(folder: &Path, options: WorkspaceContextOptions) -> AgentHarness {
    AgentHarness::builder()
        .shared_model(Arc::new(ScriptedModel::new([])))
        .working_dir(folder)
        .workspace_context(options)
        .build()
        .unwrap()
}

/// The prompt's text and the warnings.
pub(crate) async fn prompt(
    folder: &Path,
    options: WorkspaceContextOptions,
) -> (String, Vec<String>) {
    let shown = agent(folder, options)
        .system_prompt(Caller::default())
        .await
        .unwrap();
    (shown.fitted.prompt.text(), shown.warnings)
}

fn in_order(text: &str, parts: &[&str]) {
    let places: Vec<usize> = parts
        .iter()
        .map(|part| {
            text.find(part)
                .unwrap_or_else(|| panic!("{part} is not in {text}"))
        })
        .collect();
    assert!(places.is_sorted(), "{parts:?} in {text}");
}

/// Everything in a request, as text.
pub(crate) fn all(request: &ModelRequest) -> String {
    let mut all = request.system.as_deref().unwrap_or_default().to_owned();
    for message in request.messages.iter() {
        match &**message {
            Message::User(user) => {
                for part in &user.content {
                    if let UserPart::Text(text) = part {
                        all.push_str(&text.text);
                    }
                }
            }
            Message::ToolResults(results) => {
                for result in &results.results {
                    for part in result.outcome.shown() {
                        if let OutputPart::Text(text) = part {
                            all.push_str(&text.text);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    all
}

/// Plays calls of `read`, with something done before each reply; gives the requests and the warnings.
pub(crate) async fn play(
    folder: &Path,
    options: WorkspaceContextOptions,
    reads: &[&str],
    mut before: impl FnMut(usize),
) -> (Vec<ModelRequest>, Vec<String>, RunOutcome) {
    let mut replies: Vec<Reply> = reads
        .iter()
        .enumerate()
        .map(|(number, path)| {
            let arguments = serde_json::json!({ "path": path }).to_string();
            Reply::call(&number.to_string(), "read", &arguments)
        })
        .collect();
    replies.push(Reply::text("Done."));
    let model = Arc::new(ScriptedModel::new(replies));
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .tools(default_tools(&Workspace::new(folder)))
        .working_dir(folder)
        .workspace_context(options)
        .build()
        .unwrap();
    let mut run = agent.prompt("Go.");
    let (mut warnings, mut turns) = (Vec::new(), 0);
    while let Some(event) = run.next().await {
        match event {
            Event::Warning { message } => warnings.push(message),
            Event::TurnEnd { .. } => {
                before(turns);
                turns += 1;
            }
            _ => {}
        }
    }
    let outcome = run.outcome().await.unwrap();
    (model.requests(), warnings, outcome)
}

#[tokio::test]
async fn without_files_there_is_no_trace_of_them() {
    let folder = tree(&[("src/", ""), ("MEMORY.md", "  \n"), ("knowledge/", "")]);
    let (text, warnings) = prompt(folder.path(), WorkspaceContextOptions::default()).await;
    assert_eq!(warnings, [""; 0]);
    let lower = text.to_lowercase();
    for word in [
        "agents.md",
        "claude.md",
        "memory",
        "knowledge",
        "instructions path",
    ] {
        assert!(!lower.contains(word), "{word} is in {text}");
    }
    assert!(text.contains(&format!("Working folder: {}", folder.path().display())));
    assert!(text.contains("Temporary files: /tmp"));
}

#[tokio::test]
async fn the_order_is_user_then_root_then_down_to_the_working_folder() {
    let folder = tree(&[
        ("home/AGENTS.md", "USER"),
        ("AGENTS.md", "ABOVE-THE-REPOSITORY"),
        ("repo/.git/", ""),
        ("repo/AGENTS.md", "ROOT"),
        ("repo/a/CLAUDE.md", "MIDDLE"),
        ("repo/a/b/AGENTS.md", "NEAREST"),
        ("repo/a/b/CLAUDE.md", "PASSED-OVER"),
        ("repo/a/b/c/AGENTS.md", "BELOW"),
        ("repo/MEMORY.md", "REMEMBERED"),
        ("repo/a/b/KNOWLEDGE.md", "KNOWN"),
        ("repo/a/b/knowledge/x/y.md", "unread"),
        ("repo/a/b/knowledge/b.md", "unread"),
        ("repo/a/b/extra.md", "EXTRA"),
    ]);
    let mut options = WorkspaceContextOptions::default();
    options.user_folder = Some(folder.path().join("home"));
    options.files = vec!["extra.md".into()];
    let (text, warnings) = prompt(&folder.path().join("repo/a/b"), options).await;
    assert_eq!(warnings, [""; 0]);
    in_order(
        &text,
        &[
            "Working folder",
            "USER",
            "ROOT",
            "MIDDLE",
            "NEAREST",
            "REMEMBERED",
            "KNOWN",
            "b.md\nx/y.md",
            "EXTRA",
            "Today's date",
        ],
    );
    for absent in ["ABOVE-THE-REPOSITORY", "PASSED-OVER", "BELOW", "unread"] {
        assert!(!text.contains(absent), "{absent} is in {text}");
    }
}

#[tokio::test]
async fn prompt_01_links_are_followed_and_each_file_is_loaded_once() {
    let folder = tree(&[
        (".git/", ""),
        ("elsewhere/rules.md", "CANARY"),
        ("secret", "SECRET"),
        ("sub/deeper/", ""),
    ]);
    link(folder.path(), "AGENTS.md", "elsewhere/rules.md");
    link(folder.path(), "sub/AGENTS.md", "../elsewhere/rules.md");
    let deeper = folder.path().join("sub/deeper");
    let (text, warnings) = prompt(&deeper, WorkspaceContextOptions::default()).await;
    assert_eq!(text.matches("CANARY").count(), 1, "{text}");
    assert!(
        text.contains("sub/AGENTS.md"),
        "the nearest name counts: {text}"
    );
    assert_eq!(warnings, [""; 0]);

    // A link to what is not called like a text file is a warning.
    link(folder.path(), "sub/deeper/AGENTS.md", "../../secret");
    let (text, warnings) = prompt(&deeper, WorkspaceContextOptions::default()).await;
    assert!(!text.contains("SECRET"), "{text}");
    assert!(
        warnings[0].contains("sub/deeper/AGENTS.md is not used: it leads to"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn prompt_02_one_name_at_the_root_does_not_turn_off_the_other_below() {
    let folder = tree(&[
        (".git/", ""),
        ("CLAUDE.md", "ROOT"),
        ("sub/AGENTS.md", "SUB-AGENTS"),
        ("sub/CLAUDE.md", "SUB-CLAUDE"),
        ("sub/file.txt", "text"),
        ("other/AGENTS.md", "OTHER"),
    ]);
    let (requests, warnings, _) = play(
        folder.path(),
        WorkspaceContextOptions::default(),
        &["sub/file.txt", "sub/file.txt"],
        |_| {},
    )
    .await;
    assert_eq!(warnings, [""; 0]);
    assert!(!all(&requests[0]).contains("SUB-"), "before it was touched");
    for request in &requests[1..] {
        let all = all(request);
        in_order(&all, &["ROOT", "SUB-AGENTS"]);
        assert_eq!(all.matches("SUB-AGENTS").count(), 1, "{all}");
        assert!(
            !all.contains("SUB-CLAUDE") && !all.contains("OTHER"),
            "{all}"
        );
    }
    // It joins behind the messages: nothing that was sent before is another.
    for pair in requests.windows(2) {
        assert_eq!(pair[0].system, pair[1].system);
        assert!(pair[1].messages.starts_with(&pair[0].messages));
    }
}

#[tokio::test]
async fn prompt_04_imports_are_relative_to_where_the_file_really_is() {
    let folder = tree(&[
        (".git/", ""),
        (
            "shared/AGENTS.md",
            "before\n@./more.md\n@missing.md\n```\n@./more.md\n```\nafter",
        ),
        ("shared/more.md", "MORE\n@deep.md"),
        ("shared/deep.md", "DEEP\n@more.md"),
        ("more.md", "WRONG-BASE"),
    ]);
    link(folder.path(), "AGENTS.md", "shared/AGENTS.md");
    let (text, warnings) = prompt(folder.path(), WorkspaceContextOptions::default()).await;
    in_order(
        &text,
        &[
            "before",
            "MORE",
            "DEEP",
            "@missing.md",
            "```\n@./more.md\n```",
            "after",
        ],
    );
    assert!(!text.contains("WRONG-BASE"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("the import `missing.md` is left as it is: there is no such file")
    );
}

#[tokio::test]
async fn prompt_07_only_what_is_last_changes_with_the_day() {
    let folder = tree(&[(".git/", ""), ("AGENTS.md", "ROOT"), ("MEMORY.md", "one\n")]);
    let model = Arc::new(ScriptedModel::new([
        Reply::call("1", "ls", "{}"),
        Reply::call("2", "ls", "{}"),
        Reply::text("Done."),
    ]));
    let clock = Arc::new(ManualClock::new());
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .tools(default_tools(&Workspace::new(folder.path())))
        .working_dir(folder.path())
        .clock(clock.clone())
        .build()
        .unwrap();
    let mut run = agent.prompt("Go.");
    let mut days = 0;
    while let Some(event) = run.next().await {
        if matches!(event, Event::TurnEnd { .. }) && days == 0 {
            days += 1;
            clock.advance(std::time::Duration::from_hours(24));
        }
    }
    let systems: Vec<_> = model
        .requests()
        .iter()
        .map(|r| r.system.clone().unwrap())
        .collect();
    assert_ne!(systems[0], systems[1]);
    assert_eq!(systems[1], systems[2]);
    let shared = systems[0]
        .bytes()
        .zip(systems[1].bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert_eq!(
        shared,
        systems[0].rfind("Today's date: ").unwrap() + "Today's date: ".len()
    );
}

#[tokio::test]
async fn prompt_11_the_nearest_is_cut_last_and_a_marker_says_so() {
    let line = "根の指示はとても長い。\n";
    let root = line.repeat(40 * 1024 / line.len());
    let near = format!("{}CANARY-NEAR", "near near near\n".repeat(65));
    let folder = tree(&[
        (".git/", ""),
        ("AGENTS.md", &root),
        ("sub/AGENTS.md", &near),
    ]);
    let (text, warnings) = prompt(
        &folder.path().join("sub"),
        WorkspaceContextOptions::default(),
    )
    .await;
    assert!(text.contains("CANARY-NEAR"));
    assert!(
        text.contains(" bytes of ") && text.contains("[cut: "),
        "a marker"
    );
    assert!(!text.contains('\u{FFFD}'));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("/AGENTS.md is shown to the model in part"),
        "{warnings:?}"
    );

    // The same when the small one joins later: the root's gives way to it.
    write(folder.path(), "sub/file.txt", "text");
    let (requests, warnings, _) = play(
        folder.path(),
        WorkspaceContextOptions::default(),
        &["sub/file.txt"],
        |_| {},
    )
    .await;
    assert!(all(&requests[1]).contains("CANARY-NEAR"));
    assert!(!warnings.is_empty());
}

#[tokio::test]
async fn memory_keeps_its_newest_part() {
    let memory: String = (0..10_000).fold(String::new(), |all, n| all + &format!("- note {n}\n"));
    let folder = tree(&[("MEMORY.md", &memory), ("AGENTS.md", "ROOT")]);
    let (text, warnings) = prompt(folder.path(), WorkspaceContextOptions::default()).await;
    assert!(text.contains("- note 9999\n") && !text.contains("- note 0\n"));
    assert!(text.contains("ROOT") && text.contains("[cut: "));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[tokio::test]
async fn prompt_12_a_changed_file_counts_from_the_next_turn_and_is_sent_once() {
    let folder = tree(&[
        (".git/", ""),
        ("AGENTS.md", "V1"),
        ("sub/AGENTS.md", "NESTED-V1"),
        ("sub/file.txt", "text"),
    ]);
    let path = folder.path().to_owned();
    let reads = ["sub/file.txt"; 5];
    let (requests, _, _) = play(
        &path,
        WorkspaceContextOptions::default(),
        &reads,
        |turn| match turn {
            1 => write(&path, "AGENTS.md", "V2"),
            2 => write(&path, "sub/AGENTS.md", "NESTED-V2"),
            3 => std::fs::remove_file(path.join("sub/AGENTS.md")).unwrap(),
            _ => {}
        },
    )
    .await;
    let expected = [
        ("V1", ""),
        ("V1", "NESTED-V1"),
        ("V2", "NESTED-V1"),
        ("V2", "NESTED-V2"),
        ("V2", ""),
        ("V2", ""),
    ];
    for (number, (request, (root, nested))) in requests.iter().zip(expected).enumerate() {
        let system = request.system.as_deref().unwrap();
        assert!(
            system.contains(&format!("\n{root}\n")),
            "{number}: {system}"
        );
        assert_eq!(
            system.matches("<instructions ").count(),
            1,
            "{number}: {system}"
        );
        let found: Vec<&str> = ["NESTED-V1", "NESTED-V2"]
            .into_iter()
            .filter(|text| all(request).contains(text))
            .collect();
        let expected: Vec<&str> = Some(nested)
            .filter(|text| !text.is_empty())
            .into_iter()
            .collect();
        assert_eq!(found, expected, "{number}");
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_a_warning_and_no_section() {
    let folder = tree(&[
        ("AGENTS.md/", ""),
        ("CLAUDE.md", "FALLBACK"),
        ("KNOWLEDGE.md", "ok"),
    ]);
    std::fs::write(folder.path().join("MEMORY.md"), b"caf\xe9 \xff").unwrap();
    let mut options = WorkspaceContextOptions::default();
    options.files = vec!["gone.md".into(), "/dev/null".into()];
    let (text, warnings) = prompt(folder.path(), options).await;
    let folder = folder.path().display();
    let expected = [
        format!("{folder}/AGENTS.md is not used: it is a folder"),
        format!("{folder}/MEMORY.md is not used: it is not UTF-8 text"),
        format!("{folder}/gone.md is not there"),
        "/dev/null is not used: it is not a regular file".to_owned(),
    ];
    assert_eq!(warnings, expected);
    assert!(
        !text.contains("<memory") && !text.contains("FALLBACK"),
        "{text}"
    );
}

#[tokio::test]
async fn its_hooks_are_honest() {
    for read_files in [true, false] {
        let mut options = WorkspaceContextOptions::default();
        options.read_files = read_files;
        let middleware = WorkspaceContextMiddleware::new(options, Arc::default());
        assert_hooks_honest(middleware).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_budget_is_never_exceeded(
        sizes in prop::collection::vec(0_usize..3_000, 6),
        tokens in 0_usize..4_000,
        wide in any::<bool>(),
    ) {
        let text = |size: usize| if wide { "長い行\n".repeat(size) } else { "line\n".repeat(size) };
        let folder = tree(&[
            (".git/", ""),
            ("AGENTS.md", &text(sizes[0])),
            ("sub/AGENTS.md", &text(sizes[1])),
            ("sub/MEMORY.md", &text(sizes[2])),
            ("sub/KNOWLEDGE.md", &text(sizes[3])),
            ("sub/one.md", &text(sizes[4])),
            ("sub/two.md", &text(sizes[5])),
            ("sub/knowledge/a.md", ""),
        ]);
        let mut options = WorkspaceContextOptions::default();
        options.tokens = tokens;
        options.files = vec!["one.md".into(), "two.md".into()];
        let agent = agent(&folder.path().join("sub"), options);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let shown = runtime.block_on(agent.system_prompt(Caller::default())).unwrap();
        let files = ["instructions", "memory", "knowledge", "context-files"];
        let texts: Vec<String> = shown.fitted.prompt.sections().iter()
            .filter(|section| files.contains(&&*section.name))
            .map(|section| section.sent().to_owned())
            .collect();
        prop_assert!(estimate_tokens(&texts.join("\n\n")) <= tokens);
    }
}
