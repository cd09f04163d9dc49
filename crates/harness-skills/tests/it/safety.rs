//! Rows J: what is made to do harm.

use std::fs::{self, File};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use harness_skills::{
    Activation, DefaultRoots, Digest, Examination, FilePlace, Identity, Layer, Limits, MAX_NAME,
    ResourceError, Root, Skill, examine, examine_file, read_resource,
};

use crate::tree::{Tree, agrees, codes, finding, text};

/// Examines where a recursion would end in an abort.
fn on_a_small_stack(bytes: Vec<u8>) -> Examination {
    let examine = move || examine(&bytes, &FilePlace::default(), &Limits::default());
    let thread = thread::Builder::new().stack_size(256 * 1024);
    thread.spawn(examine).unwrap().join().unwrap()
}

fn frontmatter(yaml: &str) -> Vec<u8> {
    format!("---\nname: a\ndescription: x\n{yaml}\n---\nBody.\n").into_bytes()
}

#[track_caller]
fn is_over_budget(yaml: &str) {
    let examination = on_a_small_stack(frontmatter(yaml));
    assert_eq!(codes(&examination.strict()), ["E-BUDGET"]);
    assert_eq!(codes(&examination.lenient()), ["E-BUDGET"]);
}

#[test]
fn j02_nested_lists() {
    for depth in [3_000, 100_000] {
        is_over_budget(&format!("k:\n  {}a", "- ".repeat(depth)));
        let whole = format!("---\n{}a\n---\nBody.\n", "- ".repeat(depth));
        let examination = on_a_small_stack(whole.into_bytes());
        assert_eq!(codes(&examination.lenient()), ["E-BUDGET"]);
    }
}

#[test]
fn j03_nested_brackets() {
    for depth in [30_000, 200_000] {
        is_over_budget(&format!("k: {}", "[".repeat(depth)));
        is_over_budget(&format!("k: {}", "{a: ".repeat(depth / 4)));
    }
}

#[test]
fn j05_very_many_keys() {
    for count in [5_000, 32_000] {
        let keys: Vec<String> = (0..count).map(|key| format!("k{key}: 1")).collect();
        is_over_budget(&keys.join("\n"));
    }
}

#[test]
fn an_alias_bomb() {
    let mut lines = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
    for level in 1..9 {
        let alias = format!("*a{}", level - 1);
        let aliases = [alias.as_str(); 9].join(", ");
        lines.push(format!("a{level}: &a{level} [{aliases}]"));
    }
    is_over_budget(&lines.join("\n"));
}

#[test]
fn j08_ten_megabytes_that_do_not_end() {
    let tree = Tree::new();
    let line = "key: value and some more of it\n";
    let bytes = format!("---\n{}", line.repeat(10 * 1024 * 1024 / line.len()));
    tree.write("skills/a/SKILL.md", bytes);
    tree.skill("skills/b");
    let skills = tree.skills();
    let entry = tree.entry(&skills, "skills/a");
    assert_eq!(codes(&entry.diagnostics), ["E-UNCLOSED"]);
    assert_eq!(tree.active(&skills), ["skills/b"]);
}

#[test]
fn j08_a_file_of_a_gigabyte() {
    let tree = Tree::new();
    let path = tree.folder("skills/a").join("SKILL.md");
    let file = File::create(&path).unwrap();
    file.set_len(1024 * 1024 * 1024).unwrap();
    tree.write("skills/b/SKILL.md", text("b", &"x".repeat(2 * 1024 * 1024)));
    let skills = tree.skills();
    for folder in ["skills/a", "skills/b"] {
        let entry = tree.entry(&skills, folder);
        assert_eq!(codes(&entry.diagnostics), ["E-FILE-SIZE"]);
    }
    assert_eq!(skills.catalogue().active().count(), 0);
}

const VALID: &str = "---\nname: demo\ndescription: Does \u{e9} thing.\nlicense: MIT\n\
                     metadata:\n  k: v\nallowed-tools: Read Write\n---\nBody text.\n";

fn as_demo(bytes: &[u8]) -> Examination {
    let place = FilePlace {
        folder: Some("demo".as_ref()),
        file: Some("SKILL.md".as_ref()),
    };
    examine(bytes, &place, &Limits::default())
}

#[test]
fn j09_a_nul_anywhere_is_an_error() {
    assert!(as_demo(VALID.as_bytes()).is_valid());
    for at in 0..=VALID.len() {
        let mut bytes = VALID.as_bytes().to_vec();
        bytes.insert(at, 0);
        let examination = as_demo(&bytes);
        assert!(!examination.loads() && !examination.is_valid(), "at {at}");
        if std::str::from_utf8(&bytes).is_ok() {
            assert_eq!(codes(&examination.lenient()), ["E-NUL"], "at {at}");
        }
    }
}

