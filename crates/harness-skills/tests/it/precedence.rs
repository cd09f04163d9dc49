//! Rows F, SKILL-12 and SKILL-13: who has a name that several want.

use std::fs;
use std::sync::Arc;

use harness_skills::{
    BuiltIn, DefaultRoots, DiscoverOptions, FolderSource, FormatOptions, Layer, LookupError,
    Policy, Root, Skills, Status, format_skills,
};

use crate::tree::{Tree, agrees, codes, discover, finding, instructions, text};

pub(crate) fn with(policy: Policy, roots: &[Root]) -> Skills {
    let skills = Skills::discover_with(roots, DiscoverOptions::default().policy(policy));
    agrees(&skills);
    skills
}

/// `x` in the project, and another one of the user.
pub(crate) fn project_and_user() -> (Tree, [Root; 2]) {
    let tree = Tree::new();
    tree.skill("project/x");
    tree.skill("user/x");
    let roots = [
        tree.root(Layer::Project, "project"),
        tree.root(Layer::User, "user"),
    ];
    (tree, roots)
}

const PROJECT_WINS: [&str; 2] = ["x active project/x", "x shadowed user/x"];
const USER_WINS: [&str; 2] = ["x active user/x", "x shadowed project/x"];

#[test]
fn f01_the_project_before_the_user() {
    let (tree, roots) = project_and_user();
    let skills = discover(&roots);
    assert_eq!(tree.listing(&skills), PROJECT_WINS);
    let loser = tree.entry(&skills, "user/x");
    let Status::Shadowed { by, same_content } = &loser.status else {
        panic!("{:?}", loser.status)
    };
    assert_eq!(by.directory(), Some(&*tree.path("project/x")));
    assert!(!same_content);
    let finding = finding(&loser.diagnostics, "SHADOWED");
    assert_eq!(codes(&loser.diagnostics), ["W-SHADOWED"]);
    assert_eq!(finding.path, Some(tree.path("user/x/SKILL.md")));
    let winner = tree.path("project/x/SKILL.md");
    assert!(finding.message.contains(winner.to_str().unwrap()));

    // It is still there for who asks for it.
    assert_eq!(instructions(&skills, "x@user"), "Canary of user/x.");
}

#[test]
fn f01_twins_are_no_warning() {
    let tree = Tree::new();
    tree.write("project/x/SKILL.md", text("x", "Same."));
    tree.write("user/x/SKILL.md", text("x", "Same."));
    let skills = discover(&[
        tree.root(Layer::Project, "project"),
        tree.root(Layer::User, "user"),
    ]);
    let loser = tree.entry(&skills, "user/x");
    assert_eq!(codes(&loser.diagnostics), ["I-SHADOWED-TWIN"]);
}

#[test]
fn skill_12_the_name_is_listed_once() {
    let (_tree, roots) = project_and_user();
    for policy in [Policy::FirstWins, Policy::UserFirst, Policy::Ranked] {
        let catalogue = with(policy, &roots).catalogue();
        let skills = catalogue.for_models().map(|skill| &**skill);
        let text = format_skills(skills, &FormatOptions::default()).text;
        assert_eq!(text.matches("<name>x</name>").count(), 1, "{text}");
    }
}

#[test]
fn skill_13_the_one_that_is_listed_is_the_one_that_is_used() {
    let (tree, roots) = project_and_user();
    for (policy, winner) in [
        (Policy::FirstWins, "project/x"),
        (Policy::UserFirst, "user/x"),
        (Policy::Ranked, "project/x"),
    ] {
        let skills = with(policy, &roots);
        let catalogue = skills.catalogue();
        let active = catalogue.for_models().map(|skill| &**skill);
        let listed = format_skills(active, &FormatOptions::default()).text;
        let file = tree.path(winner).join("SKILL.md");
        assert!(listed.contains(file.to_str().unwrap()), "{listed}");
        let canary = format!("Canary of {winner}.");
        assert_eq!(instructions(&skills, "x"), canary);
        let (command, _) = catalogue.commands().next().unwrap();
        assert_eq!(instructions(&skills, &command), canary);
    }
}

