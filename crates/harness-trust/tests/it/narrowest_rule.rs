//! The rule that a yes makes: about what was asked, and about nothing else.

use std::path::{Path, PathBuf};

use harness_trust::{Atom, Atoms, Layer, Lexical, Rule, Rules, Surroundings, Verdict};
use proptest::prelude::*;

fn around() -> Surroundings {
    Surroundings::new("/srv/shop")
        .with_home("/home/user")
        .with_temp("/tmp/t")
        .with_paths(Lexical)
}

/// The rule of an atom, as it is written down.
fn text(atom: &Atom) -> Option<String> {
    atom.narrowest_rule(&around())
        .map(|rule| rule.subject.to_string())
}

/// Whether the rule with this text, and no other, allows `atom`.
fn allows(text: &str, atom: &Atom) -> bool {
    let rule = Rule::parse(Verdict::Allow, text).expect(text);
    let decided = Rules::new()
        .with(Layer::Managed, rule)
        .decide(atom, &around());
    decided
        .rule
        .is_some_and(|rule| rule.layer == Layer::Managed)
}

fn run(line: &str) -> Atom {
    let around = around();
    let atoms = Atoms::of_command(line, around.root(), &around);
    let run = atoms.iter().find(|it| matches!(it, Atom::Run { .. }));
    run.expect(line).clone()
}

/// A path, its rule, and paths that the rule is not about.
const PATHS: &[(&str, &str, &[&str])] = &[
    (
        "/srv/shop/src/a.rs",
        "src/a.rs",
        &[
            "/srv/shop/src/b.rs",
            "/srv/shop/src",
            "/srv/shop/src/a.rs/b",
            "/src/a.rs",
        ],
    ),
    ("/srv/shop", ".", &["/srv/shop/a", "/srv", "/srv/shop/."]),
    ("/srv/shop/*", r"\*", &["/srv/shop/a", "/srv/shop/**"]),
    (
        "/srv/shop/**",
        r"\*\*",
        &["/srv/shop/a", "/srv/shop/a/b", "/srv/shop/*"],
    ),
    ("/srv/shop/a?", r"a\?", &["/srv/shop/ab"]),
    ("/srv/shop/[ab]", r"\[ab\]", &["/srv/shop/a"]),
    ("/srv/shop/[!a]", r"\[\!a\]", &["/srv/shop/b"]),
    (
        "/srv/shop/{a,b}",
        r"\{a\,b\}",
        &["/srv/shop/a", "/srv/shop/{a\\,b}"],
    ),
    (
        r"/srv/shop/a\*",
        r"a\\\*",
        &["/srv/shop/a*", r"/srv/shop/a\b", r"/srv/shop/a\"],
    ),
    ("/srv/shop/a b", "a b", &["/srv/shop/a", "/srv/shop/b"]),
    ("/srv/shop/ a ", " a ", &["/srv/shop/a", "/srv/shop/ a"]),
    ("/srv/shop/it's \"x\"", "it's \"x\"", &["/srv/shop/its x"]),
    (
        "/srv/shop/a\nb",
        "a\nb",
        &["/srv/shop/a", "/srv/shop/ab", "/srv/shop/a b"],
    ),
    ("/srv/shop/a)", "a)", &["/srv/shop/a"]),
    ("/srv/shop/(a", "(a", &["/srv/shop/a"]),
    ("/srv/shop/~", "./~", &["/home/user"]),
    ("/srv/shop/~/x", "./~/x", &["/home/user/x"]),
    ("/srv/shop/~root", "./~root", &["/root"]),
    ("/srv/shop/<temp>/x", "./<temp>/x", &["/tmp/t/x"]),
    ("/srv/shop/a/~/x", "a/~/x", &["/home/user/x"]),
    (
        "/srv/shop/größe/日本",
        "größe/日本",
        &["/srv/shop/grosse/日本", "/srv/shop/gro\u{308}ße/日本"],
    ),
    ("/srv/shop/#", "#", &["/srv/shop/"]),
    ("/srv/shop/...", "...", &["/srv/shop/.."]),
    (
        "/home/user/x",
        "/home/user/x",
        &["/srv/shop/home/user/x", "/home/user/y"],
    ),
    ("/tmp/t/x", "/tmp/t/x", &["/tmp/t/y"]),
    ("/", "/", &["/a", "/srv/shop"]),
    ("/*", r"/\*", &["/a"]),
];

#[test]
fn paths() {
    for (path, expected, others) in PATHS {
        for (kind, atom) in [
            ("read", Atom::Read as fn(PathBuf) -> Atom),
            ("write", Atom::Write),
        ] {
            // What is a folder here is another thing to read.
            if kind == "read" && Path::new(path).is_dir() {
                continue;
            }
            let rule = text(&atom(path.into())).expect(path);
            assert_eq!(rule, format!("{kind}({expected})"), "{path}");
            assert!(allows(&rule, &atom(path.into())), "{path}");
            for other in *others {
                // `Path` drops a trailing `/.`.
                if Path::new(other) != Path::new(path) {
                    assert!(!allows(&rule, &atom(other.into())), "{rule}: {other}");
                }
            }
        }
        let write = text(&Atom::Write(path.into())).expect(path);
        assert!(!allows(&write, &Atom::Read(path.into())), "{path}");
    }
}

#[test]
fn a_folder_is_read_with_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let around = Surroundings::new(&root);
    let made = root.join("a {b}*");
    std::fs::create_dir(&made).unwrap();
    let rule = Atom::Read(made.clone()).narrowest_rule(&around).unwrap();
    assert_eq!(rule.to_string(), r"allow read(a \{b\}\*/**)");
    let rules = Rules::new().with(Layer::Managed, rule);
    let is_allowed_by_it = |path: PathBuf| {
        let rule = rules.decide(&Atom::Read(path), &around).rule;
        rule.is_some_and(|rule| rule.layer == Layer::Managed)
    };
    assert!(is_allowed_by_it(made.clone()));
    assert!(is_allowed_by_it(made.join("x/y")));
    assert!(!is_allowed_by_it(root.join("a b")));
    assert!(!is_allowed_by_it(root.join("a {b}*x")));
    let whole = Atom::Read(root).narrowest_rule(&around).unwrap();
    assert_eq!(whole.to_string(), "allow read(**)");
}

