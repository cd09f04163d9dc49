//! Addresses and commands: what a person or a model types for a skill, and to whom it leads.

use harness_skills::{Layer, LookupError, Policy};

use crate::precedence::with;
use crate::tree::{Tree, codes, discover, finding, instructions};

/// The very name comes before the precedence, and where both are in one layer, the other has none.
#[test]
fn a_command_is_that_of_one() {
    let tree = Tree::new();
    tree.skill("project/Code Review");
    tree.skill("user/code-review");
    tree.named("user/one", "a b");
    tree.named("user/two", "a/b");
    let skills = discover(&[
        tree.root(Layer::Project, "project"),
        tree.root(Layer::User, "user"),
    ]);
    let catalogue = skills.catalogue();
    assert_eq!(
        catalogue.complete(""),
        ["a-b", "code-review", "code-review@project"]
    );
    assert_eq!(
        instructions(&skills, "code-review"),
        "Canary of user/code-review."
    );
    assert_eq!(instructions(&skills, "a-b"), "Canary of user/one.");
    let told = |folder: &str| {
        let entry = tree.entry(&skills, folder);
        codes(&entry.diagnostics).contains(&"W-COMMAND".to_owned())
    };
    assert!(told("project/Code Review") && told("user/two"));
    assert!(!told("user/code-review") && !told("user/one"));

    // Who has it no more gives it back.
    let kept: Vec<_> = catalogue.active().cloned().collect();
    let kept = kept
        .into_iter()
        .filter(|skill| skill.name() != "a b")
        .collect::<Vec<_>>();
    let without = catalogue.with_active(&kept, "not now");
    assert_eq!(without.find("a-b").unwrap().name(), "a/b");
    let other = without
        .entries()
        .iter()
        .find(|entry| entry.skill.name() == "a/b")
        .unwrap();
    assert!(!codes(&other.diagnostics).contains(&"W-COMMAND".to_owned()));
}

/// `x` in two folders of one layer: the path leads to what has no other address.
#[test]
fn a_path_is_an_address() {
    let tree = Tree::new();
    for folder in ["one", "two"] {
        tree.skill(format!("{folder}/x"));
    }
    tree.skill("held/y");
    tree.write("one/bad/SKILL.md", "---\nname: bad\n---\n");
    let roots = [
        tree.root(Layer::Project, "one"),
        tree.root(Layer::Project, "two"),
        tree.root(Layer::Project, "held").held("not trusted"),
    ];
    let skills = discover(&roots);
    let catalogue = skills.catalogue();
    for path in ["two/x", "two/x/", "two/x/SKILL.md"] {
        let path = tree.path(path);
        let found = instructions(&skills, path.to_str().unwrap());
        assert_eq!(found, "Canary of two/x.");
    }
    let find = |path: &str| catalogue.find(tree.path(path).to_str().unwrap()).cloned();
    assert!(matches!(find("held/y"), Err(LookupError::Held { .. })));
    assert!(matches!(find("one/bad"), Err(LookupError::Invalid { .. })));
    assert!(matches!(find("one"), Err(LookupError::Unknown { .. })));

    // Of two in one layer, the name with the layer leads to one only.
    let skills = with(Policy::KeepAll, &roots);
    let catalogue = skills.catalogue();
    let error = catalogue.find("x").unwrap_err();
    let LookupError::Ambiguous { candidates, .. } = &error else {
        panic!("{error}")
    };
    assert!(candidates[0].starts_with("x@project ("), "{error}");
    let second = tree.path("two/x/SKILL.md");
    assert_eq!(candidates[1], second.to_str().unwrap());
    assert_eq!(catalogue.complete("x"), ["x@project"]);
}

/// Whatever a skill is called: an address leads to its owner.
#[test]
fn a_name_that_reads_like_an_address_takes_it_from_nobody() {
    let tree = Tree::new();
    tree.skill("user/review");
    tree.named("project/spoof", "Review@User");
    tree.named("repository/spoof", "review@user");
    tree.named("repository/free", "other@user");
    let path = tree.path("user/review").display().to_string();
    tree.named("project/path", &path);
    let roots = [
        tree.root(Layer::Project, "project"),
        tree.root(Layer::User, "user"),
        tree.root(Layer::Repository, "repository"),
    ];
    for policy in [Policy::FirstWins, Policy::KeepAll] {
        let skills = with(policy, &roots);
        for name in ["review", "review@user", &path] {
            assert_eq!(
                instructions(&skills, name),
                "Canary of user/review.",
                "{name}"
            );
        }
        for folder in ["project/spoof", "repository/spoof", "project/path"] {
            let entry = tree.entry(&skills, folder);
            assert_eq!(entry.status.word(), "shadowed", "{folder}");
            let told = finding(&entry.diagnostics, "NAMESPACE");
            assert!(told.message.contains("user/review/SKILL.md"), "{told}");
        }
        assert_eq!(
            instructions(&skills, "review@user@project"),
            "Canary of project/spoof."
        );
        // Nobody has that address.
        assert_eq!(
            instructions(&skills, "other@user"),
            "Canary of repository/free."
        );
    }
    // A lock is above all; and what is held back has no address to keep.
    let locked = [
        tree.root(Layer::Managed, "repository").locked(),
        tree.root(Layer::User, "user"),
    ];
    let skills = with(Policy::FirstWins, &locked);
    assert_eq!(
        instructions(&skills, "review@user"),
        "Canary of repository/spoof."
    );
    let held = [
        tree.root(Layer::User, "user").held("not trusted"),
        tree.root(Layer::Repository, "repository"),
    ];
    let skills = with(Policy::FirstWins, &held);
    assert_eq!(
        instructions(&skills, "review@user"),
        "Canary of repository/spoof."
    );
}
