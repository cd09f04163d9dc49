//! The grammar of rules, what they are about, and which one decides.

use std::path::PathBuf;

use harness_core::{CommandEffect, ToolEffect, ToolEffects};
use harness_trust::{Atom, Atoms, Layer, Lexical, Rule, Rules, Subject, Surroundings, Verdict};

use crate::command_lines::surroundings;

#[test]
fn what_is_written_is_read_and_written_again() {
    let written = [
        "read",
        "write",
        "run",
        "net",
        "tool",
        "opaque",
        "read(src/**)",
        "read(~/x)",
        "write(/tmp/*)",
        "run(cargo test *)",
        "run(git commit -m 'a b' *)",
        "run(*)",
        "run(a\\* \"b c\")",
        "net(example.com)",
        "net(*.example.com:443)",
        "net([::1]:80)",
        "net(*)",
        "tool(mcp_*)",
        "read(a(b))",
    ];
    for text in written {
        let subject: Subject = text.parse().expect(text);
        assert_eq!(subject.to_string(), text);
        assert_eq!(subject.to_string().parse::<Subject>().unwrap(), subject);
    }
    let rule = Rule::parse(Verdict::Deny, " run(rm *) ").unwrap();
    assert_eq!(rule.to_string(), "deny run(rm *)");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let wrong = [
        ("run(", 5, "`run(` is not closed by `)`"),
        ("run(cargo", 10, "`run(` is not closed by `)`"),
        ("rum(x)", 1, "`rum` is no kind of rule; did you mean `run`?"),
        ("Read", 1, "`Read` is no kind of rule; did you mean `read`?"),
        (
            "bash(ls)",
            1,
            "`bash` is no kind of rule: rules are about what a call does, here `run(…)`, as in `run(git push *)`",
        ),
        (
            "",
            1,
            "`` is no kind of rule; there are read, write, run, net, tool, opaque",
        ),
        (
            "opaque(x)",
            7,
            "`opaque` stands alone: what cannot be read cannot be matched",
        ),
        ("run()", 5, "a command is missing between the brackets"),
        ("read()", 6, "a pattern is missing between the brackets"),
        (
            "run(ls; rm)",
            7,
            "`;` ends a command, and a pattern is for one command; write one rule for each",
        ),
        ("run(a 'b)", 7, "this ' is not closed"),
        (
            "read(../x)",
            6,
            "real paths have no `..`, so this would match nothing",
        ),
        (
            "read(a/../x)",
            8,
            "real paths have no `..`, so this would match nothing",
        ),
        ("read(~x)", 6, "`~` stands alone or before a `/`"),
        (
            "net(https://x)",
            10,
            "a host has no scheme: write `net(example.com)`",
        ),
        ("net(x:y)", 7, "`y` is no port"),
        ("net(a*b)", 5, "write a host, `*.example.com` or `*`"),
    ];
    for (text, at, what) in wrong {
        let error = text.parse::<Subject>().expect_err(text);
        assert_eq!(
            error.to_string(),
            format!("`{text}`, at character {at}: {what}")
        );
    }
    let error = "read([)".parse::<Subject>().expect_err("a bracket");
    assert!(error.to_string().contains("at character 6"), "{error}");
}

/// Whether `rule` is about `atom`, to allow and to deny.
fn is_about(rule: &str, atom: &Atom) -> (bool, bool) {
    let around = surroundings(false, false);
    let decides = |verdict| {
        let rules = Rules::new().with(Layer::Run, Rule::parse(verdict, rule).expect(rule));
        let decided = rules.decide(atom, &around).rule;
        decided.is_some_and(|rule| rule.layer == Layer::Run)
    };
    (decides(Verdict::Allow), decides(Verdict::Deny))
}