/// A command line, its rule, and lines that the rule is not about.
const COMMANDS: &[(&str, &str, &[&str])] = &[
    (
        "make x",
        "make x",
        &[
            "make",
            "make y",
            "make x y",
            "make 'x y'",
            "./make x",
            "/bin/make x",
        ],
    ),
    ("make 'a b'", "make 'a b'", &["make a b", "make ab"]),
    (
        "make '*'",
        "make '*'",
        &["make x", "make *", "make", "make x y"],
    ),
    ("make \"it's\"", r"make 'it'\''s'", &["make its"]),
    ("make '\"'", "make '\"'", &["make x"]),
    ("make ''", "make ''", &["make", "make x"]),
    (r"make 'a\b'", r"make 'a\b'", &["make ab"]),
    ("make 'größe'", "make 'größe'", &["make groesse"]),
    ("make '$x' '`y`'", "make '$x' '`y`'", &["make x y"]),
    ("make 'a;b'", "make 'a;b'", &["make a"]),
    ("make ')'", "make ')'", &["make"]),
    ("./x", "./x", &["x", "./x y", "../x"]),
    ("'a b' c", "'a b' c", &["a b c", "a 'b c'"]),
    (
        "make -j8 A=1 a@b:c%d,e+f",
        "make -j8 A=1 a@b:c%d,e+f",
        &["make -j9 A=1 a@b:c%d,e+f"],
    ),
];

#[test]
fn commands() {
    for (line, expected, others) in COMMANDS {
        let rule = text(&run(line)).expect(line);
        assert_eq!(rule, format!("run({expected})"), "{line}");
        assert!(allows(&rule, &run(line)), "{line}");
        for other in *others {
            assert!(!allows(&rule, &run(other)), "{rule}: {other}");
        }
    }
    // What is not known, or cannot be written, cannot be granted.
    for line in [
        "make $X",
        "make *.rs",
        "make 'a\nb'",
        "make 'a\tb'",
        "make $'\\x01'",
    ] {
        assert_eq!(text(&run(line)), None, "{line}");
    }
}

#[test]
fn hosts_tools_and_the_rest() {
    let rows = [
        (
            Atom::Net("example.com".into()),
            Some("net(example.com)"),
            Some(Atom::Net("a.example.com".into())),
        ),
        (
            Atom::Net("example.com:443".into()),
            Some("net(example.com:443)"),
            Some(Atom::Net("example.com:80".into())),
        ),
        (
            Atom::Net("[::1]:80".into()),
            Some("net([::1]:80)"),
            Some(Atom::Net("[::2]:80".into())),
        ),
        // A host that a rule takes for many.
        (Atom::Net("*".into()), None, None),
        (Atom::Net("*:443".into()), None, None),
        (Atom::Net("*.example.com".into()), None, None),
        (Atom::Net("https://example.com".into()), None, None),
        (Atom::Net(String::new()), None, None),
        (
            Atom::Tool("mcp_x".into()),
            Some("tool(mcp_x)"),
            Some(Atom::Tool("mcp_y".into())),
        ),
        (
            Atom::Tool("mcp*".into()),
            Some("tool('mcp*')"),
            Some(Atom::Tool("mcp_x".into())),
        ),
        (
            Atom::Tool("a b".into()),
            Some("tool('a b')"),
            Some(Atom::Tool("a".into())),
        ),
        (Atom::Conversation, None, None),
    ];
    for (atom, expected, other) in rows {
        assert_eq!(text(&atom).as_deref(), expected, "{atom:?}");
        if let Some(rule) = expected {
            assert!(allows(rule, &atom), "{atom:?}");
        }
        if let (Some(rule), Some(other)) = (expected, other) {
            assert!(!allows(rule, &other), "{rule}: {other:?}");
        }
    }
}