/// What is read of a beginning is a beginning of what is read of the whole.
#[test]
fn j10_each_beginning_of_a_file() {
    let whole = as_demo(VALID.as_bytes()).fields;
    for end in 0..VALID.len() {
        let Examination { fields, body, .. } = as_demo(&VALID.as_bytes()[..end]);
        assert!(body.end <= end);
        assert_eq!(fields.name, whole.name);
        assert!(whole.description.starts_with(&fields.description));
        for (part, all) in [
            (&fields.license, &whole.license),
            (&fields.compatibility, &whole.compatibility),
            (&fields.version, &whole.version),
            (&fields.author, &whole.author),
        ] {
            assert!(part.is_none() || part == all, "{end}: {part:?}");
        }
        assert!(fields.metadata.is_none() || fields.metadata == whole.metadata);
        assert!(fields.allowed_tools.is_none() || fields.allowed_tools == whole.allowed_tools);
        assert!(fields.extra.is_empty() && fields.tags.is_empty());
    }
}

/// A file that is cut off within its frontmatter never loads; with all of it, it does.
#[test]
fn j10_half_a_frontmatter_is_no_skill() {
    let closed = VALID.find("---\nBody").unwrap() + 3;
    for end in 0..VALID.len() {
        let examination = as_demo(&VALID.as_bytes()[..end]);
        assert_eq!(examination.loads(), end >= closed, "{end}");
    }
}

#[test]
fn j12_commands_are_plain_or_not_there() {
    let long = "x".repeat(10 * 1024);
    for (name, command) in [
        ("../../x", Some("x")),
        ("/etc/passwd", Some("etc-passwd")),
        ("con", Some("con")),
        ("a b/c.d", Some("a-b-c-d")),
        ("a\0b", Some("ab")),
        ("--x--", Some("x")),
        ("..", None),
        ("", None),
        ("\u{202e}", None),
        ("\u{6280}\u{80fd}", None),
        ("caf\u{e9}", None),
        (&long, None),
    ] {
        let skill = Skill::from_text(Layer::BuiltIn, name, "x", "");
        assert_eq!(skill.command().as_deref(), command, "{name:?}");
    }
}

#[test]
fn j12_a_name_is_never_a_path() {
    let tree = Tree::new();
    tree.named("skills/a", "../../x");
    tree.named("skills/b", "\"a\\0b\"");
    tree.named("skills/c", &"y".repeat(10 * 1024));
    tree.skill("x");
    let skills = tree.skills();
    let catalogue = skills.catalogue();
    assert_eq!(catalogue.complete(""), ["ab", "x"]);
    let found = catalogue.find("x").unwrap();
    assert_eq!(found.directory(), Some(&*tree.path("skills/a")));
    assert!(catalogue.find("../x").is_err());
}

