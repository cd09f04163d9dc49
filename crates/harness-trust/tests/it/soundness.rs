//! Random lines, run by bash: whatever it runs or writes is listed, wherever the line is transparent.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use harness_trust::shell::{Access, CommandLine, Place, Target, Word};
use proptest::prelude::*;

/// What bash runs for `line` in `folder`, each command with its words, as files in `printed`.
///
/// There is no program in the way of this shell, so each command that is no builtin goes to the function;
/// each process writes to a file of its own, since the parts of a pipe write at the same time.
fn run(line: &str, folder: &Path, printed: &Path) -> Vec<Vec<String>> {
    let script = format!(
        "PATH=/nonexistent\ncommand_not_found_handle() {{ \
         printf '%s\\0' \"$@\" $'\\1' >>'{}'/$BASHPID; }}\neval \"$1\"\nwait\n",
        printed.display()
    );
    Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &script, "bash", line])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/home/user")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("bash");
    let mut commands = Vec::new();
    for entry in fs::read_dir(printed).expect("a folder") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("what it printed");
        let mut words = Vec::new();
        for word in String::from_utf8_lossy(&bytes).split_terminator('\0') {
            match word {
                "\u{1}" => commands.push(std::mem::take(&mut words)),
                word => words.push(word.to_owned()),
            }
        }
    }
    commands
}

fn check(line: &str) {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().join("empty");
    fs::create_dir(&folder).expect("a folder");
    let place = Place {
        folder: Some(&folder),
        home: Some(Path::new("/home/user")),
    };
    let parsed = CommandLine::parse(line, &place);
    if !parsed.is_transparent() {
        return;
    }
    // What only runs another command is no program here, and comes with all of its words.
    let outermost = parsed
        .commands
        .iter()
        .map(|it| it.around.first().unwrap_or(&it.words));
    let listed: Vec<Vec<&Word>> = outermost.map(|words| words.iter().collect()).collect();
    let is = |ours: &&Word, theirs: &String| match ours {
        Word::Literal(text) => text == theirs,
        Word::Glob { start, .. } => theirs.starts_with(start),
        Word::Unknown(_) => false,
    };
    // A glob that found files is more words than one.
    let fits = |ours: &Vec<&Word>, theirs: &[String]| {
        let has_glob = ours.iter().any(|word| word.literal().is_none());
        let pairs = ours
            .iter()
            .zip(theirs)
            .take_while(|(ours, _)| !has_glob || ours.literal().is_some());
        (has_glob || ours.len() == theirs.len())
            && pairs.into_iter().all(|(ours, theirs)| is(ours, theirs))
    };
    let printed = outer.path().join("printed");
    fs::create_dir(&printed).expect("a folder");
    for theirs in run(line, &folder, &printed) {
        let found = listed.iter().any(|ours| fits(ours, &theirs));
        assert!(found, "{line:?} ran {theirs:?}, and listed is\n{parsed}");
    }
    let written: BTreeSet<_> = parsed
        .redirects
        .iter()
        .filter(|redirect| redirect.access == Access::Write)
        .filter_map(|redirect| match &redirect.target {
            Target::Path(path) => Some(path.clone()),
            Target::Host(_) => None,
        })
        .collect();
    for entry in fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert!(
            written.contains(&path),
            "{line:?} wrote {path:?}, and listed is\n{parsed}"
        );
    }
}

const PIECES: &[&str] = &[
    " ", " ", " ", " ", "p", "q", "a", "b", "'", "'", "\"", "\"", "\\", ";", "&&", "||", "|", "&",
    "\n", "\t", "#", "*", "?", "[", "]", "{", "}", "(", ")", "~", "=", "<<<", "<<", ">", ">>",
    "2>", "&>", ">&", "<", "1", "!", "if", "then", "else", "fi", "while", "do", "done", "for",
    "in", "time", ",", "..", ".", "$", "-", "--", "cd", "true", "false", "E", "\nE\n", "\\\n",
    "p q", "; p", "nohup", "env", "é", "%", "^", "+", ":", "function", "case", "esac", "|&", ";;",
    "3>", "<>", ">|",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bash_runs_and_writes_nothing_that_is_not_listed(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 1..14)
    ) {
        check(&format!("p{}", pieces.concat()));
    }
}

#[test]
fn known_traps() {
    let lines = [
        "p 'a'b\"c\"d\\e",
        "p a\\\nb",
        "p \\\n q",
        "p;q",
        "p&q",
        "p|q",
        "p\nq",
        "p # q\nq 1",
        "p a#b",
        "p '#' q",
        "p \"#\"; q",
        "p <<E\nq\nE\nq 1",
        "p <<'E' ; q\nx\nE\nq 2",
        "p <<E; q <<F\n1\nE\n2\nF\np",
        "p <<-E\n\tE\nq",
        "p {a} {} a,b",
        "p ~",
        "p ~/x",
        "p a=~",
        "p =~",
        "p [a] a[ ]",
        "p ! q",
        "! p",
        "p\\;q",
        "p\\ q",
        "'p' q",
        "p ''",
        "p > o q",
        "> o p q",
        "p 2>o",
        "p 2 >o",
        "p a2>o",
        "p \"2\">o",
        "p \\2>o",
        "p 12>&1",
        "p >&1",
        "p >&o",
        "p &>o q",
        "p >&2>o",
        "if p; then q; else p 2; fi",
        "for i in a b; do p x; done",
        "{ p; }",
        "{ p; } > o",
        "(p) > o",
        "(p;q)|p",
        "p $ q",
        "p \"a$\" q",
        "p 'a\nb'",
        "p \"a\\\nb\"",
        "p a'\\'b",
        "p \"\\a\\\\\\\"\"",
        "p \\'a b\\'",
        "time p",
        "time -p p",
        "! ! p",
        "p; time q",
        "nohup p",
        "env p",
        "p {a;b",
        "p }",
        "p do done",
        "p if",
        "p a=b c",
        "p -- -x",
        "p é",
        "p 3<<<a",
        "p<<<a q",
        "p <<<a<<<b",
        "p \\\\",
        "p '\\'",
        "p *a 'b*'",
        "p [!a]",
        "p;#q",
        "p|#\nq",
        "p&&\n\nq",
        "p||\n#x\nq",
        "p &\nq",
        "p;;q",
        "p ;& q",
        "p |& q",
        "p 2>&1|q",
        "p >o>b",
        "p>|o",
        "p <>o",
        "p 1>&2-",
    ];
    for line in lines {
        check(line);
    }
}
