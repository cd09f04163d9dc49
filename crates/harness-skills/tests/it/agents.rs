//! Declarations of agents: the same machinery, with flat files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use harness_skills::{
    Activation, BuiltIn, Code, DefaultRoots, Diagnostic, DiscoverOptions, Entry, Form, Layer,
    Limits, Node, Root, Severity, SkillFields, Skills, Status,
};

use crate::tree::{Tree, codes, finding};

fn agents(roots: &[Root]) -> Skills {
    Skills::discover_with(roots, DiscoverOptions::default().form(Form::Agents))
}

/// A declaration whose body tells where it is.
fn declare(tree: &Tree, path: &str, name: &str) {
    let text = format!("---\nname: {name}\ndescription: Does a thing.\n---\nCanary of {path}.\n");
    tree.write(path, text);
}

/// Name, status and file of all agents.
fn listing(tree: &Tree, agents: &Skills) -> Vec<String> {
    let catalogue = agents.catalogue();
    let line = |entry: &Entry| {
        let file = entry.skill.file().map(|file| tree.relative(file));
        let (name, word) = (entry.skill.name(), entry.status.word());
        format!("{name} {word} {}", file.unwrap_or_default())
    };
    catalogue.entries().iter().map(line).collect()
}

fn role(agents: &Skills, name: &str) -> String {
    let activation = agents.catalogue().activate(name, agents.limits());
    activation.unwrap().instructions
}

/// What is told of the one file `a/x.md`.
fn told_of(text: &str) -> (Status, SkillFields, Vec<Diagnostic>) {
    let tree = Tree::new();
    tree.write("a/x.md", text);
    let agents = agents(&[tree.root(Layer::User, "a")]);
    let catalogue = agents.catalogue();
    let [entry] = catalogue.entries() else {
        panic!("{catalogue:?}");
    };
    (
        entry.status.clone(),
        entry.skill.fields.clone(),
        entry.diagnostics.clone(),
    )
}

#[test]
fn files_are_found_by_what_they_are_called() {
    let tree = Tree::new();
    declare(&tree, "a/one.md", "one");
    declare(&tree, "a/LOUD.MD", "loud");
    declare(&tree, "a/group/two.md", "two");
    declare(&tree, "a/group/deeper/three.md", "three");
    tree.write(
        "a/unnamed.md",
        "---\ndescription: Has no name.\n---\nBody.\n",
    );
    for other in [
        "README.md",
        "AGENTS.md",
        "group/Readme.md",
        "SKILL.md",
        "CLAUDE.md",
    ] {
        tree.write(Path::new("a").join(other), "# For people");
    }
    declare(&tree, "a/notes.txt", "notes");
    declare(&tree, "a/.hidden.md", "hidden");
    declare(&tree, "a/.git/x.md", "x");
    declare(&tree, "a/node_modules/y.md", "y");
    tree.folder("a/folder.md");
    let agents = agents(&[tree.root(Layer::User, "a")]);
    assert_eq!(
        listing(&tree, &agents),
        [
            "loud active a/LOUD.MD",
            "one active a/one.md",
            "three active a/group/deeper/three.md",
            "two active a/group/two.md",
            "unnamed active a/unnamed.md",
        ]
    );
    let catalogue = agents.catalogue();
    assert_eq!(catalogue.notes(), []);
    // What skills have to be like is nothing to agents, and no command leads to one.
    assert!(
        catalogue
            .entries()
            .iter()
            .all(|entry| entry.diagnostics.is_empty())
    );
    assert_eq!(catalogue.commands().count(), 0);
    assert_eq!(role(&agents, "three"), "Canary of a/group/deeper/three.md.");
    // Its folder is not its own.
    let deep = catalogue.find("three").unwrap();
    assert_eq!(deep.directory(), None);
    let activation = Activation::of(deep, agents.limits()).unwrap();
    assert_eq!(activation.resources.files, [""; 0].map(Path::new));
}

#[test]
fn a_path_may_lead_to_one_file() {
    let tree = Tree::new();
    declare(&tree, "one.md", "one");
    declare(&tree, "two.md", "two");
    tree.write("three.txt", "Text.");
    let roots = ["one.md", "three.txt"].map(|path| tree.root(Layer::Explicit, path));
    let agents = agents(&roots);
    assert_eq!(listing(&tree, &agents), ["one active one.md"]);
    assert_eq!(codes(agents.catalogue().notes()), ["W-ROOT-NOT-DIR"]);
}

