//! Rules see where a path really leads.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;

use harness_trust::{Atoms, Layer, Rule, Rules, Surroundings, Verdict};

/// A workspace with a link that leads out of it, in a folder with something outside.
fn world() -> (tempfile::TempDir, Surroundings) {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let root = real.join("ws");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::create_dir(real.join("outside")).unwrap();
    fs::write(real.join("outside/f"), "x").unwrap();
    symlink(real.join("outside"), root.join("out")).unwrap();
    symlink(real.join("outside/missing"), root.join("dangling")).unwrap();
    symlink("src", root.join("inside")).unwrap();
    symlink(real.join("outside/f"), root.join("notes.txt")).unwrap();
    symlink("/proc/thread-self/cwd", root.join("mine")).unwrap();
    fs::write(root.join("plain.md"), "x").unwrap();
    let surroundings = Surroundings::new(root).trusted(true);
    (folder, surroundings)
}

/// A glob is held to the rules by what it finds, whatever the command does with that; and by what it is for, where
/// that is known to be reading.
#[test]
fn a_glob_over_folders_passes_no_rule() {
    let (_folder, surroundings) = world();
    let root = surroundings.root().to_owned();
    for folder in ["sub/deep", "keys", "private", "migrations"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for file in [
        "sub/.env",
        "sub/a.rs",
        "keys/server.key",
        "private/x",
        "migrations/1",
    ] {
        fs::write(root.join(file), "x").unwrap();
    }
    symlink("../private", root.join("sub/link")).unwrap();
    symlink("../../../outside/f", root.join("sub/deep/f")).unwrap();
    let rules = [
        (Verdict::Deny, "read(private/**)"),
        (Verdict::Deny, "write(migrations/**)"),
    ];
    let rules = rules.iter().fold(Rules::new(), |rules, (verdict, text)| {
        rules.with(Layer::User, Rule::parse(*verdict, text).unwrap())
    });
    let surroundings = surroundings.trusted(true).sandboxed(true);
    for (line, expected) in [
        ("cat sub/*.rs", Verdict::Allow),
        ("cat s*/*.rs", Verdict::Allow),
        ("ls s*/*.rs", Verdict::Allow),
        ("ls */", Verdict::Deny),
        ("cat s*/.e*", Verdict::Ask),
        ("cat src/*/.env", Verdict::Ask),
        ("cat k*/server*", Verdict::Ask),
        // Through links.
        ("cat sub/*/f", Verdict::Ask),
        ("cat s*/d*/f", Verdict::Ask),
        ("cat s*/li*/x", Verdict::Deny),
        ("ls sub/*/*", Verdict::Deny),
        ("cat o*/f", Verdict::Ask),
        // Of which nothing is known.
        ("base64 sub/*.rs", Verdict::Allow),
        ("base64 */*.rs", Verdict::Allow),
        ("base64 sub/*", Verdict::Deny),
        ("base64 s*/.e*", Verdict::Ask),
        ("base64 sub/.e*", Verdict::Ask),
        ("base64 k*/s*", Verdict::Ask),
        ("base64 [k]eys/server.key", Verdict::Ask),
        ("base64 */x", Verdict::Deny),
        ("base64 s*/li*/x", Verdict::Deny),
        ("rm -rf m*", Verdict::Deny),
        ("rm -rf *", Verdict::Deny),
        ("rm -rf */1", Verdict::Deny),
        ("rm -rf t*", Verdict::Allow),
        ("rm -rf s*/../migrations", Verdict::Deny),
        // Wherever `cd` may lead.
        ("cd elsewhere; base64 .env", Verdict::Ask),
    ] {
        let atoms = Atoms::of_command(line, surroundings.root(), &surroundings);
        let decided = rules.decide_all(&atoms, &surroundings);
        assert_eq!(decided.verdict, expected, "{line}: {:?}", decided.each);
    }
    // More than is looked at: what it could find counts.
    for number in 0..20_000 {
        fs::write(root.join(format!("sub/deep/{number}")), "").unwrap();
    }
    for (line, expected) in [
        ("base64 sub/*/*", Verdict::Ask),
        ("base64 s*/[^p]*/.en?", Verdict::Ask),
        ("cat sub/*/*.rs", Verdict::Ask),
        ("base64 s*/*.rs", Verdict::Allow),
    ] {
        let atoms = Atoms::of_command(line, surroundings.root(), &surroundings);
        let decided = rules.decide_all(&atoms, &surroundings);
        assert_eq!(decided.verdict, expected, "{line}: {:?}", decided.each);
    }
}

fn check(lines: &[(&str, Verdict)]) {
    let (_folder, surroundings) = world();
    for (line, expected) in lines {
        let atoms = Atoms::of_command(line, surroundings.root(), &surroundings);
        let decided = Rules::new().decide_all(&atoms, &surroundings);
        assert_eq!(decided.verdict, *expected, "{line}: {:?}", decided.each);
    }
}

#[test]
fn sec_04_a_link_leads_where_it_leads() {
    check(&[
        ("cat src/a", Verdict::Allow),
        ("cat inside/a", Verdict::Allow),
        ("cat out/f", Verdict::Ask),
        ("ls out", Verdict::Ask),
        ("ls out/*", Verdict::Ask),
        ("cd out && cat f", Verdict::Ask),
        ("cd inside && cat f", Verdict::Allow),
        ("cat out/../f", Verdict::Ask),
        ("cat *.txt", Verdict::Ask),
        ("wc -l ./n*", Verdict::Ask),
        ("ls o*", Verdict::Ask),
        ("cat *.md", Verdict::Allow),
        // They lead elsewhere for another process.
        ("cat /proc/self/cwd/src/a", Verdict::Ask),
        ("cat mine/src/a", Verdict::Ask),
        ("echo x > /dev/fd/../cwd/a", Verdict::Ask),
        ("cat inside/../f", Verdict::Allow),
        ("echo x > out/f", Verdict::Ask),
        ("echo x > dangling", Verdict::Ask),
    ]);
}

#[test]
fn sec_06_what_does_not_exist_is_under_its_deepest_real_folder() {
    check(&[
        ("echo x > src/new/x", Verdict::Allow),
        ("echo x > out/new/x", Verdict::Ask),
        ("echo x > src/new/../../x", Verdict::Ask),
    ]);
}

#[test]
fn a_rule_for_a_folder_is_not_passed_by_a_link() {
    let (_folder, surroundings) = world();
    let deny = Rule::parse(Verdict::Deny, "read(src/**)").unwrap();
    let rules = Rules::new().with(Layer::User, deny);
    let atoms = Atoms::of_command("cat inside/a", surroundings.root(), &surroundings);
    assert_eq!(
        rules.decide_all(&atoms, &surroundings).verdict,
        Verdict::Deny
    );
}

#[test]
fn a_project_that_is_trusted_is_not_the_one_beside_it() {
    let (folder, surroundings) = world();
    let temp = folder.path().canonicalize().unwrap().join("outside");
    let surroundings = surroundings.with_temp(temp);
    for (line, expected) in [
        ("git status", Verdict::Allow),
        ("cd src && git status", Verdict::Allow),
        // It may be read, but its configuration is not that of the project.
        ("cd out && git status", Verdict::Ask),
        ("cd out && grep -R x .", Verdict::Ask),
        ("cd out && grep -r x .", Verdict::Allow),
    ] {
        let atoms = Atoms::of_command(line, surroundings.root(), &surroundings);
        let decided = Rules::new().decide_all(&atoms, &surroundings);
        assert_eq!(decided.verdict, expected, "{line}: {:?}", decided.each);
    }
}

/// The folder of this process is the workspace; that of the command is not.
#[test]
#[cfg(target_os = "linux")]
fn a_link_of_a_process_is_not_followed_for_another_one() {
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    let surroundings = Surroundings::new(here);
    let line = "cd /etc && cat /proc/self/cwd/passwd";
    let atoms = Atoms::of_command(line, surroundings.root(), &surroundings);
    let decided = Rules::new().decide_all(&atoms, &surroundings);
    assert_eq!(decided.verdict, Verdict::Ask, "{:?}", decided.each);
}