pub(crate) fn usual(tree: &Tree, working_dir: &str) -> Vec<Root> {
    let mut roots = DefaultRoots::default();
    roots.working_dir = Some(tree.path(working_dir));
    roots.claude = true;
    roots.pi = true;
    roots.roots(|_| true)
}

#[test]
fn f04_the_folder_of_the_client_before_that_of_all() {
    let tree = Tree::new();
    for client in [".agents", ".harness", ".claude", ".pi"] {
        tree.skill(format!("repo/{client}/skills/x"));
    }
    let skills = discover(&usual(&tree, "repo"));
    assert_eq!(
        tree.listing(&skills),
        [
            "x active repo/.harness/skills/x",
            "x shadowed repo/.agents/skills/x",
            "x shadowed repo/.claude/skills/x",
            "x shadowed repo/.pi/skills/x",
        ]
    );
}

#[test]
fn f05_a_folder_before_the_one_above() {
    let tree = Tree::new();
    tree.folder("repo/.git");
    tree.skill("repo/.harness/skills/x");
    tree.skill("repo/child/.agents/skills/x");
    let skills = discover(&usual(&tree, "repo/child"));
    assert_eq!(tree.active(&skills), ["repo/child/.agents/skills/x"]);
}

#[test]
fn f07_two_hard_links_are_one_file() {
    let tree = Tree::new();
    let file = tree.skill("skills/a");
    tree.folder("skills/b");
    fs::hard_link(&file, tree.path("skills/b/SKILL.md")).unwrap();
    let skills = tree.skills();
    assert_eq!(tree.listing(&skills), ["a active skills/a"]);
    let catalogue = skills.catalogue();
    let note = finding(catalogue.notes(), "SAME-FILE");
    assert_eq!(note.path, Some(tree.path("skills/b/SKILL.md")));
    assert!(note.message.contains(file.to_str().unwrap()));
}

#[test]
fn f09_upper_case_makes_no_other_name() {
    let tree = Tree::new();
    tree.skill("project/Demo");
    tree.skill("user/demo");
    let skills = discover(&[
        tree.root(Layer::Project, "project"),
        tree.root(Layer::User, "user"),
    ]);
    assert_eq!(
        tree.listing(&skills),
        ["Demo active project/Demo", "demo shadowed user/demo"]
    );
    assert_eq!(instructions(&skills, "demo"), "Canary of project/Demo.");
}

#[test]
fn f11_one_name_in_two_folders_of_one_root() {
    let tree = Tree::new();
    tree.named("skills/b", "x");
    tree.named("skills/a", "x");
    let skills = tree.skills();
    assert_eq!(
        tree.listing(&skills),
        ["x active skills/a", "x shadowed skills/b"]
    );
    let loser = tree.entry(&skills, "skills/b");
    assert_eq!(codes(&loser.diagnostics), ["W-NAME-DIR", "W-SHADOWED"]);
}

#[test]
fn f16_a_namespace_keeps_its_names() {
    let tree = Tree::new();
    tree.named("user/p-x", "p:x");
    tree.skill("plugin/x");
    let user = tree.root(Layer::User, "user");
    let plugin = tree.root(Layer::Repository, "plugin").in_namespace("p");
    for policy in [Policy::FirstWins, Policy::Ranked, Policy::KeepAll] {
        let skills = with(policy, &[user.clone(), plugin.clone()]);
        assert_eq!(
            tree.listing(&skills),
            ["p:x active plugin/x", "p:x shadowed user/p-x"]
        );
        let loser = tree.entry(&skills, "user/p-x");
        assert!(codes(&loser.diagnostics).contains(&"W-NAMESPACE".to_owned()));
        assert_eq!(instructions(&skills, "P:X"), "Canary of plugin/x.");
        let commands: Vec<String> = skills
            .catalogue()
            .commands()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(commands, ["p:x"]);
    }
}

