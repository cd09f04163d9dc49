//! Rows E, and SKILL-02 to SKILL-09: which folders are looked into, and what is found there.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use harness_skills::{
    BuiltIn, DefaultRoots, DiscoverOptions, FormatOptions, Layer, Limits, LookupError, Policy,
    Root, Skills, format_skills,
};

use crate::tree::{Tree, agrees, codes, discover, finding, settled, text};

/// What is told beside the skills.
fn notes(skills: &Skills) -> Vec<String> {
    codes(skills.catalogue().notes())
}

#[test]
fn e02_the_root_is_a_file() {
    let tree = Tree::new();
    let file = tree.write("skills", "no folder");
    let skills = tree.skills();
    assert_eq!(notes(&skills), ["W-ROOT-NOT-DIR"]);
    assert_eq!(skills.catalogue().notes()[0].path.as_deref(), Some(&*file));
    assert_eq!(skills.catalogue().entries().len(), 0);
}

#[test]
fn e02_a_usual_root_that_is_not_there_is_nothing_to_tell() {
    let tree = Tree::new();
    assert_eq!(notes(&tree.skills()), [""; 0]);
    let named = discover(&[tree.root(Layer::Explicit, "skills")]);
    assert_eq!(notes(&named), ["W-ROOT-NOT-DIR"]);
}

#[test]
fn a_root_may_be_a_skill_or_its_file() {
    let tree = Tree::new();
    let file = tree.skill("some/a");
    tree.skill("some/a/inner/b");
    for place in [tree.path("some/a"), file] {
        let skills = discover(&[Root::new(Layer::Explicit, place)]);
        assert_eq!(tree.active(&skills), ["some/a"]);
        assert_eq!(notes(&skills), [""; 0]);
    }
}

#[test]
fn e04_a_folder_that_groups_skills() {
    let tree = Tree::new();
    tree.skill("skills/g/h");
    assert_eq!(tree.active(&tree.skills()), ["skills/g/h"]);
}

#[test]
fn skill_03_a_skill_at_the_top_does_not_end_the_search() {
    let tree = Tree::new();
    tree.named("skills", "skills");
    tree.skill("skills/a");
    tree.skill("skills/g/b");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/a", "skills/g/b", "skills"]);
    assert_eq!(notes(&skills), ["W-ROOT-SKILL"]);
}

#[test]
fn what_is_in_a_skill_is_no_skill() {
    let tree = Tree::new();
    tree.skill("skills/a");
    tree.skill("skills/a/examples/b");
    assert_eq!(tree.active(&tree.skills()), ["skills/a"]);
}

#[test]
fn e05_six_folders_deep_and_no_deeper() {
    let tree = Tree::new();
    tree.skill("skills/1/2/3/4/5/six");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/1/2/3/4/5/six"]);
    assert_eq!(notes(&skills), [""; 0]);

    tree.skill("skills/1/2/3/4/5/6/seven");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/1/2/3/4/5/six"]);
    assert_eq!(notes(&skills), ["W-SCAN-TRUNCATED"]);
    let note = skills.catalogue().notes()[0].clone();
    assert!(note.message.contains("a depth of 6 folders"), "{note}");
}

#[test]
fn e09_folders_without_a_skill() {
    let tree = Tree::new();
    tree.folder("skills/a");
    tree.write("skills/b/README.md", "# B");
    tree.folder("skills/c/SKILL.md");
    let skills = tree.skills();
    assert_eq!(skills.catalogue().entries().len(), 0);
    assert_eq!(notes(&skills), [""; 0]);
}

#[test]
fn a_flat_file_is_told_and_not_read() {
    let tree = Tree::new();
    tree.write("skills/a.md", text("a", "Body."));
    tree.write("skills/README.md", "# Skills");
    let skills = tree.skills();
    assert_eq!(skills.catalogue().entries().len(), 0);
    assert_eq!(notes(&skills), ["I-FLAT-FILE"]);
    let hint = skills.catalogue().notes()[0].hint.clone().unwrap();
    assert!(hint.ends_with("skills/a/SKILL.md"), "{hint}");
}

