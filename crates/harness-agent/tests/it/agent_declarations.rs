//! What an agent declares: in files, as texts of the program, and by code.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harness_agent::core::ThinkingLevel;
use harness_agent::skills::{BuiltIn, Diagnostic, Layer, Root, Status};
use harness_agent::{AgentDeclaration, AgentLookupError, Agents, Isolation, built_in_agents};

use crate::skills::write;

fn found(folder: &Path) -> Agents {
    Agents::discover(&[
        Root::new(Layer::User, folder.join("agents")),
        Root::built_in(built_in_agents()),
    ])
}

fn names(agents: &Agents) -> Vec<String> {
    let active = agents.active();
    active.iter().map(|agent| agent.name.clone()).collect()
}

/// What comes of the fields of one file: the declaration, or the first error.
fn declared(fields: &str) -> Result<AgentDeclaration, String> {
    let (declared, told) = read(fields);
    declared.ok_or_else(|| {
        let error = told.iter().find(|it| it.id().starts_with('E'));
        error.unwrap().to_string()
    })
}

fn read(fields: &str) -> (Option<AgentDeclaration>, Vec<Diagnostic>) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("---\ndescription: About x.\n{fields}---\n\nRole of x.\n");
    write(folder.path(), "agents/x.md", &text);
    let agents = Agents::discover(&[Root::new(Layer::User, folder.path().join("agents"))]);
    let catalogue = agents.catalogue();
    let [entry] = catalogue.entries() else {
        panic!("{catalogue:?}");
    };
    let told = entry.diagnostics.iter().cloned().map(|mut it| {
        it.path = None;
        it
    });
    let told = told.collect();
    let active = agents.active();
    assert_eq!(
        active.is_empty(),
        entry.status == Status::Invalid,
        "{told:?}"
    );
    (active.first().map(|agent| (**agent).clone()), told)
}

fn told(fields: &str) -> Vec<String> {
    read(fields).1.iter().map(ToString::to_string).collect()
}

#[test]
fn every_field_is_read() {
    let all = declared(
        "name: reviewer\ntools: [read, grep]\ndisallowed_tools: bash\nmodel: anthropic/m\nthinking: high\n\
         skills: [review, a b]\nmax_turns: 5\nmax_tokens: 1_000\nmax_cost: 0.5\ntimeout: 1h30m\nisolation: worktree\n",
    )
    .unwrap();
    assert_eq!(
        (&*all.name, &*all.description, &*all.role),
        ("reviewer", "About x.", "Role of x.")
    );
    assert_eq!(all.tools, Some(vec!["read".to_owned(), "grep".to_owned()]));
    assert_eq!(all.disallowed_tools, ["bash"]);
    assert_eq!(all.model.as_deref(), Some("anthropic/m"));
    assert_eq!(all.thinking, Some(ThinkingLevel::High));
    assert_eq!(
        all.skills,
        Some(vec!["review".to_owned(), "a b".to_owned()])
    );
    assert_eq!(
        (all.max_turns, all.max_tokens, all.max_cost),
        (Some(5), Some(1_000), Some(0.5))
    );
    assert_eq!(all.timeout, Some(Duration::from_mins(90)));
    assert_eq!((all.isolation, &*all.layer), (Isolation::Worktree, "user"));
    assert!(all.location.ends_with("agents/x.md"), "{}", all.location);

    let none = declared("").unwrap();
    assert_eq!(
        none,
        {
            let mut plain = AgentDeclaration::new("x", "About x.", "Role of x.");
            plain.layer.clone_from(&none.layer);
            plain.location.clone_from(&none.location);
            plain.digest = none.digest;
            plain
        },
        "what is not said is the parent's"
    );
}