#[test]
fn globs_are_for_real_paths() {
    let rows = [
        ("src/**", "/srv/shop/src/a/b", true),
        ("src/**", "/srv/shop/src", true),
        ("src/*", "/srv/shop/src/a", true),
        ("src/*", "/srv/shop/src/a/b", false),
        ("src", "/srv/shop/src", true),
        ("src/", "/srv/shop/src", true),
        ("./src/*.rs", "/srv/shop/src/a.rs", true),
        ("**", "/srv/shop", true),
        ("**", "/srv/shop/a", true),
        ("**", "/srv/other", false),
        ("**/*.rs", "/srv/shop/a.rs", true),
        ("**/*.rs", "/srv/shop/a/b.rs", true),
        ("**/*.rs", "/srv/shopping/b.rs", false),
        ("~/x/**", "/home/user/x/y", true),
        ("~/x/**", "/home/user/xx/y", false),
        ("~", "/home/user", true),
        ("/etc/**", "/etc/passwd", true),
        ("/etc/**", "/etc", true),
        ("/etc/*", "/etc/a/b", false),
        ("/**", "/anything/at/all", true),
        ("/**/.env", "/.env", true),
        ("/**/.env", "/a/b/.env", true),
        ("/**/.env", "/a/b.env", false),
        ("{a,b}/*.md", "/srv/shop/b/x.md", true),
        ("a?c", "/srv/shop/a/c", false),
    ];
    for (glob, path, expected) in rows {
        let atom = Atom::Read(PathBuf::from(path));
        let found = is_about(&format!("read({glob})"), &atom);
        assert_eq!(found, (expected, expected), "{glob} {path}");
    }
    let write = Atom::Write(PathBuf::from("/srv/shop/src"));
    assert_eq!(is_about("read(**)", &write), (false, false));
}

/// A rule that refuses reaches as far as it may be meant: a plain path is a folder and all in it, and a home that is
/// not known could be any.
#[test]
fn what_refuses_reaches_as_far_as_it_may_be_meant() {
    for (glob, path, refuses) in [
        ("src", "/srv/shop/src/a", true),
        ("./src/b", "/srv/shop/src/b/c/d", true),
        ("src", "/srv/shop/srcs/a", false),
        ("/etc/ssh", "/etc/ssh/key", true),
        ("/etc/ssh", "/etc/sshd", false),
        ("~/.ssh", "/home/user/.ssh/id", true),
        ("s*", "/srv/shop/src/a", false),
    ] {
        let atom = Atom::Read(PathBuf::from(path));
        let found = is_about(&format!("read({glob})"), &atom);
        assert_eq!(found, (false, refuses), "{glob} {path}");
    }
    let around = Surroundings::new("/srv/shop")
        .with_paths(Lexical)
        .trusted(true);
    let decide = |line: &str| {
        let mut rules = Rules::new();
        for (verdict, rule) in [
            (Verdict::Allow, "read"),
            (Verdict::Allow, "run"),
            (Verdict::Deny, "read(~/.ssh/**)"),
            (Verdict::Deny, "read(~/.netrc)"),
        ] {
            rules.add(Layer::User, Rule::parse(verdict, rule).unwrap());
        }
        let atoms = Atoms::of_command(line, around.root(), &around);
        rules.decide_all(&atoms, &around).verdict
    };
    for (line, verdict) in [
        ("cat /home/user/.ssh/id", Verdict::Deny),
        ("cat /home/user/.netrc", Verdict::Deny),
        ("base64 /home/user/.ssh/id", Verdict::Deny),
        ("cat /home/user/.nets /srv/shop/x", Verdict::Allow),
    ] {
        assert_eq!(decide(line), verdict, "{line}");
    }
}

#[test]
fn hosts_are_matched_by_their_labels() {
    let rows = [
        ("example.com", "example.com", true, true),
        ("example.com", "EXAMPLE.com.", true, true),
        ("example.com", "example.com:443", true, true),
        ("example.com", "evilexample.com", false, false),
        ("example.com", "example.com.evil.org", false, false),
        ("example.com", "a.example.com", false, false),
        ("*.example.com", "a.example.com", true, true),
        ("*.example.com", "a.b.example.com", true, true),
        ("*.example.com", "example.com", false, false),
        ("*.example.com", "evilexample.com", false, false),
        ("example.com:443", "example.com:443", true, true),
        ("example.com:443", "example.com:80", false, false),
        ("example.com:443", "example.com", false, true),
        ("[::1]:80", "[::1]:80", true, true),
        ("*", "anything:1", true, true),
    ];
    for (pattern, host, allows, denies) in rows {
        let atom = Atom::Net(host.to_owned());
        assert_eq!(
            is_about(&format!("net({pattern})"), &atom),
            (allows, denies),
            "{pattern} {host}"
        );
    }
}