#[test]
fn e11_two_spellings_in_one_folder() {
    let tree = Tree::new();
    tree.skill("skills/a");
    tree.write("skills/a/skill.md", text("wrong", "Not this one."));
    let skills = tree.skills();
    assert_eq!(tree.listing(&skills), ["a active skills/a"]);
    let entry = tree.entry(&skills, "skills/a");
    assert_eq!(entry.skill.file(), Some(&*tree.path("skills/a/SKILL.md")));
    assert_eq!(codes(&entry.diagnostics), ["W-TWO-FILES"]);
}

#[test]
fn e13_folders_of_tools_are_not_looked_into() {
    let tree = Tree::new();
    tree.skill("skills/node_modules/x");
    tree.skill("skills/.git/y");
    tree.skill("skills/.hidden");
    tree.skill("skills/cache/z");
    tree.write("skills/cache/CACHEDIR.TAG", "");
    tree.skill("skills/venv/lib/w");
    tree.write("skills/venv/pyvenv.cfg", "");
    let skills = tree.skills();
    assert_eq!(skills.catalogue().entries().len(), 0);
    assert_eq!(notes(&skills), [""; 0]);
}

#[test]
fn e15_a_linked_folder_is_followed_once() {
    let tree = Tree::new();
    tree.skill("elsewhere/a");
    tree.link("../elsewhere/a", "skills/a");
    assert_eq!(tree.active(&tree.skills()), ["skills/a"]);

    tree.link("../elsewhere/a", "skills/again");
    tree.link("../elsewhere", "skills/all");
    assert_eq!(tree.active(&tree.skills()), ["skills/a"]);
}

#[test]
fn e15_a_folder_comes_before_links_to_it() {
    let tree = Tree::new();
    tree.skill("skills/z");
    tree.link("z", "skills/a");
    assert_eq!(tree.active(&tree.skills()), ["skills/z"]);
}

#[test]
fn skill_08_a_linked_root_and_linked_skills() {
    let tree = Tree::new();
    tree.skill("store/a");
    tree.skill("elsewhere/x");
    tree.link("store", "skills");
    tree.link(tree.path("elsewhere/x"), "store/x");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/a", "skills/x"]);

    // Reached by its own path and by the link, each is one.
    let both = [
        tree.root(Layer::Project, "skills"),
        tree.root(Layer::User, "store"),
    ];
    let skills = discover(&both);
    assert_eq!(tree.active(&skills), ["skills/a", "skills/x"]);
    assert_eq!(notes(&skills), ["I-LINK-OUTSIDE", "I-SAME-FILE"]);
}

#[test]
fn e16_and_skill_09_a_linked_file() {
    let tree = Tree::new();
    tree.write("src/SKILL.md", text("d", "Linked."));
    tree.link("../../src/SKILL.md", "skills/d/SKILL.md");
    tree.write("skills/d/notes.md", "Notes.");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/d"]);
    assert_eq!(codes(&tree.entry(&skills, "skills/d").diagnostics), [""; 0]);
    let activation = skills.catalogue().activate("d", skills.limits()).unwrap();
    assert_eq!(activation.instructions, "Linked.");
    // Paths are relative to the folder of the link.
    assert_eq!(activation.resources.files, [Path::new("notes.md")]);
}

#[test]
fn e16_a_file_comes_before_links_to_it() {
    let tree = Tree::new();
    tree.skill("skills/z");
    tree.link("../z/SKILL.md", "skills/a/SKILL.md");
    assert_eq!(tree.active(&tree.skills()), ["skills/z"]);
}

#[test]
fn e17_links_in_a_circle() {
    let tree = Tree::new();
    tree.skill("skills/g/a");
    tree.link("..", "skills/g/loop");
    tree.link("../..", "skills/g/out");
    tree.link("self", "skills/g/self");
    tree.link("..", "skills/g/a/loop");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/g/a"]);
}

#[test]
fn e18_a_link_that_leads_nowhere() {
    let tree = Tree::new();
    tree.link("nowhere", "skills/broken");
    tree.skill("skills/a");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/a"]);
    assert_eq!(notes(&skills), ["I-BROKEN-LINK"]);
}