#[test]
fn tools_are_a_list_or_a_text_by_any_known_name() {
    let cases: [(&str, Option<&[&str]>); 12] = [
        ("", None),
        ("tools: *\n", None),
        ("tools: '*'\n", None),
        ("tools: [\"*\"]\n", None),
        ("tools: []\n", Some(&[])),
        ("tools: read, grep\n", Some(&["read", "grep"])),
        ("tools: read grep,\n", Some(&["read", "grep"])),
        ("tools:\n  - read\n  - read\n", Some(&["read"])),
        (
            "tools: Read, Write, Edit, MultiEdit, Bash, Grep, Glob, LS, Task, TodoWrite, Skill\n",
            Some(&[
                "read",
                "write",
                "edit",
                "bash",
                "grep",
                "find",
                "ls",
                "agent_spawn",
                "todo_write",
                "load_skill",
            ]),
        ),
        ("tools: [apply_patch]\n", Some(&["write", "edit"])),
        (
            "tools: WebFetch, mcp__github__get_issue\n",
            Some(&["WebFetch", "mcp__github__get_issue"]),
        ),
        // What skills call it.
        ("allowed-tools: Read\n", Some(&["read"])),
    ];
    for (fields, expected) in cases {
        let tools = declared(fields).unwrap().tools;
        let tools = tools
            .as_ref()
            .map(|tools| tools.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(tools.as_deref(), expected, "{fields}");
    }
}

/// A file whose bound cannot be read is not used: it would be more than its author meant it to be.
#[test]
fn what_cannot_be_read_makes_it_invalid_and_never_wider() {
    let cases = [
        "tools:\n",
        "tools: ''\n",
        "tools: ','\n",
        "tools: {read: true}\n",
        "tools: [read, [grep]]\n",
        "tools: [read, ~]\n",
        "tools: [read\n",
        "tools: Bash(git diff:*)\n",
        "tools: '*, read'\n",
        "tools: mcp__*\n",
        "tools: read\nallowed-tools: bash\n",
        "tools: read\nTools: bash\n",
        "tools: read\ntools: bash\n",
        "tool: read\n",
        "allowed: read\ndisalowed_tools: read\n",
        "disallowedTools: '*'\n",
        "max_turns: 0\n",
        "max_turns: -1\n",
        "max_turns: many\n",
        "max_turns: 1.5\n",
        "max_turns: 4294967296\n",
        "max_turns:\n",
        "max_turns: [5]\n",
        "maxTurns: 0\n",
        "max_turn: 5\n",
        "max_tokens: 200k\n",
        "max_cost: free\n",
        "max_cost: 0\n",
        "max_cost: -1\n",
        "max_cost: .inf\n",
        "max_cost: inf\n",
        "max_cost: NaN\n",
        "timeout: soon\n",
        "timeout: 0s\n",
        "timeout: 0\n",
        "timeout: -5\n",
        "time_out_: [1]\n",
        "isolation: container\n",
        "isolation: true\n",
        "thinking: hard\n",
        "thinking: [low]\n",
        "model: [a, b]\n",
        "skills: {a: b}\n",
        "skills: \n",
        "skills: [\"a\\nb\"]\n",
        "model: \"a\\e[2Jb\"\n",
        "tools: |\n  read\n  grep\n",
        "<<: {tools: read}\n",
    ];
    for fields in cases {
        let declared = declared(fields);
        assert!(declared.is_err(), "{fields} is read as {declared:?}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let cases = [
        (
            "max_turns: many\n",
            "3:12: E-FIELD-VALUE: `max_turns`: it has to be a whole number of at least 1",
        ),
        (
            "tools: {a: b}\n",
            "3:8: E-FIELD-TYPE: `tools` has to be a list of names, or one text with commas between them, but is a \
             mapping\n  hint: leave it out if there is nothing to say",
        ),
        (
            "tools: Bash(git:*)\n",
            "3:8: E-TOOL-NAME: `Bash(git:*)` is no name of a tool\n  hint: name the whole tool: what it may do in \
             detail is for the permissions to say",
        ),
        (
            "tols: read\n",
            "3:1: E-UNKNOWN-FIELD: there is no field `tols`\n  hint: did you mean `tools`?",
        ),
        (
            "modell: m\n",
            "3:1: W-UNKNOWN-FIELD: there is no field `modell`\n  hint: did you mean `model`?",
        ),
        (
            "nickname: m\n",
            "3:1: W-UNKNOWN-FIELD: there is no field `nickname`\n  hint: it is passed over",
        ),
        (
            "allowedTools: read\n",
            "3:1: W-KEY-SPELLING: `allowedTools` is read as `tools`",
        ),
        (
            "max_turns: 1\nmaxTurns: 9\n",
            "4:1: E-DUP-KEY: `max_turns` is there twice",
        ),
    ];
    for (fields, expected) in cases {
        assert_eq!(told(fields), [expected]);
    }
}

#[test]
fn files_of_claude_code_are_read() {
    let agent = declared(
        "name: code-reviewer\ntools: Read, Grep, Glob, Bash\ndisallowedTools: Write\nmodel: sonnet\nmaxTurns: 9\n\
         color: blue\npermissionMode: plan\nhooks: {PreToolUse: []}\nmemory: user\nmcpServers: [github]\n\
         background: true\neffort: high\ninitialPrompt: Begin.\nisolation: worktree\nskills: [api, style]\n",
    );
    let agent = agent.unwrap();
    assert_eq!(agent.tools.unwrap(), ["read", "grep", "find", "bash"]);
    assert_eq!(
        (agent.model.as_deref(), agent.max_turns),
        (Some("sonnet"), Some(9))
    );
    assert_eq!(agent.disallowed_tools, ["write"]);
    assert_eq!(
        told("color: blue\npermissionMode: plan\nhooks: {a: b}\n"),
        [""; 0]
    );
    assert_eq!(declared("model: inherit\n").unwrap().model, None);
    assert_eq!(declared("model:\n").unwrap().model, None);
    assert_eq!(
        declared("model: opus\n").unwrap().model.as_deref(),
        Some("opus")
    );
}

#[test]
fn a_tool_is_wanted_if_it_is_named_and_not_ruled_out() {
    let all = AgentDeclaration::new("a", "d", "r");
    assert!(all.allows("bash"));
    let some = all
        .clone()
        .tools(["read", "bash"])
        .disallowed_tools(["bash"]);
    assert!(some.allows("read") && !some.allows("bash") && !some.allows("edit"));
    assert!(!all.clone().tools([""; 0]).allows("read"));
    let without = declared("disallowedTools: Bash\n").unwrap();
    assert!(without.allows("read") && !without.allows("bash"));
    // What it says is what it is told apart by.
    assert_ne!(all.digest, some.digest);
    assert_eq!(all.digest, AgentDeclaration::new("a", "d", "r").digest);
    assert_eq!(
        (all.max_turns(0).max_turns, &*some.layer),
        (Some(1), "program")
    );
}

#[test]
fn the_built_in_agents_are_sound() {
    let agents = Agents::discover(&[Root::built_in(built_in_agents())]);
    assert_eq!(names(&agents), ["explore", "general"]);
    assert!(
        agents
            .catalogue()
            .entries()
            .iter()
            .all(|entry| entry.diagnostics.is_empty())
    );
    let explore = agents.find("explore").unwrap();
    assert_eq!(
        explore.tools.as_deref().unwrap(),
        ["read", "grep", "find", "ls"]
    );
    assert_eq!(
        (&*explore.layer, &*explore.location),
        ("built-in", "built-in:explore")
    );
    assert_eq!(agents.find("GENERAL").unwrap().tools, None);
    assert!(
        agents
            .active()
            .iter()
            .all(|agent| agent.role.len() > 200 && !agent.description.contains('\n'))
    );
}

#[test]
fn those_of_the_program_come_before_files_and_files_before_built_in_ones() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "agents/explore.md",
        "---\ndescription: d\n---\nOf the user.\n",
    );
    write(
        folder.path(),
        "agents/mine.md",
        "---\ndescription: d\n---\nOf the user.\n",
    );
    let agents = found(folder.path());
    assert_eq!(&*agents.find("explore").unwrap().role, "Of the user.");
    let agents = agents
        .with(AgentDeclaration::new("Mine", "d", "First."))
        .with(AgentDeclaration::new("mine", "d", "Second."));
    assert_eq!(names(&agents), ["explore", "general", "Mine"]);
    assert_eq!(&*agents.find("mine").unwrap().role, "First.");
    assert_eq!(agents.declared().len(), 1);
    assert_eq!(
        agents.find("mine@user").unwrap().location,
        folder.path().join("agents/mine.md").display().to_string()
    );
    assert!(
        agents
            .find("explore@built-in")
            .unwrap()
            .role
            .contains("path:line")
    );

    // A broken file leaves its name to the next one.
    write(
        folder.path(),
        "agents/explore.md",
        "---\ndescription: d\ntools: {}\n---\nOf the user.\n",
    );
    assert!(agents.refresh());
    assert_eq!(agents.find("explore").unwrap().layer, "built-in");
}