#[test]
fn f16_names_in_a_namespace_take_none_from_others() {
    let tree = Tree::new();
    tree.skill("user/x");
    tree.skill("plugin/x");
    let skills = discover(&[
        tree.root(Layer::Repository, "plugin").in_namespace("p"),
        tree.root(Layer::User, "user"),
    ]);
    assert_eq!(
        tree.listing(&skills),
        ["p:x active plugin/x", "x active user/x"]
    );
}

#[test]
fn f16_a_lock_is_above_a_namespace() {
    let tree = Tree::new();
    tree.named("managed/p-x", "p:x");
    tree.skill("plugin/x");
    let skills = discover(&[
        tree.root(Layer::Repository, "plugin").in_namespace("p"),
        tree.root(Layer::Managed, "managed").locked(),
    ]);
    assert_eq!(
        tree.listing(&skills),
        ["p:x active managed/p-x", "p:x shadowed plugin/x"]
    );
}

/// `AgentScope`'s layers: global < repository (two of them) < workspace < isolated user.
#[test]
fn f18_ranks_and_what_each_removal_uncovers() {
    let tree = Tree::new();
    let layers = ["L1", "L2a", "L2b", "L3", "L4"];
    let mut roots = Vec::new();
    for (rank, layer) in layers.iter().enumerate() {
        tree.skill(format!("{layer}/x"));
        let root = tree.root(Layer::Other((*layer).into()), layer);
        roots.push(root.with_rank(i32::try_from(rank).unwrap()));
    }
    // The order of the list is no matter.
    roots.swap(0, 3);
    roots.swap(1, 4);
    let skills = with(Policy::Ranked, &roots);
    for (number, layer) in layers.iter().enumerate().rev() {
        let canary = |layer: &str| format!("Canary of {layer}/x.");
        assert_eq!(instructions(&skills, "x"), canary(layer));
        for below in &layers[..=number] {
            assert_eq!(
                instructions(&skills, &format!("x@{below}")),
                canary(below),
                "below {layer}"
            );
        }
        fs::remove_dir_all(tree.path(layer)).unwrap();
        let changes = skills.refresh();
        assert_eq!(changes.changed.len(), usize::from(number > 0));
        assert_eq!(changes.removed.len(), usize::from(number == 0));
        agrees(&skills);
    }
    assert_eq!(skills.catalogue().entries().len(), 0);
}

#[test]
fn equal_ranks_leave_the_order_of_the_list() {
    let (tree, roots) = project_and_user();
    let skills = with(Policy::Ranked, &roots);
    assert_eq!(tree.listing(&skills), PROJECT_WINS);
    let [project, user] = roots;
    let skills = with(Policy::Ranked, &[project, user.with_rank(1)]);
    assert_eq!(tree.listing(&skills), USER_WINS);
}

#[test]
fn the_user_first() {
    let (tree, roots) = project_and_user();
    let skills = with(Policy::UserFirst, &roots);
    assert_eq!(tree.listing(&skills), USER_WINS);

    // All other layers stay where they are.
    tree.skill("explicit/x");
    tree.skill("repository/x");
    let [project, user] = roots;
    let skills = with(
        Policy::UserFirst,
        &[
            tree.root(Layer::Explicit, "explicit"),
            project,
            user,
            tree.root(Layer::Repository, "repository"),
        ],
    );
    assert_eq!(
        tree.listing(&skills),
        [
            "x active explicit/x",
            "x shadowed user/x",
            "x shadowed project/x",
            "x shadowed repository/x",
        ]
    );
}