#[test]
fn skill_09_a_file_that_leads_nowhere_is_a_warning() {
    let tree = Tree::new();
    tree.link("nowhere", "skills/d/SKILL.md");
    tree.skill("skills/a");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/a"]);
    let catalogue = skills.catalogue();
    let note = finding(catalogue.notes(), "BROKEN-LINK");
    assert_eq!(codes(catalogue.notes()), ["W-BROKEN-LINK"]);
    assert_eq!(note.path, Some(tree.path("skills/d/SKILL.md")));

    // It is looked for again.
    tree.write("skills/d/nowhere", text("d", "There."));
    skills.refresh();
    assert_eq!(tree.active(&skills), ["skills/a", "skills/d"]);

    // And when the link is gone, so is the warning.
    fs::remove_file(tree.path("skills/d/nowhere")).unwrap();
    settled(&skills);
    assert_eq!(notes(&skills), ["W-BROKEN-LINK"]);
    fs::remove_file(tree.path("skills/d/SKILL.md")).unwrap();
    skills.refresh();
    assert_eq!(notes(&skills), [""; 0]);
}

/// A mode does not keep root out: what can be read all the same is told apart by reading it.
#[test]
fn e19_what_cannot_be_read_is_told() {
    let tree = Tree::new();
    tree.skill("skills/a");
    tree.skill("skills/folder/b");
    let file = tree.skill("skills/file");
    let folder = tree.path("skills/folder");
    fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o000)).unwrap();
    if fs::read(&file).is_ok() {
        agrees(&tree.skills());
        return;
    }
    let skills = tree.skills();
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();

    assert_eq!(tree.active(&skills), ["skills/a"]);
    assert_eq!(notes(&skills), ["W-UNREADABLE-FOLDER"]);
    assert_eq!(skills.catalogue().notes()[0].path, Some(folder));
    let entry = tree.entry(&skills, "skills/file");
    assert_eq!(codes(&entry.diagnostics), ["E-UNREADABLE"]);
    assert_eq!(entry.diagnostics[0].path, Some(file));
}

#[test]
fn e20_what_git_ignores_is_found() {
    let tree = Tree::new();
    tree.skill("skills/a");
    tree.write("skills/a/.gitignore", "*\n");
    tree.write("skills/.gitignore", "*\n");
    tree.folder(".git");
    assert_eq!(tree.active(&tree.skills()), ["skills/a"]);
}

#[test]
fn e21_two_thousand_folders_and_no_more() {
    let tree = Tree::new();
    for number in 0..2_001 {
        tree.folder(format!("skills/s{number:04}"));
    }
    tree.skill("skills/s0000");
    tree.skill("skills/s1999");
    tree.skill("skills/s2000");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/s0000", "skills/s1999"]);
    assert_eq!(notes(&skills), ["W-SCAN-TRUNCATED"]);
    let note = skills.catalogue().notes()[0].clone();
    assert!(note.message.contains("2000 folders"), "{note}");

    fs::remove_dir(tree.path("skills/s1000")).unwrap();
    skills.refresh();
    assert_eq!(skills.catalogue().active().count(), 3);
    assert_eq!(notes(&skills), [""; 0]);
}

#[test]
fn e21_other_bounds() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        tree.skill(format!("skills/{name}"));
    }
    let mut few = Limits::default();
    few.entries = 5;
    let mut little = Limits::default();
    little.bytes = 1;
    for (limits, expected) in [
        // Three in the folder of skills, and one in each of the first two.
        (few, &["skills/a", "skills/b"][..]),
        // The bound is looked at before a file is read.
        (little, &["skills/a"][..]),
    ] {
        let options = DiscoverOptions::default().limits(limits);
        let roots = [tree.root(Layer::User, "skills")];
        let skills = Skills::discover_with(&roots, options);
        assert_eq!(tree.active(&skills), expected);
        assert_eq!(notes(&skills), ["W-SCAN-TRUNCATED"]);
        agrees(&skills);
    }
}

#[test]
fn e23_a_folder_whose_name_is_not_utf_8() {
    let tree = Tree::new();
    let folder = Path::new("skills").join(OsStr::from_bytes(b"caf\xe9"));
    let file = tree.write(folder.join("SKILL.md"), text("cafe", "Body."));
    let skills = tree.skills();
    let entry = tree.entry(&skills, &folder);
    assert_eq!(entry.skill.name(), "cafe");
    assert_eq!(entry.skill.file(), Some(&*file));
    assert_eq!(codes(&entry.diagnostics), ["W-NAME-DIR"]);
    assert!(entry.diagnostics[0].message.contains("caf\u{fffd}"));
    assert_eq!(crate::tree::instructions(&skills, "cafe"), "Body.");
}