#[test]
fn commands_are_matched_word_by_word() {
    let rows = [
        ("cargo test *", "cargo test", true, true),
        ("cargo test *", "cargo test a b", true, true),
        ("cargo test", "cargo test a", false, false),
        ("cargo test *", "cargo testify", false, false),
        ("git push *", "git --no-pager push", false, true),
        ("git push *", "git -C x --no-pager push -f", false, true),
        ("git push *", "git status push", false, false),
        ("git push *", "git -C push", false, true),
        ("git push *", "hg -C push", false, false),
        ("* push", "git -C push", false, true),
        ("cargo test*", "cargo testify", true, true),
        ("cargo * --lib", "cargo test --lib", true, true),
        ("cargo * --lib", "cargo test a --lib", false, false),
        ("cargo *", "/usr/bin/cargo test", false, true),
        ("/usr/bin/cargo *", "/usr/bin/cargo test", true, true),
        ("/usr/bin/cargo *", "cargo test", false, false),
        ("*cargo *", "./cargo x", false, true),
        ("./x", "./x", true, true),
        ("*", "./x y", true, true),
        ("git commit -m 'a b'", "git commit -m 'a b'", true, true),
        ("git commit -m a b", "git commit -m 'a b'", false, false),
        ("echo '*'", "echo '*'", true, true),
        ("echo '*'", "echo x", false, false),
        ("cargo test *", "cargo test src/*.rs", true, true),
        ("cargo test *", "cargo test *.rs", false, true),
        ("cargo test x*", "cargo test x*", false, true),
        ("cargo test *", "cargo test $X", false, true),
        ("rm *", "sudo -u x rm y", false, true),
        ("rm *", "echo rm y", false, false),
        ("timeout *", "timeout 5 ls", false, true),
        ("ls", "timeout 5 ls", true, true),
    ];
    let around = surroundings(false, false);
    for (pattern, line, allows, denies) in rows {
        let atoms = Atoms::of_command(line, around.root(), &around);
        let run = atoms
            .iter()
            .find(|it| matches!(it, Atom::Run { .. }))
            .expect(line);
        assert_eq!(
            is_about(&format!("run({pattern})"), run),
            (allows, denies),
            "{pattern}: {line}"
        );
    }
}

/// Rules by layer and verdict, and the verdict and layer that decide.
type Row<'a> = (&'a [(Layer, Verdict)], Verdict, Option<Layer>);

/// Which rule decides about reaching a host.
fn decided(rules: &[(Layer, Verdict)]) -> (Verdict, Option<Layer>) {
    let add = |rules: Rules, (layer, verdict): &(Layer, Verdict)| {
        rules.with(*layer, Rule::parse(*verdict, "net").expect("a rule"))
    };
    let rules = rules.iter().fold(Rules::new(), add);
    let decision = rules.decide(&Atom::Net("x".to_owned()), &surroundings(false, false));
    (decision.verdict, decision.rule.map(|rule| rule.layer))
}