#[test]
fn j13_what_is_no_regular_file() {
    let tree = Tree::new();
    tree.link("/dev/zero", "skills/zero/SKILL.md");
    tree.link("/dev/null", "skills/null/SKILL.md");
    tree.link("/dev/tty", "skills/terminal/SKILL.md");
    let pipe = tree.folder("skills/pipe").join("SKILL.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    tree.link(&pipe, "skills/link/SKILL.md");
    let socket = tree.folder("skills/socket").join("SKILL.md");
    let _listener = UnixListener::bind(&socket).unwrap();
    tree.skill("skills/good");
    let skills = tree.skills();
    assert_eq!(tree.active(&skills), ["skills/good"]);
    for name in ["zero", "null", "pipe", "socket"] {
        let entry = tree.entry(&skills, format!("skills/{name}"));
        assert_eq!(codes(&entry.diagnostics), ["E-NOT-REGULAR"], "{name}");
        let problem = finding(&entry.diagnostics, "NOT-REGULAR");
        assert_eq!(problem.path.as_deref(), entry.skill.file());
        assert!(skills.catalogue().activate(name, skills.limits()).is_err());
    }
}

/// The system calls some of these regular files.
#[test]
fn j13_files_of_the_system() {
    let tree = Tree::new();
    for name in ["mem", "pagemap", "environ"] {
        let file = format!("/proc/self/{name}");
        tree.link(file, format!("skills/{name}/SKILL.md"));
    }
    let skills = tree.skills();
    assert_eq!(skills.catalogue().active().count(), 0);
    // What cannot be read by anybody.
    if Path::new("/proc/self/mem").exists() {
        let entry = tree.entry(&skills, "skills/mem");
        assert_eq!(codes(&entry.diagnostics), ["E-UNREADABLE"]);
    }
}

#[test]
fn a_link_out_of_a_confined_root_is_not_followed() {
    let tree = Tree::new();
    tree.skill("elsewhere/a");
    tree.skill("skills/b");
    tree.link("../elsewhere/a", "skills/a");
    tree.link("../../elsewhere/a/SKILL.md", "skills/c/SKILL.md");
    tree.link("b", "skills/again");
    let root = tree.root(Layer::Repository, "skills").confined();
    let skills = crate::tree::discover(&[root]);
    assert_eq!(tree.active(&skills), ["skills/b"]);
    assert_eq!(codes(skills.catalogue().notes()), ["W-LINK-REFUSED"]);
    let entry = tree.entry(&skills, "skills/c");
    assert_eq!(codes(&entry.diagnostics), ["E-LINK-REFUSED"]);
    let error = skills.catalogue().find("c").unwrap_err().to_string();
    assert!(error.contains("it is not followed"), "{error}");

    // A project may, and says so.
    let skills = crate::tree::discover(&[tree.root(Layer::Project, "skills")]);
    assert_eq!(tree.active(&skills), ["skills/a", "skills/b"]);
    assert!(codes(skills.catalogue().notes()).contains(&"I-LINK-OUTSIDE".to_owned()));
    agrees(&skills);
}

#[test]
fn what_cannot_be_seen_makes_no_other_name() {
    let identity = Identity::of("demo");
    for name in [
        "de\u{200d}mo",
        "\u{feff}demo",
        "demo\u{fe0f}",
        "\u{1b}[31mdemo\u{1b}[0m",
    ] {
        assert_eq!(Identity::of(name), identity, "{name:?}");
    }
    assert_eq!(MAX_NAME, 64);
}

/// Thousands of findings, each with a path, would take gigabytes.
#[test]
fn findings_of_a_kind_are_counted_from_the_sixth_on() {
    let keys: Vec<String> = (0..200).map(|key| format!("k{key}: 1")).collect();
    let examination = as_demo(&frontmatter(&keys.join("\n")));
    let unknown = examination.findings.iter();
    let unknown = unknown.filter(|it| it.code.name() == "UNKNOWN-FIELD");
    let unknown: Vec<_> = unknown.collect();
    assert_eq!(unknown.len(), 6);
    assert_eq!(unknown[4].key.as_deref(), Some("k4"));
    assert_eq!(unknown[5].key, None);
    let message = &unknown[5].message;
    assert!(
        message.contains("200") && message.contains('5'),
        "{message}"
    );
    assert!(!examination.is_valid() && examination.loads());

    let twice = format!("{0}\n{0}", keys.join("\n"));
    let examination = as_demo(&frontmatter(&twice));
    assert!(!examination.is_valid() && examination.loads());
    assert_eq!(codes(&examination.lenient()), ["W-DUP-KEY", "W-NAME-DIR"]);
    assert!(examination.findings.len() < 20);
    // Five are five.
    let examination = as_demo(&frontmatter(&keys[..5].join("\n")));
    assert!(
        examination
            .findings
            .iter()
            .all(|it| it.hint.is_some() || it.key.is_some())
    );
}

#[test]
fn what_is_kept_of_a_file_has_a_bound() {
    let list = |items: usize| frontmatter(&format!("k: [{}]", "a, ".repeat(items)));
    assert!(as_demo(&list(1_000)).loads());
    let examination = as_demo(&list(1_024));
    assert_eq!(codes(&examination.lenient()), ["E-BUDGET"]);
    assert_eq!(Limits::default().frontmatter.nodes, 1_024);
}

#[test]
fn a_file_is_examined_as_a_search_reads_it() {
    let tree = Tree::new();
    let limits = Limits::default();
    let examination = examine_file(&tree.skill("skills/good"), &limits).unwrap();
    assert!(examination.is_valid());
    assert_eq!(examination.fields.name, "good");

    let pipe = tree.folder("skills/pipe").join("SKILL.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let large = tree.folder("skills/large").join("SKILL.md");
    let file = File::create(&large).unwrap();
    file.set_len(limits.file_bytes + 1).unwrap();
    for (path, code) in [
        (&*pipe, "E-NOT-REGULAR"),
        (Path::new("/dev/zero"), "E-NOT-REGULAR"),
        (&*tree.path("skills/good"), "E-NOT-REGULAR"),
        (&*large, "E-FILE-SIZE"),
    ] {
        let examination = examine_file(path, &limits).unwrap();
        assert_eq!(codes(&examination.strict()), [code]);
        assert!(!examination.is_valid() && !examination.loads());
    }
    for path in ["skills/absent/SKILL.md", "skills/good/SKILL.md/SKILL.md"] {
        let error = examine_file(&tree.path(path), &limits).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }
}

/// A hash whose rounds can be undone is met by three words more.
#[test]
fn another_content_has_another_digest() {
    let digest = Digest::of(VALID.as_bytes());
    assert_eq!(digest, Digest::of(VALID.as_bytes()));
    assert_eq!(digest.to_string().len(), 16);
    let mut bytes = VALID.as_bytes().to_vec();
    for at in 0..bytes.len() {
        bytes[at] ^= 1;
        assert_ne!(Digest::of(&bytes), digest, "{at}");
        bytes[at] ^= 1;
    }
    bytes.push(0);
    assert_ne!(Digest::of(&bytes), digest);
}

/// Nobody trusts a project that has just been cloned: its links lead to nothing but itself.
#[test]
fn links_of_a_held_root_stay_in_it() {
    let tree = Tree::new();
    tree.folder("repo/.git");
    tree.skill("outside/secret");
    tree.skill("repo/.agents/skills/good");
    tree.link("/", "repo/.agents/skills/all");
    tree.link("../../../outside", "repo/.agents/skills/out");
    tree.link("good", "repo/.agents/skills/again");
    let file = "../../../../outside/secret/SKILL.md";
    tree.link(file, "repo/.agents/skills/file/SKILL.md");
    tree.link("../../outside", "repo/.harness/skills");
    let mut roots = DefaultRoots::default();
    roots.working_dir = Some(tree.path("repo"));
    let skills = crate::tree::discover(&roots.roots(|_| false));
    assert_eq!(
        tree.listing(&skills),
        [
            "file invalid repo/.agents/skills/file",
            "good held repo/.agents/skills/good"
        ]
    );
    let catalogue = skills.catalogue();
    assert_eq!(codes(catalogue.notes()), ["W-LINK-REFUSED"]);
    let refused: Vec<String> = catalogue
        .notes()
        .iter()
        .map(|note| tree.relative(note.path.as_ref().unwrap()))
        .collect();
    assert_eq!(
        refused,
        [
            "repo/.harness/skills",
            "repo/.agents/skills/all",
            "repo/.agents/skills/out"
        ]
    );
    for note in catalogue.notes() {
        assert!(note.message.contains("until that is trusted"), "{note}");
    }
    let entry = tree.entry(&skills, "repo/.agents/skills/file");
    let told = finding(&entry.diagnostics, "LINK-REFUSED");
    assert!(told.message.contains("until that is trusted"), "{told}");

    // One that is a file.
    let path = tree.path("repo/.agents/skills/file/SKILL.md");
    let root = Root::new(Layer::Explicit, path).held("not trusted");
    let skills = crate::tree::discover(&[root]);
    let entry = tree.entry(&skills, "repo/.agents/skills/file");
    assert_eq!(codes(&entry.diagnostics), ["E-LINK-REFUSED"]);

    // And then they do.
    fs::remove_file(tree.path("repo/.agents/skills/all")).unwrap();
    let skills = crate::tree::discover(&roots.roots(|_| true));
    assert_eq!(
        tree.active(&skills),
        ["repo/.agents/skills/good", "repo/.harness/skills/secret"]
    );
}

/// Between the listing and the use, the tree is whatever its writer makes of it.
#[test]
fn a_confined_skill_does_not_become_a_link_to_the_outside() {
    let tree = Tree::new();
    tree.skill("outside/a");
    tree.write("outside/a/secret.md", "Secret.");
    let root = tree.root(Layer::Repository, "skills").confined();
    let limits = Limits::default();
    for swap in ["SKILL.md", "folder"] {
        tree.skill("skills/a");
        tree.write("skills/a/note.md", "Note.");
        let skills = crate::tree::discover(std::slice::from_ref(&root));
        let catalogue = skills.catalogue();
        let skill = catalogue.find("a").unwrap();
        assert!(read_resource(skill, "note.md", &limits).is_ok());
        if swap == "SKILL.md" {
            fs::remove_file(tree.path("skills/a/SKILL.md")).unwrap();
            tree.link("../../outside/a/SKILL.md", "skills/a/SKILL.md");
        } else {
            fs::remove_dir_all(tree.path("skills/a")).unwrap();
            tree.link("../outside/a", "skills/a");
            for path in ["secret.md", "missing.md"] {
                let error = read_resource(skill, path, &limits).unwrap_err();
                assert!(matches!(error, ResourceError::Refused { .. }), "{error}");
                assert!(!error.to_string().contains("these are there"), "{error}");
            }
        }
        let error = Activation::of(skill, &limits).unwrap_err();
        assert!(error.to_string().contains("it is not read"), "{error}");
        fs::remove_file(tree.path("skills/a"))
            .or_else(|_| fs::remove_dir_all(tree.path("skills/a")))
            .unwrap();
    }
    // Links that stay inside are followed, as they are when it is listed.
    tree.skill("skills/b");
    let skills = crate::tree::discover(&[root]);
    fs::rename(tree.path("skills/b"), tree.path("skills/.b")).unwrap();
    tree.link(".b", "skills/b");
    assert_eq!(
        crate::tree::instructions(&skills, "b"),
        "Canary of skills/b."
    );
}