#[test]
fn names_are_shadowed_by_root_and_then_by_path() {
    let tree = Tree::new();
    declare(&tree, "project/x.md", "x");
    declare(&tree, "project/z.md", "X");
    declare(&tree, "user/other.md", "x");
    let text = "---\ndescription: Built in.\n---\nBuilt in.\n";
    let roots = [
        tree.root(Layer::Project, "project"),
        tree.root(Layer::User, "user"),
        Root::built_in([BuiltIn::new("x", text), BuiltIn::new("y", text)]),
    ];
    let agents = agents(&roots);
    assert_eq!(
        listing(&tree, &agents),
        [
            "x active project/x.md",
            "X shadowed project/z.md",
            "x shadowed user/other.md",
            "x shadowed ",
            "y active ",
        ]
    );
    assert_eq!(role(&agents, "x@user"), "Canary of user/other.md.");
    assert_eq!(role(&agents, "x@built-in"), "Built in.");

    // A broken one is in nobody's way.
    tree.write("project/x.md", "---\nname: x\n---\nBody.\n");
    fs::remove_file(tree.path("project/z.md")).unwrap();
    agents.refresh();
    assert_eq!(role(&agents, "x"), "Canary of user/other.md.");
    let catalogue = agents.catalogue();
    let winner = catalogue
        .entries()
        .iter()
        .find(|entry| entry.status.is_active());
    assert_eq!(codes(&winner.unwrap().diagnostics), ["W-BROKEN-WINNER"]);
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let cases = [
        ("no_frontmatter", "# Title\n", "E-NO-FRONTMATTER"),
        ("empty", "", "E-NO-FRONTMATTER"),
        ("unclosed", "---\ndescription: d\n", "E-UNCLOSED"),
        ("no_fields", "---\n---\nBody.\n", "E-EMPTY-FRONTMATTER"),
        (
            "no_description",
            "---\nname: x\n---\nBody.\n",
            "E-DESC-MISSING",
        ),
        ("no_body", "---\ndescription: d\n---\n \n\n", "E-EMPTY-BODY"),
        (
            "two_tools",
            "---\ndescription: d\ntools: read\ntools: bash\n---\nB\n",
            "E-DUP-KEY",
        ),
        (
            "broken_tools",
            "---\ndescription: d\ntools:\n  - read\n - *\n---\nB\n",
            "E-FIELD-DROPPED",
        ),
        (
            "merged",
            "---\nbase: &b {tools: read}\n<<: *b\ndescription: d\n---\nB\n",
            "E-MERGE-KEY",
        ),
        ("nul", "---\ndescription: d\n---\nB\0\n", "E-NUL"),
    ];
    for (case, text, code) in cases {
        let (status, _, told) = told_of(text);
        assert_eq!(status, Status::Invalid, "{case}: {told:?}");
        let errors: Vec<String> = codes(&told)
            .into_iter()
            .filter(|it| it.starts_with('E'))
            .collect();
        assert_eq!(errors, [code], "{case}: {told:?}");
    }
}