fn usual(tree: &Tree, working_dir: &str) -> DefaultRoots {
    let mut roots = DefaultRoots::default();
    roots.working_dir = Some(tree.path(working_dir));
    roots.home = Some(tree.path("home"));
    roots.config_folder = Some(tree.path("home/.config/harness"));
    roots
}

#[test]
fn e25_the_nearest_folder_is_first() {
    let tree = Tree::new();
    tree.folder("repo/.git");
    tree.folder("repo/1/2/3");
    tree.skill("repo/.harness/skills/x");
    tree.skill("repo/1/2/.harness/skills/x");
    tree.skill("repo/1/2/.agents/skills/y");
    // Outside the repository.
    tree.skill(".harness/skills/outside");
    let roots = usual(&tree, "repo/1/2/3").roots(|_| true);
    let skills = discover(&roots);
    assert_eq!(
        tree.listing(&skills),
        [
            "x active repo/1/2/.harness/skills/x",
            "x shadowed repo/.harness/skills/x",
            "y active repo/1/2/.agents/skills/y",
        ]
    );
}

#[test]
fn e26_the_git_of_a_worktree_is_a_file() {
    let tree = Tree::new();
    tree.folder("repo/.git");
    tree.skill("repo/.harness/skills/outer");
    tree.write("repo/tree/.git", "gitdir: elsewhere\n");
    tree.skill("repo/tree/.harness/skills/inner");
    tree.folder("repo/tree/src");
    let roots = usual(&tree, "repo/tree/src").roots(|_| true);
    let skills = discover(&roots);
    assert_eq!(tree.active(&skills), ["repo/tree/.harness/skills/inner"]);
}

#[test]
fn skill_02_a_value_that_begins_with_a_bracket() {
    let tree = Tree::new();
    for (name, key) in [("a", "hint"), ("b", "argument-hint"), ("c", "usage")] {
        let text = format!(
            "---\nname: {name}\ndescription: Does a thing.\n{key}: [mode] then \"a\"\n---\nBody.\n"
        );
        tree.write(format!("skills/{name}/SKILL.md"), text);
    }
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/a", "skills/b", "skills/c"]);
    let hint = &tree.entry(&skills, "skills/b").skill.fields.argument_hint;
    assert_eq!(hint.as_deref(), Some("[mode] then \"a\""));
}

#[test]
fn skill_04_a_tilde_is_the_home() {
    let tree = Tree::new();
    tree.skill("home/cfg/skills/a");
    tree.skill("home/mine/b");
    let mut roots = DefaultRoots::default();
    roots.home = Some(tree.path("home"));
    roots.config_folder = Some(PathBuf::from("~/cfg"));
    roots.explicit = vec![PathBuf::from("~/mine")];
    let skills = discover(&roots.roots(|_| false));
    assert_eq!(tree.active(&skills), ["home/cfg/skills/a", "home/mine/b"]);
}

/// What there is no room for is the same in two runs, and told.
#[test]
fn skill_06_two_hundred_skills_in_a_small_listing() {
    let tree = Tree::new();
    for number in 0..200 {
        tree.skill(format!("skills/s{number:03}"));
    }
    let options = FormatOptions::default().with_budget(4_000);
    let listing = |skills: &Skills| {
        let catalogue = skills.catalogue();
        format_skills(catalogue.for_models().map(|skill| &**skill), &options)
    };
    let skills = tree.skills();
    let first = listing(&skills);
    assert_eq!(first, listing(&tree.skills()));
    settled(&skills);
    assert_eq!(first, listing(&skills));
    assert!(first.text.chars().count() <= 4_000);
    assert!(!first.omitted.is_empty());
    assert!(first.text.contains(&first.omitted.len().to_string()));
}

#[test]
fn skills_that_are_part_of_the_program() {
    let built_in = [
        BuiltIn::new("a", text("a", "Of the program.")),
        // The folder's name counts, here and when it is used.
        BuiltIn::new("b", "---\ndescription: Does b.\n---\nBody of b.\n"),
    ];
    let skills = discover(&[Root::built_in(built_in)]);
    assert_eq!(crate::tree::instructions(&skills, "a"), "Of the program.");
    assert_eq!(crate::tree::instructions(&skills, "b"), "Body of b.");
    assert_eq!(skills.refresh().files_read, 0);
}

