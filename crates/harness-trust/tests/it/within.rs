//! Runs within runs: what they have in common, and that the inner one is never allowed more.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::join_all;
use harness_core::test_support::Reply;
use harness_core::{
    Attributes, Caller, CancellationToken, DynamicTool, Event, RunInput, RunOptions, SubagentName,
    ToolEffects, run_with,
};
use harness_trust::test_support::ScriptedApprover;
use harness_trust::{
    Answer, Layer, Permissions, PlaceOfRuns, Rule, Rules, Scope, SharedApprover, Verdict,
};
use serde_json::json;

use crate::stage::{Ran, Stage, calling, ran};

const ONCE: Answer = Answer::Yes(Scope::Once);
const RUN: Answer = Answer::Yes(Scope::Run);

type Turns<'a> = &'a [&'a [(&'a str, &'a str)]];

/// A run that is started within another one.
#[derive(Clone)]
struct Child {
    replies: Vec<Reply>,
    folder: Option<PathBuf>,
    attributes: Attributes,
}

impl Child {
    fn new(turns: Turns<'_>) -> Self {
        Self {
            replies: calling(turns),
            folder: None,
            attributes: Attributes::default(),
        }
    }

    fn named(self, id: &str) -> Self {
        self.attributes.insert(SubagentName {
            id: id.to_owned(),
            agent: "explore".to_owned(),
        });
        self
    }

    fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

/// A tool that starts runs within the one that calls it, all at once. What they tell is told by it.
fn spawn(stage: &Stage, permissions: &Permissions, children: Vec<Child>) -> DynamicTool {
    let configs: Vec<_> = children
        .into_iter()
        .map(|child| {
            let config = stage.config(child.replies.clone());
            let config = config.middleware(permissions.clone()).build().unwrap();
            (Arc::new(config), child)
        })
        .collect();
    DynamicTool::new(
        "spawn",
        "Starts.",
        json!({ "type": "object" }),
        move |cx, _| {
            let configs = configs.clone();
            let cx = cx.run().clone();
            Box::pin(async move {
                join_all(configs.into_iter().map(|(config, child)| {
                    let cx = cx.clone();
                    async move {
                        let options = RunOptions {
                            caller: Caller {
                                working_dir: child.folder,
                                attributes: child.attributes,
                                ..Caller::default()
                            },
                            parent: Some(cx.clone()),
                            ..RunOptions::default()
                        };
                        let mut run = run_with(&config, RunInput::prompt("go"), options);
                        while let Some(event) = run.next().await {
                            if let Event::Permission(_) | Event::Warning { .. } = event {
                                cx.emit(event);
                            }
                        }
                    }
                }))
                .await;
                Ok("ok".into())
            })
        },
    )
    .effects(|_, _| ToolEffects::conversation())
}

/// A run that makes calls, starts children, and makes more calls.
fn around(
    stage: &Stage,
    permissions: &Permissions,
    before: &[(&str, &str)],
    children: Vec<Child>,
    after: &[(&str, &str)],
) -> Ran {
    let turns: [&[(&str, &str)]; 3] = [before, &[("spawn", "")], after];
    let turns: Vec<_> = turns.into_iter().filter(|it| !it.is_empty()).collect();
    let config = stage
        .config(calling(&turns))
        .tool(spawn(stage, permissions, children))
        .middleware(permissions.clone());
    ran(&config.build().unwrap(), Caller::default())
}

/// Permissions in a trusted project.
fn trusted(stage: &Stage, root: &Path, rules: &[(Verdict, &str)]) -> Permissions {
    let rules = rules.iter().fold(Rules::new(), |rules, (verdict, text)| {
        rules.with(Layer::User, Rule::parse(*verdict, text).unwrap())
    });
    let mut place = PlaceOfRuns::new(root);
    place.is_trusted = true;
    Permissions::new(rules, place).approver(stage.approver.clone())
}

/// What is not asked about in the parent's run, since the parent is `spawn` and `note` only.
fn decisions(ran: &Ran) -> Vec<&'static str> {
    let reports = ran.reports().into_iter();
    let own = reports.filter(|report| report.tool != "spawn");
    own.map(|report| report.decision.word()).collect()
}

#[test]
fn sub_a_yes_for_the_run_counts_for_parent_and_children() {
    // Said in the parent's run, in a child's, and in one of several at once.
    let put: Turns<'_> = &[&[("put", "a")]];
    for (before, children, after, done) in [
        (&[("put", "a")][..], 1, &[][..], 2),
        (&[][..], 1, &[("put", "a")][..], 2),
        (&[][..], 3, &[("put", "a")][..], 4),
    ] {
        let stage = Stage::new([RUN]);
        let permissions = stage.permissions(&[]);
        let children = vec![Child::new(put); children];
        around(&stage, &permissions, before, children, after);
        assert_eq!(stage.approver.questions().len(), 1);
        assert_eq!(stage.approver.unexpected(), 0);
        assert_eq!(stage.done().len(), done);
    }
    // And is gone with the parent's run.
    let stage = Stage::new([RUN, RUN]);
    let permissions = stage.permissions(&[]);
    for _ in 0..2 {
        around(&stage, &permissions, &[], vec![Child::new(put)], &[]);
    }
    assert_eq!(stage.approver.questions().len(), 2);
}

#[test]
fn sub_children_at_once_ask_one_question_at_a_time() {
    let stage = Stage::new([ONCE, ONCE, ONCE, ONCE]);
    let permissions = stage.permissions(&[]);
    let child = Child::new(&[&[("put", "a"), ("sh", "make")]]);
    around(&stage, &permissions, &[], vec![child.clone(), child], &[]);
    assert_eq!(stage.approver.most_open(), 1);
    assert_eq!(stage.approver.questions().len(), 4);
}

#[test]
fn sub_a_question_says_which_subagent_asks() {
    let stage = Stage::new([ONCE, ONCE]);
    let permissions = stage.permissions(&[]);
    let child = Child::new(&[&[("put", "a")]]).named("explore-3f9a1c02");
    let ran = around(&stage, &permissions, &[("put", "b")], vec![child], &[]);
    let agents: Vec<_> = stage
        .approver
        .questions()
        .into_iter()
        .map(|it| it.agent)
        .collect();
    assert_eq!(agents, [None, Some("explore-3f9a1c02".to_owned())]);
    let agents: Vec<_> = ran
        .reports()
        .into_iter()
        .filter_map(|it| it.agent)
        .collect();
    assert_eq!(agents, ["explore-3f9a1c02"]);
}

#[test]
fn sub_a_question_of_a_grandchild_names_both() {
    let stage = Stage::new([ONCE]);
    let permissions = stage.permissions(&[]);
    let inner = Child::new(&[&[("put", "a")]]).named("explore-2");
    let inner = spawn(&stage, &permissions, vec![inner]);
    let config = stage.config(calling(&[&[("spawn", "")]])).tool(inner);
    let config = Arc::new(config.middleware(permissions.clone()).build().unwrap());
    let outer = DynamicTool::new("spawn", "Starts.", json!({}), move |cx, _| {
        let (config, parent) = (config.clone(), Some(cx.run().clone()));
        Box::pin(async move {
            let caller = Caller::default();
            caller.attributes.insert(SubagentName {
                id: "general-1".to_owned(),
                agent: "general".to_owned(),
            });
            let options = RunOptions {
                caller,
                parent,
                ..RunOptions::default()
            };
            let _ = run_with(&config, RunInput::prompt("go"), options)
                .outcome()
                .await;
            Ok("ok".into())
        })
    })
    .effects(|_, _| ToolEffects::conversation());
    let config = stage.config(calling(&[&[("spawn", "")]])).tool(outer);
    ran(
        &config.middleware(permissions).build().unwrap(),
        Caller::default(),
    );
    let agent = stage.approver.questions()[0].agent.clone();
    assert_eq!(agent.as_deref(), Some("general-1 › explore-2"));
    assert_eq!(stage.done(), ["put a"]);
}

#[test]
fn sub_the_approver_is_that_of_the_nearest_caller_who_has_one() {
    let put: Turns<'_> = &[&[("put", "a")]];
    for (parents, childs) in [(true, false), (true, true), (false, true), (false, false)] {
        let stage = Stage::new([ONCE]);
        let permissions = stage.permissions(&[]);
        let shared = || Arc::new(ScriptedApprover::new([ONCE]));
        let (of_parent, of_child) = (shared(), shared());
        let child = Child::new(put);
        if childs {
            child.attributes.insert(SharedApprover(of_child.clone()));
        }
        let caller = Caller::default();
        if parents {
            caller.attributes.insert(SharedApprover(of_parent.clone()));
        }
        let config = stage
            .config(calling(&[&[("spawn", "")]]))
            .tool(spawn(&stage, &permissions, vec![child]))
            .middleware(permissions);
        ran(&config.build().unwrap(), caller);
        let asked = |approver: &ScriptedApprover| approver.questions().len();
        let asked = [asked(&of_child), asked(&of_parent), asked(&stage.approver)];
        let expected = match (childs, parents) {
            (true, _) => [1, 0, 0],
            (false, true) => [0, 1, 0],
            (false, false) => [0, 0, 1],
        };
        assert_eq!(asked, expected, "parent's {parents}, child's {childs}");
    }
}

#[test]
fn sub_a_childs_folder_is_never_wider_than_its_parents() {
    let rules: &[(Verdict, &str)] = &[
        (Verdict::Deny, "write(sub/kept)"),
        (Verdict::Ask, "write(sub/asked)"),
        (Verdict::Deny, "write(migrations/**)"),
    ];
    // The child's folder, what it writes, and what is decided of that.
    for (folder, of, decision) in [
        // Its own place, as the parent's is.
        ("", "a", "allow"),
        ("", ".git/config", "ask"),
        ("", "../elsewhere", "ask"),
        // A folder below: what rules say of it there counts, and what they say of it as a place of its own.
        ("sub", "sub/a", "allow"),
        ("sub", "sub/kept", "deny"),
        ("sub", "sub/asked", "ask"),
        ("sub", "sub/migrations/a", "deny"),
        ("sub", "a", "ask"),
        // One where everything is asked about.
        (".git", ".git/config", "ask"),
        (".harness", ".harness/settings", "ask"),
        // A worktree in it.
        (".worktrees/x", ".worktrees/x/a", "allow"),
        (".worktrees/x", ".worktrees/x/.git", "ask"),
        (".worktrees/x", ".worktrees/x/.harness/a", "ask"),
        (".worktrees/x", ".worktrees/x/migrations/a", "deny"),
        (".worktrees/x", ".worktrees/y/a", "ask"),
        (".worktrees/x", "migrations/a", "deny"),
        (".worktrees/x", "a", "ask"),
        // Elsewhere, also by a link: the parent's place counts.
        ("../elsewhere", "../elsewhere/a", "ask"),
        ("../elsewhere", "a", "allow"),
        ("link", "../elsewhere/a", "ask"),
        ("..", "../elsewhere/a", "ask"),
    ] {
        let stage = Stage::new([]);
        let root = stage.root().join("project");
        for folder in [
            "sub/migrations",
            "migrations",
            ".git",
            ".worktrees/x/deep",
            ".worktrees/x/migrations",
            ".worktrees/x/.harness",
            ".worktrees/y",
            "../elsewhere",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("../elsewhere", root.join("link")).unwrap();
        let permissions = trusted(&stage, &root, rules);
        let of = format!("project/{of}");
        let child = Child::new(&[&[("put", &of)]]).folder(root.join(folder));
        let ran = around(&stage, &permissions, &[], vec![child], &[]);
        let asked = stage.approver.questions().len();
        let found = match (decisions(&ran).as_slice(), asked) {
            (["allow"], 0) => "allow",
            (["deny"], 0) => "deny",
            (["deny"], 1) => "ask",
            other => panic!("{folder} {of}: {other:?}"),
        };
        assert_eq!(found, decision, "in {folder:?}: {of}");
    }
}

#[test]
fn sub_no_folder_of_a_home_is_a_project_for_a_child() {
    let stage = Stage::new([]);
    let folder = stage.root().join("sub");
    fs::create_dir(&folder).unwrap();
    let mut place = PlaceOfRuns::new(stage.root());
    place.home = Some(stage.root());
    place.is_trusted = true;
    let permissions = Permissions::new(Rules::new(), place).approver(stage.approver.clone());
    let child = Child::new(&[&[("put", "sub/a")]]).folder(folder);
    around(&stage, &permissions, &[], vec![child], &[]);
    assert_eq!(stage.approver.questions().len(), 1);
    assert!(stage.done().is_empty());
}

#[test]
fn sub_what_was_granted_means_what_it_meant_where_it_was_said() {
    // The child works in a folder below, or in a checkout.
    for folder in ["sub", ".worktrees/x"] {
        // What is granted in the parent's run, and asked again in the child's.
        for (granted, in_child, again) in [
            (("put", "a"), ("put", "FOLDER/a"), true),
            (("put", "FOLDER/a"), ("put", "FOLDER/a"), false),
            (("reach", "example.org"), ("reach", "example.org"), false),
            (("mystery", ""), ("mystery", ""), false),
        ] {
            for parent_first in [true, false] {
                let stage = Stage::new([RUN, RUN]);
                fs::create_dir_all(stage.root().join(folder)).unwrap();
                let named = |(tool, of): (&'static str, &str)| (tool, of.replace("FOLDER", folder));
                let (parents, childs) = (named(granted), named(in_child));
                let child =
                    vec![Child::new(&[&[(childs.0, &childs.1)]]).folder(stage.root().join(folder))];
                let permissions = stage.permissions(&[]);
                if parent_first {
                    around(&stage, &permissions, &[(parents.0, &parents.1)], child, &[]);
                } else {
                    around(&stage, &permissions, &[], child, &[(parents.0, &parents.1)]);
                }
                let expected = if again { 2 } else { 1 };
                let asked = stage.approver.questions().len();
                assert_eq!(asked, expected, "{folder} {parents:?} {childs:?}");
            }
        }
    }
}

#[test]
fn sub_a_command_granted_above_is_granted_below_and_not_the_other_way_round() {
    for (parent_first, asked) in [(true, 1), (false, 2)] {
        let stage = Stage::new([RUN, RUN]);
        let folder = stage.root().join("sub");
        fs::create_dir(&folder).unwrap();
        let permissions = trusted(&stage, &stage.root(), &[]);
        let make: &[(&str, &str)] = &[("sh", "make x")];
        let child = vec![Child::new(&[make]).folder(folder)];
        if parent_first {
            around(&stage, &permissions, make, child, &[]);
        } else {
            around(&stage, &permissions, &[], child, make);
        }
        assert_eq!(stage.approver.questions().len(), asked);
    }
}

#[test]
fn sub_a_child_that_is_cancelled_does_not_wait_for_anothers_question() {
    let stage = Stage::new([]);
    let cancel = CancellationToken::new();
    let cancelled = cancel.clone();
    // While the first child is asked about, the second one, which waits for its turn, is cancelled.
    let approver =
        Arc::new(ScriptedApprover::default().then_after(move |_| cancelled.cancel(), ONCE));
    let permissions = stage.permissions(&[]).approver(approver.clone());
    let child = |stage: &Stage| {
        let config = stage.config(calling(&[&[("put", "a")]]));
        Arc::new(config.middleware(permissions.clone()).build().unwrap())
    };
    let (first, second) = (child(&stage), child(&stage));
    let tool = DynamicTool::new("spawn", "Starts.", json!({}), move |cx, _| {
        let (first, second) = (first.clone(), second.clone());
        let (cx, cancel) = (cx.run().clone(), cancel.clone());
        Box::pin(async move {
            let options = |cancellation| RunOptions {
                parent: Some(cx.clone()),
                cancellation,
                ..RunOptions::default()
            };
            let one = run_with(&first, RunInput::prompt("go"), options(None)).outcome();
            let two = run_with(&second, RunInput::prompt("go"), options(Some(cancel))).outcome();
            let (_, _) = futures::join!(one, two);
            Ok("ok".into())
        })
    })
    .effects(|_, _| ToolEffects::conversation());
    let config = stage.config(vec![Reply::call("1", "spawn", "{}"), Reply::text("done")]);
    let config = config.tool(tool).middleware(permissions.clone());
    ran(&config.build().unwrap(), Caller::default());
    assert_eq!(approver.questions().len(), 1);
    assert_eq!(stage.done(), ["put a"]);
}
