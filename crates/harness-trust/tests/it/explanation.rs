//! What a person is shown of a command line.

use std::path::Path;

use harness_trust::shell::{CommandLine, Place};

fn check(line: &str, shown: &str) {
    let place = Place {
        folder: Some(Path::new("/w")),
        home: None,
    };
    assert_eq!(
        CommandLine::parse(line, &place).to_string(),
        shown,
        "{line:?}"
    );
}

#[test]
fn commands_are_shown_as_they_would_be_started() {
    check("ls -l; cat  \"a b\" c''d", "ls -l\ncat 'a b' cd");
    check("echo 'it'\\''s' ''", r"echo 'it'\''s' ''");
    check("ls src/*.rs '*'", "ls src/*.rs '*'");
    check("timeout 5 cargo test", "timeout 5 cargo test");
    check("ls > out 2>&1 < in", "ls\n> /w/out\n< /w/in");
    check("ls > /dev/tcp/h/1", "ls\nconnects to h:1");
    check("cat \"a\nb\"", r"cat $'a\nb'");
    check("cat 'a\\nb'", r"cat 'a\nb'");
    check("X=1 ls", "ls\n? an assignment: X=1");
    check("ls $(x)", "ls ‹$(x)›\nx\n? a command substitution: $(x)");
}

#[test]
fn sec_13_disguised_commands_are_shown_escaped() {
    check(
        "ls \u{202e}txt.sh",
        "ls $'\\u{202e}txt.sh'\n? invisible characters: \\u{202e}txt.sh",
    );
    check(
        "r\u{200b}m x",
        "$'r\\u{200b}m' x\n? invisible characters: r\\u{200b}m x",
    );
    check(
        "ls \u{1b}[2K\r",
        "ls $'\\u{1b}[2K\\u{d}'\n? invisible characters: \\u{1b}[2K\\u{d}",
    );
}