#[test]
fn all_are_kept_and_have_to_be_told_apart() {
    let (tree, roots) = project_and_user();
    let skills = with(Policy::KeepAll, &roots);
    assert_eq!(
        tree.listing(&skills),
        ["x active project/x", "x active user/x"]
    );
    let catalogue = skills.catalogue();
    let error = catalogue.find("x").unwrap_err();
    let LookupError::Ambiguous { candidates, .. } = &error else {
        panic!("{error}")
    };
    assert!(candidates[0].starts_with("x@project ("), "{error}");
    assert!(candidates[1].starts_with("x@user ("), "{error}");
    assert_eq!(instructions(&skills, "x@user"), "Canary of user/x.");
    assert_eq!(instructions(&skills, "x@project"), "Canary of project/x.");
    assert_eq!(catalogue.complete("x"), ["x@project", "x@user"]);
}

#[test]
fn a_locked_root_is_above_all_others() {
    let (tree, [project, user]) = project_and_user();
    tree.skill("managed/x");
    let managed = tree.root(Layer::Managed, "managed").locked();
    for policy in [
        Policy::FirstWins,
        Policy::UserFirst,
        Policy::KeepAll,
        Policy::Ranked,
    ] {
        let roots = [
            project.clone().with_rank(9),
            user.clone(),
            managed.clone().with_rank(-1),
        ];
        let skills = with(policy, &roots);
        assert_eq!(tree.active(&skills), ["managed/x"], "{policy}");
    }
}

#[test]
fn what_is_held_back_is_listed_and_takes_no_name() {
    let (tree, [project, user]) = project_and_user();
    tree.skill("project/y");
    let skills = discover(&[project.held("the project is not trusted"), user]);
    assert_eq!(
        tree.listing(&skills),
        ["x held project/x", "x active user/x", "y held project/y",]
    );
    let catalogue = skills.catalogue();
    assert_eq!(instructions(&skills, "x"), "Canary of user/x.");
    for name in ["y", "x@project"] {
        let error = catalogue.find(name).unwrap_err();
        assert!(matches!(error, LookupError::Held { .. }), "{error}");
        assert!(error.to_string().contains("the project is not trusted"));
        assert!(catalogue.activate(name, skills.limits()).is_err());
    }
    assert_eq!(catalogue.complete(""), ["x"]);
}

/// `x@user` is the user's `x`, whatever a project that is not trusted calls its skills.
#[test]
fn what_is_held_back_or_broken_is_in_nobodys_way() {
    let (tree, [project, user]) = project_and_user();
    tree.named("project/spoof", "x@user");
    tree.named("project/command", "a-b");
    tree.skill("user/a_b");
    let skills = discover(&[project.held("not trusted"), user]);
    assert_eq!(instructions(&skills, "x@user"), "Canary of user/x.");
    assert_eq!(instructions(&skills, "a-b"), "Canary of user/a_b.");
    assert_eq!(skills.catalogue().complete(""), ["a-b", "x"]);
}

/// The same file in a held root and in a trusted one: whichever comes first, it can be used.
#[test]
fn a_file_that_is_held_and_trusted_is_trusted() {
    let tree = Tree::new();
    tree.skill("skills/x");
    tree.link("skills", "link");
    let held = tree.root(Layer::Project, "link").held("not trusted");
    let trusted = tree.root(Layer::User, "skills");
    for roots in [
        [held.clone(), trusted.clone()],
        [trusted.clone(), held.clone()],
    ] {
        let skills = discover(&roots);
        assert_eq!(tree.listing(&skills), ["x active skills/x"]);
        assert_eq!(codes(skills.catalogue().notes()), ["I-SAME-FILE"]);
    }
}