#[test]
fn new_files_count_from_the_next_refresh_and_what_stays_is_the_same_value() {
    let folder = tempfile::tempdir().unwrap();
    let text = |role: &str| format!("---\ndescription: d\n---\n{role}\n");
    write(folder.path(), "agents/one.md", &text("One."));
    let agents = found(folder.path());
    let other = agents.clone();
    let first = agents.active();
    assert!(!agents.refresh());
    assert!(Arc::ptr_eq(&first, &agents.active()));

    write(folder.path(), "agents/two.md", &text("Two."));
    assert_eq!(names(&agents), ["explore", "general", "one"]);
    assert!(agents.refresh());
    assert_eq!(names(&other), ["explore", "general", "one", "two"]);
    assert!(
        Arc::ptr_eq(&first[2], &agents.active()[2]),
        "it was read again"
    );

    write(folder.path(), "agents/one.md", &text("Another one."));
    assert!(agents.refresh());
    assert_eq!(&*agents.find("one").unwrap().role, "Another one.");
    // An invalid one more changes nothing of what is active.
    let before = agents.active();
    write(folder.path(), "agents/bad.md", "no frontmatter\n");
    assert!(!agents.refresh());
    assert!(Arc::ptr_eq(&before, &agents.active()));
    assert_eq!(agents.catalogue().entries().len(), 5);

    std::fs::remove_file(folder.path().join("agents/one.md")).unwrap();
    assert!(agents.refresh());
    assert_eq!(names(&agents), ["explore", "general", "two"]);
}