#[test]
fn deny_wins_then_the_layer_then_ask() {
    use Layer::{Granted, Managed, Project, Run, User};
    use Verdict::{Allow, Ask, Deny};
    let rows: &[Row<'_>] = &[
        (&[], Ask, None),
        (&[(User, Allow)], Allow, Some(User)),
        (&[(User, Allow), (User, Ask)], Ask, Some(User)),
        (&[(Project, Allow)], Allow, Some(Project)),
        (&[(User, Ask), (Project, Allow)], Ask, Some(User)),
        (&[(User, Allow), (Project, Allow)], Allow, Some(Project)),
        (&[(Managed, Ask), (Project, Allow)], Ask, Some(Managed)),
        (&[(User, Ask), (Granted, Allow)], Allow, Some(Granted)),
        (&[(Project, Ask), (Granted, Allow)], Allow, Some(Granted)),
        (
            &[(User, Ask), (Project, Allow), (Granted, Allow)],
            Allow,
            Some(Granted),
        ),
        (&[(Granted, Ask), (Run, Allow)], Allow, Some(Run)),
        (
            &[(User, Ask), (Project, Allow), (Run, Allow)],
            Allow,
            Some(Run),
        ),
        (&[(Project, Ask), (User, Allow)], Ask, Some(Project)),
        (
            &[
                (User, Deny),
                (Project, Allow),
                (Run, Allow),
                (Managed, Allow),
            ],
            Deny,
            Some(User),
        ),
        (&[(Run, Allow), (Managed, Ask)], Ask, Some(Managed)),
        (&[(Run, Ask), (Managed, Allow)], Allow, Some(Managed)),
        (&[(User, Deny), (Managed, Deny)], Deny, Some(Managed)),
    ];
    for (rules, verdict, layer) in rows {
        assert_eq!(decided(rules), (*verdict, *layer), "{rules:?}");
    }
}

#[test]
fn what_a_tool_declares_is_decided() {
    let around = surroundings(true, false);
    let rows = [
        (ToolEffects::read("/srv/shop/a"), Verdict::Allow),
        (ToolEffects::read("/srv/shop/.env"), Verdict::Ask),
        (ToolEffects::read("/etc/passwd"), Verdict::Ask),
        (ToolEffects::write("/srv/shop/a"), Verdict::Allow),
        (ToolEffects::write("/srv/shop/.git/config"), Verdict::Ask),
        (ToolEffects::run("ls; cat a"), Verdict::Ask),
        (
            ToolEffects::run(CommandEffect::new("ls; cat a").in_folder("/srv/shop")),
            Verdict::Allow,
        ),
        (ToolEffects::run("cargo test"), Verdict::Ask),
        (
            ToolEffects::new([ToolEffect::Network("x".to_owned())]),
            Verdict::Ask,
        ),
        (ToolEffects::conversation(), Verdict::Allow),
        (ToolEffects::unknown(), Verdict::Ask),
        (ToolEffects::new([]), Verdict::Allow),
    ];
    for (effects, expected) in rows {
        let atoms = Atoms::of("demo", &effects, &around);
        let decided = Rules::new().decide_all(&atoms, &around);
        assert_eq!(decided.verdict, expected, "{effects:?}");
    }
    let allow = Rule::parse(Verdict::Allow, "tool(de*)").unwrap();
    let atoms = Atoms::of("demo", &ToolEffects::unknown(), &around);
    let rules = Rules::new().with(Layer::User, allow);
    assert_eq!(rules.decide_all(&atoms, &around).verdict, Verdict::Allow);
    let atoms = Atoms::of("other", &ToolEffects::unknown(), &around);
    assert_eq!(rules.decide_all(&atoms, &around).verdict, Verdict::Ask);
}

/// A home, or all of the machine, is no project: whatever is trusted, everything but reading is asked about.
#[test]
fn a_folder_that_is_too_wide_opens_nothing_but_reading() {
    for (root, is_wide) in [
        ("/", true),
        ("/home/user", true),
        ("/home/user/shop", false),
        ("/srv", false),
        ("/srv/shop", false),
    ] {
        let around = Surroundings::new(root)
            .with_home("/home/user")
            .with_temp("/tmp/t")
            .with_paths(Lexical)
            .trusted(true)
            .sandboxed(true);
        assert_eq!(around.is_wide(), is_wide, "{root}");
        let opened = if is_wide {
            Verdict::Ask
        } else {
            Verdict::Allow
        };
        for (line, expected) in [
            ("cat a", Verdict::Allow),
            ("ls -R", Verdict::Allow),
            ("cat .env", Verdict::Ask),
            ("echo x > a", opened),
            ("make", opened),
            ("git log", opened),
            ("echo x > /tmp/t/a", Verdict::Allow),
        ] {
            let atoms = Atoms::of_command(line, around.root(), &around);
            let decided = Rules::new().decide_all(&atoms, &around);
            assert_eq!(decided.verdict, expected, "{root}: {line}");
        }
    }
    // Without a home there is only the root.
    assert!(Surroundings::new("/").is_wide());
    let around = Surroundings::new("/srv").with_home("/srv/user");
    assert!(around.is_wide());
    assert!(!Surroundings::new("/srv").is_wide());
}