#[test]
fn hostile_and_odd_files_are_read_as_skills_are() {
    let (status, fields, told) = told_of(
        "\u{feff}---\r\nname: [a]\r\ndescription: Use: when asked\r\n---\r\nOne.\r\nTwo.\r\n",
    );
    assert_eq!(status, Status::Active);
    assert_eq!(
        (&*fields.name, &*fields.description),
        ("x", "Use: when asked")
    );
    assert_eq!(codes(&told), ["W-BOM", "W-NAME-TYPE", "W-REPAIRED"]);

    let tree = Tree::new();
    let head = "---\ndescription: d\n---\n";
    tree.write("a/huge.md", format!("{head}{}", "x".repeat(1024 * 1024)));
    tree.write("a/long.md", format!("{head}{}", "line\n".repeat(5_000)));
    tree.write("a/bytes.md", b"---\ndescription: \xff\n---\nB\n");
    let pipe = tree.folder("a").join("pipe.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    tree.link("nowhere.md", "a/broken.md");
    let agents = agents(&[tree.root(Layer::User, "a")]);
    assert_eq!(
        listing(&tree, &agents),
        [
            "bytes invalid a/bytes.md",
            "huge invalid a/huge.md",
            "long active a/long.md",
            "pipe invalid a/pipe.md",
        ]
    );
    let catalogue = agents.catalogue();
    let told: Vec<Vec<String>> = catalogue
        .entries()
        .iter()
        .map(|it| codes(&it.diagnostics))
        .collect();
    assert_eq!(
        told,
        [
            vec!["E-UTF8"],
            vec!["E-FILE-SIZE"],
            vec![],
            vec!["E-NOT-REGULAR"]
        ]
    );
    assert_eq!(codes(catalogue.notes()), ["W-BROKEN-LINK"]);
}

#[test]
fn fields_of_agents_are_extra_whatever_skills_make_of_them() {
    let (status, fields, told) = told_of(
        "---\nname: x\ndescription: d\ntools: Read, Grep, Bash\nallowed-tools: Read\nmodel: sonnet\ncolor: red\n\
         permissionMode: plan\nhooks: {a: [b]}\nlicense: [1]\nversion: {a: 1}\ndisable-model-invocation: true\n\
         max_turns: 5\n---\nBody.\n",
    );
    assert_eq!((status, codes(&told)), (Status::Active, Vec::new()));
    let keys: Vec<&str> = fields.extra.iter().map(|entry| &*entry.key.text).collect();
    assert_eq!(keys.len(), 10, "{keys:?}");
    assert_eq!(keys[0], "tools");
    let Node::Scalar(tools) = &fields.extra[0].value else {
        panic!("{:?}", fields.extra[0]);
    };
    assert_eq!(tools.text, "Read, Grep, Bash");
    assert_eq!((tools.position.line, tools.position.column), (4, 8));
    assert_eq!(
        (fields.allowed_tools, fields.license, fields.version),
        (None, None, None)
    );
    assert!(!fields.disable_model_invocation);

    // No YAML, and what people write.
    let (status, fields, told) = told_of("---\ndescription: d\ntools: *\n---\nBody.\n");
    assert_eq!(
        (status, codes(&told)),
        (Status::Active, vec!["W-REPAIRED".to_owned()])
    );
    let Node::Scalar(tools) = &fields.extra[0].value else {
        panic!("{:?}", fields.extra[0]);
    };
    assert_eq!(tools.text, "*");
}

#[test]
fn the_caller_can_add_what_is_wrong_with_fields() {
    fn check(fields: &SkillFields) -> Vec<Diagnostic> {
        let entries = fields.extra.iter();
        let told = entries.map(|entry| {
            let severity = match &*entry.key.text {
                "bad" => Severity::Error,
                _ => Severity::Warning,
            };
            Diagnostic::new(Code::new("CHECKED"), severity, "no").at(entry.key.position)
        });
        told.collect()
    }
    let tree = Tree::new();
    tree.write("a/x.md", "---\ndescription: d\nodd: 1\n---\nBody.\n");
    tree.write("a/y.md", "---\ndescription: d\nbad: 1\n---\nBody.\n");
    tree.write("a/z.md", "---\nbad: 1\n---\nBody.\n");
    tree.write("b/y.md", "---\ndescription: d\n---\nBody.\n");
    let options = DiscoverOptions::default().form(Form::Agents).check(check);
    let roots = ["a", "b"].map(|root| tree.root(Layer::User, root));
    let agents = Skills::discover_with(&roots, options);
    assert_eq!(
        listing(&tree, &agents),
        [
            "x active a/x.md",
            "y invalid a/y.md",
            "y active b/y.md",
            "z invalid a/z.md"
        ]
    );
    let catalogue = agents.catalogue();
    let told = &catalogue.entries()[0].diagnostics;
    assert_eq!(codes(told), ["W-CHECKED"]);
    let told = finding(told, "CHECKED");
    assert_eq!(told.path.as_deref(), Some(&*tree.path("a/x.md")));
    // What does not load anyway is not asked about.
    assert_eq!(
        codes(&catalogue.entries()[3].diagnostics),
        ["E-DESC-MISSING"]
    );
    assert!(
        catalogue
            .find("y")
            .unwrap()
            .file()
            .unwrap()
            .starts_with(tree.path("b"))
    );
}

#[test]
fn a_refresh_sees_new_changed_and_lost_files_and_costs_nothing_without() {
    let tree = Tree::new();
    declare(&tree, "a/one.md", "one");
    declare(&tree, "a/sub/two.md", "two");
    let agents = agents(&[tree.root(Layer::User, "a")]);
    crate::tree::settled(&agents);
    let before = agents.catalogue();
    assert_eq!(agents.refresh().files_read, 0);
    assert!(Arc::ptr_eq(&before, &agents.catalogue()));

    declare(&tree, "a/sub/new.md", "new");
    assert_eq!(agents.refresh().added, ["new"]);
    tree.write(
        "a/one.md",
        "---\nname: one\ndescription: Other.\n---\nOther.\n",
    );
    let changes = agents.refresh();
    assert_eq!(changes.changed, ["one"]);
    fs::remove_file(tree.path("a/sub/two.md")).unwrap();
    assert_eq!(agents.refresh().removed, ["two"]);
    // Not there when it was looked for the first time.
    let later = self::agents(&[tree.root(Layer::User, "b")]);
    declare(&tree, "b/late.md", "late");
    assert_eq!(later.refresh().added, ["late"]);
}

#[test]
fn the_bounds_hold() {
    let tree = Tree::new();
    for number in 0..30 {
        declare(
            &tree,
            &format!("a/{number:02}.md"),
            &format!("n{number:02}"),
        );
    }
    declare(&tree, "a/1/2/3/4/5/6/deep.md", "deep");
    declare(&tree, "a/1/2/3/4/5/6/7/deeper.md", "deeper");
    let root = [tree.root(Layer::User, "a")];
    let agents = agents(&root);
    let catalogue = agents.catalogue();
    assert_eq!(catalogue.active().count(), 31);
    assert_eq!(codes(catalogue.notes()), ["W-SCAN-TRUNCATED"]);

    let mut limits = Limits::default();
    limits.entries = 10;
    let options = DiscoverOptions::default().form(Form::Agents).limits(limits);
    let catalogue = Skills::discover_with(&root, options).catalogue();
    assert!(catalogue.active().count() <= 10);
    assert_eq!(codes(catalogue.notes()), ["W-SCAN-TRUNCATED"]);
}

#[test]
fn the_usual_roots_are_those_of_agents() {
    let tree = Tree::new();
    tree.folder("home/project/.git");
    let mut roots = DefaultRoots::default();
    roots.form = Form::Agents;
    roots.working_dir = Some(tree.path("home/project/sub"));
    roots.config_folder = Some(tree.path("home/config"));
    roots.home = Some(tree.path("home"));
    roots.pi = true;
    let found = |roots: &DefaultRoots| {
        let roots = agents(&roots.roots(|_| true)).catalogue().roots().to_vec();
        let paths = roots.into_iter().filter_map(|root| root.path);
        paths.map(|path| tree.relative(&path)).collect::<Vec<_>>()
    };
    assert_eq!(
        found(&roots),
        [
            "home/project/sub/.harness/agents",
            "home/project/.harness/agents",
            "home/config/agents",
        ]
    );
    roots.claude = true;
    assert_eq!(
        found(&roots),
        [
            "home/project/sub/.harness/agents",
            "home/project/sub/.claude/agents",
            "home/project/.harness/agents",
            "home/project/.claude/agents",
            "home/config/agents",
            "home/.claude/agents",
        ]
    );
}

#[test]
fn a_project_that_is_not_trusted_is_listed_and_not_read_beyond_it() {
    let tree = Tree::new();
    tree.folder("project/.git");
    declare(&tree, "project/.harness/agents/mine.md", "mine");
    declare(&tree, "outside/secret.md", "secret");
    declare(&tree, "outside/more/other.md", "other");
    tree.link(
        tree.path("outside/secret.md"),
        "project/.harness/agents/stolen.md",
    );
    tree.link(tree.path("outside/more"), "project/.harness/agents/more");
    let mut roots = DefaultRoots::default();
    roots.form = Form::Agents;
    roots.working_dir = Some(tree.path("project"));

    let held = agents(&roots.roots(|_| false));
    assert_eq!(
        listing(&tree, &held),
        [
            "mine held project/.harness/agents/mine.md",
            "stolen invalid project/.harness/agents/stolen.md",
        ]
    );
    let catalogue = held.catalogue();
    let shown = format!("{catalogue:?}");
    assert!(!shown.contains("Canary of outside"), "{shown}");
    assert!(catalogue.find("mine").is_err() && catalogue.find("stolen").is_err());
    assert_eq!(codes(catalogue.notes()), ["W-LINK-REFUSED"]);

    // The folder itself may not lead out of it either.
    fs::remove_dir_all(tree.path("project/.harness/agents")).unwrap();
    tree.link(tree.path("outside"), "project/.harness/agents");
    let held = agents(&roots.roots(|_| false));
    assert_eq!(held.catalogue().entries().len(), 0);

    let trusted = agents(&roots.roots(|_| true));
    assert_eq!(trusted.catalogue().active().count(), 2);
}