#[test]
fn a_name_that_leads_to_none_says_why() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "agents/broken.md",
        "---\ndescription: d\nmax_turns: x\n---\nRole.\n",
    );
    write(
        folder.path(),
        "project/held.md",
        "---\ndescription: d\n---\nRole.\n",
    );
    let agents = Agents::discover(&[
        Root::new(Layer::Project, folder.path().join("project")).held("nobody trusts it"),
        Root::new(Layer::User, folder.path().join("agents")),
        Root::built_in(built_in_agents()),
    ]);
    assert_eq!(names(&agents), ["explore", "general"]);
    let said = |name: &str| agents.find(name).unwrap_err().to_string();
    assert_eq!(
        said("explor"),
        "there is no agent `explor`; did you mean `explore`?"
    );
    assert_eq!(said("x\u{1b}[1m"), "there is no agent `x\\u{1b}[1m`");
    assert_eq!(
        said("held"),
        "the agent `held` is held back: nobody trusts it"
    );
    let error = agents.find("broken").unwrap_err();
    assert!(
        matches!(&error, AgentLookupError::Invalid { problem, .. } if problem.contains("max_turns")),
        "{error}"
    );
    assert_eq!(names(&Agents::default()), [""; 0]);
    assert!(!Agents::default().can_have_any() && agents.can_have_any());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

    /// Whatever stands behind `tools`, an agent has all of them only where a `*` says so.
    #[test]
    fn no_value_of_tools_is_read_as_all_of_them(
        key in "tools|Tools|allowed-tools|allowedTools|tool|tols",
        value in "[ a-z,\\[\\]{}'\"#:&!|>%@`\n~-]{0,12}",
        before in "(model: m\n|a: b\n|<<: c\n|- d\n)?",
    ) {
        let text = format!("---\ndescription: d\n{before}{key}: {value}\n---\nRole.\n");
        let agents = Agents::discover(&[Root::built_in([BuiltIn::new("x", text.clone())])]);
        if let [agent] = &*agents.active() {
            proptest::prop_assert!(agent.tools.is_some(), "{text}: {agent:?}");
        }
    }
}