#[test]
fn notes_of_one_kind_are_bounded() {
    let tree = Tree::new();
    for number in 0..623 {
        tree.link("nowhere", format!("skills/l{number:03}"));
    }
    tree.link("nowhere", "skills/a/SKILL.md");
    tree.write("skills/flat.md", "# Flat");
    let file = tree.skill("skills/first");
    for number in 0..25 {
        let folder = tree.folder(format!("skills/z{number}"));
        fs::hard_link(&file, folder.join("SKILL.md")).unwrap();
    }
    let skills = tree.skills();
    let catalogue = skills.catalogue();
    let of = |id: &str| {
        let notes = catalogue.notes().iter();
        notes.filter(|note| note.id() == id).collect::<Vec<_>>()
    };
    let broken = of("I-BROKEN-LINK");
    assert_eq!(broken.len(), 21);
    assert_eq!(broken[0].path, Some(tree.path("skills/l000")));
    assert_eq!(broken[20].message, "… and 603 more");
    assert_eq!(broken[20].path, Some(tree.path("skills")));
    assert_eq!(of("W-BROKEN-LINK").len(), 1);
    assert_eq!(of("I-FLAT-FILE").len(), 1);
    let same = of("I-SAME-FILE");
    assert_eq!(same.last().unwrap().message, "… and 5 more");
}

#[test]
fn a_relative_root_has_absolute_paths() {
    let tree = Tree::new();
    let file = tree.skill("skills/a");
    let here = std::env::current_dir().unwrap();
    let up = here.components().skip(1).map(|_| "..");
    let up: PathBuf = up.collect();
    for path in [tree.path("skills"), file] {
        let relative = up.join(path.strip_prefix("/").unwrap());
        let skills = discover(&[Root::new(Layer::Explicit, relative)]);
        let catalogue = skills.catalogue();
        let skill = catalogue.find("a").unwrap();
        assert!(skill.file().unwrap().is_absolute());
        assert!(skill.directory().unwrap().is_absolute());
        assert!(catalogue.roots()[0].path.as_ref().unwrap().is_absolute());
    }
    // One that is not there has a folder all the same.
    let skills = discover(&[Root::new(Layer::Explicit, "SKILL.md")]);
    let note = skills.catalogue().notes()[0].clone();
    assert_eq!(note.path, Some(here.join("SKILL.md")));
}

#[test]
fn what_only_the_user_can_load_is_not_for_a_model() {
    let tree = Tree::new();
    let text = "---\nname: release\ndescription: A.\ndisable-model-invocation: true\n---\nBody.\n";
    tree.write("skills/release/SKILL.md", text);
    tree.skill("skills/releases");
    tree.write(
        "other/releases/SKILL.md",
        text.replace("release", "releases"),
    );
    let roots = [
        tree.root(Layer::User, "skills"),
        tree.root(Layer::Repository, "other"),
    ];
    let options = DiscoverOptions::default().policy(Policy::KeepAll);
    let skills = Skills::discover_with(&roots, options);
    let catalogue = skills.catalogue();
    let near = |error: LookupError| match error {
        LookupError::Unknown { near, .. } => near,
        other => panic!("{other}"),
    };
    let names = near(catalogue.find("relese").unwrap_err());
    assert_eq!(names[0], "release");
    let names = near(catalogue.find_for_model("relese").unwrap_err());
    assert_eq!(names, ["releases"]);
    let path = tree.path("skills/release").display().to_string();
    for name in ["release", "release@user", "releases@repository", &path] {
        assert!(catalogue.find(name).is_ok(), "{name}");
        let error = catalogue.find_for_model(name).unwrap_err();
        assert!(matches!(error, LookupError::Held { .. }), "{error}");
        assert!(error.to_string().contains("only the user can load it"));
    }
    // Of two, one is told to a model, and is no riddle to it.
    assert!(catalogue.find("releases").is_err());
    let found = catalogue.find_for_model("releases").unwrap();
    assert_eq!(found.directory(), Some(&*tree.path("skills/releases")));
}