#[test]
fn what_is_written_as_elsewhere_is_understood_or_told() {
    for (rule, expected) in [
        ("run(git push:*)", "`run(git push *)`"),
        ("run(npm run test:*)", "begins with `test:`"),
        ("run(git push *)", ""),
        ("run(npm run test\\:*)", ""),
        ("run(npm run 'test:'*)", ""),
        ("write(x/)", ""),
    ] {
        let doubt = rule.parse::<Subject>().unwrap().doubt();
        let doubt = doubt.unwrap_or_default();
        assert!(doubt.contains(expected), "{rule}: {doubt}");
        assert_eq!(doubt.is_empty(), expected.is_empty(), "{rule}: {doubt}");
    }
    let around = surroundings(false, false);
    for (rule, path, expected) in [
        ("write(x/)", "/srv/shop/x", true),
        ("write(x/)", "/srv/shop/x/a/b", true),
        ("write(x/)", "/srv/shop/xy", false),
        ("write(x//)", "/srv/shop/x/a", true),
        ("write(./)", "/srv/shop/a", true),
        ("write(~/)", "/home/user/a", true),
        ("write(~/x/)", "/home/user/x/a", true),
        ("write(/etc/)", "/etc/a/b", true),
        ("write(x)", "/srv/shop/x/a", true),
    ] {
        let rules = Rules::new().with(Layer::User, Rule::parse(Verdict::Deny, rule).unwrap());
        let decided = rules.decide(&Atom::Write(path.into()), &around).verdict;
        assert_eq!(decided == Verdict::Deny, expected, "{rule} {path}");
    }
    let names = |rule: &str, tool| rule.parse::<Subject>().unwrap().names_tool(tool);
    assert_eq!(names("tool(mcp_*)", "mcp_x"), Some(true));
    assert_eq!(names("tool(nope)", "mcp_x"), Some(false));
    assert_eq!(names("tool", "mcp_x"), None);
    assert_eq!(names("run(x)", "x"), None);
}

/// What is asked about by itself can act later, outside of any sandbox.
#[test]
fn what_a_project_allows_lifts_no_question_that_is_built_in() {
    let around = surroundings(true, true);
    for (layer, verdict) in [
        (Layer::Project, Verdict::Ask),
        (Layer::User, Verdict::Allow),
        (Layer::Granted, Verdict::Allow),
        (Layer::Run, Verdict::Allow),
    ] {
        let rules = ["read(**)", "write(**)", "run(cp *)"];
        let rules = rules.iter().fold(Rules::new(), |rules, rule| {
            rules.with(layer, Rule::parse(Verdict::Allow, rule).expect(rule))
        });
        let root = around.root();
        for atom in [
            Atom::Write(root.join(".git/hooks/pre-commit")),
            Atom::Write(root.join(".harness/hooks.json")),
            Atom::Read(root.join(".env")),
        ] {
            assert_eq!(
                rules.decide(&atom, &around).verdict,
                verdict,
                "{layer} {atom}"
            );
        }
        let atoms = Atoms::of_command("cp x .git/config", root, &around);
        let decided = rules.decide_all(&atoms, &around).verdict;
        assert_eq!(decided, verdict, "{layer}");
        assert!(layer != Layer::Project || rules.withholds(&root.join(".env"), &around));
        let plain = Atom::Write(root.join("a"));
        assert_eq!(rules.decide(&plain, &around).verdict, Verdict::Allow);
    }
}