#[test]
fn a_broken_skill_keeps_no_name() {
    let (tree, roots) = project_and_user();
    tree.write("project/x/SKILL.md", "---\nname: x\n---\nNo description.\n");
    let skills = discover(&roots);
    assert_eq!(
        tree.listing(&skills),
        ["x invalid project/x", "x active user/x"]
    );
    let winner = tree.entry(&skills, "user/x");
    let finding = finding(&winner.diagnostics, "BROKEN-WINNER");
    let broken = tree.path("project/x/SKILL.md");
    assert!(finding.message.contains(broken.to_str().unwrap()));
    let error = skills.catalogue().find("x@project").unwrap_err();
    assert!(matches!(error, LookupError::Invalid { .. }), "{error}");

    // Nobody else has it: its error is what is told.
    let alone = discover(&roots[..1]);
    let error = alone.catalogue().find("x").unwrap_err().to_string();
    assert!(error.contains("there is no description"), "{error}");
}

/// A broken skill and a good one of one name in one layer: the layer's name leads to the good one.
#[test]
fn a_broken_skill_is_not_in_the_way_of_its_layer() {
    let tree = Tree::new();
    tree.write("skills/a/SKILL.md", "---\nname: x\n---\nNo description.\n");
    tree.named("skills/b", "x");
    let skills = tree.skills();
    assert_eq!(
        tree.listing(&skills),
        ["x invalid skills/a", "x active skills/b"]
    );
    assert_eq!(instructions(&skills, "x@user"), "Canary of skills/b.");
}

#[test]
fn commands_that_are_the_same_have_their_layers() {
    let tree = Tree::new();
    tree.skill("project/de_mo");
    tree.skill("user/de mo");
    let skills = discover(&[
        tree.root(Layer::Project, "project"),
        tree.root(Layer::User, "user"),
    ]);
    assert_eq!(skills.catalogue().complete("de"), ["de-mo", "de-mo@user"]);
    assert_eq!(instructions(&skills, "de-mo"), "Canary of project/de_mo.");
    let loser = tree.entry(&skills, "user/de mo");
    let told = finding(&loser.diagnostics, "COMMAND");
    assert!(told.message.contains("`de_mo`"), "{told}");
    assert_eq!(told.hint.as_deref(), Some("`de-mo@user` leads to this one"));
    let owner = tree.entry(&skills, "project/de_mo");
    assert!(!codes(&owner.diagnostics).contains(&"W-COMMAND".to_owned()));
    assert_eq!(instructions(&skills, "de-mo@user"), "Canary of user/de mo.");
}

#[test]
fn what_the_program_brings_comes_last() {
    let (tree, [project, user]) = project_and_user();
    let built_in = Root::built_in([BuiltIn::new("x", text("x", "Of the program."))]);
    let skills = discover(&[project, user, built_in]);
    assert_eq!(tree.active(&skills), ["project/x"]);
    assert_eq!(instructions(&skills, "x@built-in"), "Of the program.");
}

/// What a root only links to, and may not, stays whose it is.
#[test]
fn a_refused_link_takes_no_file() {
    let tree = Tree::new();
    tree.skill("user/x");
    tree.link(tree.path("user/x/SKILL.md"), "repository/x/SKILL.md");
    let skills = discover(&[
        tree.root(Layer::Repository, "repository").confined(),
        tree.root(Layer::User, "user"),
    ]);
    assert_eq!(
        tree.listing(&skills),
        ["x invalid repository/x", "x active user/x"]
    );
    assert_eq!(codes(skills.catalogue().notes()), [""; 0]);
}

/// Without a name, the file is a skill in a folder, and none as a whole checkout.
#[test]
fn what_does_not_load_takes_no_file() {
    let tree = Tree::new();
    tree.write("checkout/SKILL.md", "---\ndescription: A.\n---\nBody.\n");
    tree.link("../checkout", "user/x");
    let source = Arc::new(FolderSource::new(tree.path("checkout")));
    let skills = discover(&[
        Root::source(source).trusted(),
        tree.root(Layer::User, "user"),
    ]);
    assert_eq!(tree.listing(&skills), ["x active user/x"]);
    assert_eq!(codes(skills.catalogue().notes()), ["I-SAME-FILE"]);
}