#[test]
fn files_of_a_folder_by_their_names() {
    let matching = |folder: &str, names: &str| Atom::ReadMatching {
        folder: folder.into(),
        names: names.to_owned(),
        found: Vec::new(),
    };
    let rule = text(&matching("/srv/shop/s{r}c", "*.rs")).unwrap();
    assert_eq!(rule, r"read(s\{r\}c/*.rs)");
    assert!(allows(&rule, &matching("/srv/shop/s{r}c", "*.rs")));
    for other in [
        matching("/srv/shop/s{r}c", "*"),
        matching("/srv/shop/src", "*.rs"),
    ] {
        assert!(!allows(&rule, &other), "{other:?}");
    }
    // To bash, `**` is the names of one folder.
    for names in ["**", "***"] {
        let below = Atom::Read("/srv/shop/src/a/b".into());
        let rule = text(&matching("/srv/shop/src", names));
        assert!(rule.is_none_or(|rule| !allows(&rule, &below)), "{names}");
    }
}

const NAMES: &[&str] = &[
    "a", "b", "A", "*", "**", "?", "[", "]", "{", "}", "!", ",", "\\", "'", "\"", "~", "<", "temp",
    ">", "(", ")", "#", "-", ".", " ", "\n", "\t", "é", "e\u{301}", "日", ":", "|", "$", "^", "/",
];

fn path() -> impl Strategy<Value = PathBuf> {
    let anchor = prop::sample::select(&["/srv/shop", "/home/user", "/tmp/t", "/elsewhere", ""][..]);
    let pieces = prop::collection::vec(prop::sample::select(NAMES), 1..7);
    (anchor, pieces).prop_map(|(anchor, pieces)| {
        let text = format!("{anchor}/{}", pieces.concat());
        let parts = text
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."));
        parts.fold(PathBuf::from("/"), |path, part| path.join(part))
    })
}

/// Paths that differ from this one by a little.
fn neighbours(path: &Path) -> Vec<PathBuf> {
    let text = path.to_str().unwrap();
    let mut others: Vec<PathBuf> = vec![path.join("x"), path.join("*"), format!("{text}x").into()];
    others.extend(path.parent().map(Path::to_owned));
    for (at, c) in text.char_indices() {
        let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
        others.push(format!("{before}{after}").into());
        others.push(format!("{before}x{after}").into());
        others.push(format!("{before}xy{c}{after}").into());
        others.push(format!("{before}\\{c}{after}").into());
        others.push(format!("{before}/{c}{after}").into());
    }
    others.retain(|other| other != path);
    others
}

fn word() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(NAMES), 0..5).prop_map(|pieces| pieces.concat())
}

fn quoted(words: &[String]) -> String {
    let quoted = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_path_is_allowed_alone(path in path(), other in path()) {
        let atom = Atom::Write(path.clone());
        let rule = text(&atom).unwrap_or_else(|| panic!("no rule for {path:?}"));
        prop_assert!(allows(&rule, &atom), "{rule} is not about {path:?}");
        let others = neighbours(&path).into_iter().chain([other]).filter(|other| *other != path);
        for other in others {
            prop_assert!(!allows(&rule, &Atom::Write(other.clone())), "{rule} is about {other:?}");
        }
    }

    #[test]
    fn any_words_are_allowed_alone(
        words in prop::collection::vec(word(), 0..4),
        other in prop::collection::vec(word(), 0..4),
        more in word(),
    ) {
        let command = |words: &[String]| run(&format!("make {}", quoted(words)));
        let atom = command(&words);
        let is_plain = |word: &String| !word.contains(char::is_control);
        let rule = text(&atom);
        prop_assert_eq!(rule.is_some(), words.iter().all(is_plain), "{:?}: {:?}", words, rule);
        let Some(rule) = rule else { return Ok(()) };
        prop_assert!(allows(&rule, &atom), "{rule} is not about {words:?}");
        let longer = [words.clone(), vec![more.clone()]].concat();
        let mut others = vec![other, longer];
        for at in 0..words.len() {
            let mut shorter = words.clone();
            shorter.remove(at);
            let mut changed = words.clone();
            changed[at].push('x');
            let mut replaced = words.clone();
            replaced[at].clone_from(&more);
            others.extend([shorter, changed, replaced]);
        }
        for other in others.iter().filter(|other| **other != words) {
            prop_assert!(!allows(&rule, &command(other)), "{rule} is about {other:?}");
        }
    }
}
