//! The table held against bash itself: what it says of a line's words is what bash would pass.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use harness_trust::shell::{CommandLine, Place, Word};

use crate::command_lines::rows;

const HOME: &str = "/home/user";

fn bash(folder: &Path) -> Command {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile"])
        .env_clear()
        .env("HOME", HOME)
        .current_dir(folder);
    bash.stdin(Stdio::null()).stderr(Stdio::null());
    bash
}

fn parse(line: &str, folder: &Path) -> CommandLine {
    let place = Place {
        folder: Some(folder),
        home: Some(Path::new(HOME)),
    };
    CommandLine::parse(line, &place)
}

#[test]
fn what_is_understood_is_a_sentence_of_bash() {
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for row in rows() {
        if parse(&row.line, folder.path()).is_transparent() {
            let status = bash(folder.path())
                .args(["-n", "-c", &row.line])
                .status()
                .unwrap();
            assert!(status.success(), "row {}: {:?}", row.number, row.line);
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} lines");
}

/// The words of each command that bash starts for `line`, with a function that prints them in the place of
/// each of `programs`.
fn words_of_bash(line: &str, programs: &[&str], folder: &Path) -> Vec<Vec<String>> {
    // Functions come before programs and most of what is built in.
    let mut script = String::from("shown() { printf '%s\\0' \"$@\" >&9; printf '\\1\\0' >&9; }\n");
    for program in programs {
        let _ = writeln!(script, "function {program} {{ shown {program} \"$@\"; }}");
    }
    script.push_str(line);
    script.push('\n');
    let printed = folder.join("printed");
    bash(folder)
        .args(["-c", "exec 9>\"$1\"; eval \"$0\"", &script])
        .arg(&printed)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    let printed = std::fs::read_to_string(printed).unwrap();
    let mut commands = vec![Vec::new()];
    for word in printed.split_terminator('\0') {
        match word {
            "\u{1}" => commands.push(Vec::new()),
            word => commands.last_mut().unwrap().push(word.to_owned()),
        }
    }
    commands.pop();
    commands
}

/// Programs that a function may stand for: their names are no words of the grammar.
const PROGRAMS: &[&str] = &[
    "basename", "cat", "cargo", "chmod", "cp", "curl", "date", "dd", "diff", "dirname", "echo",
    "evil", "file", "find", "git", "grep", "head", "less", "ls", "make", "md5sum", "mkdir", "mv",
    "node", "npm", "npx", "pwd", "python", "python3", "rev", "rg", "rm", "sed", "sort", "stat",
    "strings", "tail", "tar", "tee", "touch", "tr", "tree", "type", "uniq", "vim", "wc", "which",
];

#[test]
fn the_words_are_those_that_bash_passes() {
    let mut checked = 0;
    for row in rows() {
        let folder = tempfile::tempdir().unwrap();
        let parsed = parse(&row.line, folder.path());
        let programs: Vec<_> = parsed
            .commands
            .iter()
            .map(|it| it.program().unwrap_or_default())
            .collect();
        let is_plain = parsed.redirects.is_empty()
            && parsed.commands.iter().all(|it| it.around.is_empty())
            && programs.iter().all(|program| PROGRAMS.contains(program))
            && !row.line.contains(['|', '&'])
            && !["for", "while", "if", "cd", "time", "!"]
                .iter()
                .any(|word| row.line.starts_with(word));
        if !parsed.is_transparent() || !is_plain {
            continue;
        }
        let ours: Vec<Vec<String>> = parsed
            .commands
            .iter()
            .map(|command| {
                // In an empty folder a glob is passed as it is written.
                let text = |word: &Word| match word {
                    Word::Literal(text) => text.clone(),
                    Word::Glob { pattern, .. } => pattern.clone(),
                    // The status of what was run before it in this test.
                    Word::Unknown(text) => text.replace("$?", "0").replace('"', ""),
                };
                command.words.iter().map(text).collect()
            })
            .collect();
        let theirs = words_of_bash(&row.line, &programs, folder.path());
        // `printed` is in the folder, so a glob that finds it is left out.
        if theirs.iter().flatten().any(|word| word.contains("printed")) {
            continue;
        }
        assert_eq!(ours, theirs, "row {}: {:?}", row.number, row.line);
        checked += 1;
    }
    assert!(checked > 60, "{checked} lines");
}
