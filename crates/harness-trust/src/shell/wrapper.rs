//! Programs that run the command in their words.

use super::opaque::OpaqueKind;
use super::program::Judgement;
use super::word::Word;

/// Programs that run a command as somebody else, elsewhere, later, many times, or with words that are not
/// on the line: none of them is looked through.
const NEVER: &[&str] = &[
    "ash",
    "at",
    "batch",
    "bwrap",
    "busybox",
    "catchsegv",
    "chpst",
    "chroot",
    "chrt",
    "cpulimit",
    "daemonize",
    "dbus-run-session",
    "doas",
    "env-parallel",
    "entr",
    "fakeroot",
    "faketime",
    "firejail",
    "flock",
    "gdb",
    "inotifywait",
    "linux32",
    "linux64",
    "lldb",
    "ltrace",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pexec",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "run-parts",
    "runcon",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "softlimit",
    "ssh-agent",
    "start-stop-daemon",
    "strace",
    "su",
    "sudo",
    "systemd-inhibit",
    "systemd-run",
    "taskset",
    "torify",
    "torsocks",
    "toybox",
    "tsocks",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "xargs",
    "xvfb-run",
];

pub(super) fn judge(name: &str, arguments: &[Word]) -> Option<Judgement> {
    let opaque = Some(Judgement::Opaque(OpaqueKind::Wrapper));
    if NEVER.contains(&name) {
        return opaque;
    }
    let begin = match name {
        "command" if asks_what(arguments) => return None,
        "nohup" | "setsid" | "time" | "command" | "env" => plain(arguments),
        "nice" => counted(arguments, &["-n"]).or_else(|| numbered(arguments)),
        "ionice" => counted(arguments, &["-c", "-n"]),
        "stdbuf" => joined(arguments, &["-o", "-i", "-e"]),
        "timeout" => timeout(arguments),
        // That of macOS runs what follows.
        "arch" if !arguments.is_empty() => return opaque,
        "jobs" if runs_each(arguments) => return opaque,
        "find" => return finds(arguments).then_some(()).and(opaque),
        "fd" | "fdfind" => {
            return (finds(arguments) || runs_each(arguments))
                .then_some(())
                .and(opaque);
        }
        _ => return None,
    };
    // Nothing to run: `command` and `env` by themselves, or options that are not known.
    let Some(begin) = begin else {
        return opaque;
    };
    match arguments.get(begin) {
        // A word with `=` is an assignment of `env`, and a glob can become one.
        Some(Word::Literal(text)) if !text.contains('=') => Some(Judgement::RunsAt(begin + 1)),
        _ => opaque,
    }
}

/// `command -v NAME`: what would be run, and nothing is.
pub(crate) fn asks_what(arguments: &[Word]) -> bool {
    matches!(arguments.first().and_then(Word::literal), Some("-v" | "-V"))
}

/// Whether `fd`, or `jobs`, would run something: `-x` can stand in a group of options.
fn runs_each(arguments: &[Word]) -> bool {
    let is_group = |text: &str| text.starts_with('-') && !text.starts_with("--");
    arguments
        .iter()
        .filter_map(Word::literal)
        .any(|text| is_group(text) && text.contains(['x', 'X']))
}

fn is_option(arguments: &[Word], at: usize) -> bool {
    arguments.get(at).is_none_or(Word::may_be_option)
}

/// No option but `--`.
fn plain(arguments: &[Word]) -> Option<usize> {
    let at = usize::from(is_word(arguments, 0, "--"));
    (!is_option(arguments, at)).then_some(at)
}

fn is_word(arguments: &[Word], at: usize, text: &str) -> bool {
    arguments.get(at).and_then(Word::literal) == Some(text)
}

/// Options with a number each.
fn counted(arguments: &[Word], options: &[&str]) -> Option<usize> {
    let mut at = 0;
    while let Some(option) = arguments.get(at).and_then(Word::literal) {
        if !options.contains(&option) {
            break;
        }
        arguments.get(at + 1)?.literal()?.parse::<i32>().ok()?;
        at += 2;
    }
    (!is_option(arguments, at)).then_some(at)
}

/// `nice -5`.
fn numbered(arguments: &[Word]) -> Option<usize> {
    let number = arguments.first()?.literal()?.strip_prefix('-')?;
    number.parse::<u8>().ok()?;
    (!is_option(arguments, 1)).then_some(1)
}

/// Options with a short value in the same word: `-oL`.
fn joined(arguments: &[Word], options: &[&str]) -> Option<usize> {
    let is_joined = |word: &Word| {
        let value = |text: &str| {
            options
                .iter()
                .find_map(|it| text.strip_prefix(it).map(str::len))
        };
        word.literal()
            .and_then(value)
            .is_some_and(|length| length > 0)
    };
    let at = arguments.iter().take_while(|word| is_joined(word)).count();
    (!is_option(arguments, at)).then_some(at)
}

fn timeout(arguments: &[Word]) -> Option<usize> {
    let mut at = 0;
    while let Some(option) = arguments.get(at).and_then(Word::literal) {
        match option {
            "-k" | "-s" => {
                let value = arguments.get(at + 1)?.literal()?;
                if value.starts_with('-') {
                    return None;
                }
                at += 2;
            }
            "--foreground" | "--preserve-status" | "-v" => at += 1,
            _ => break,
        }
    }
    let duration = arguments.get(at)?.literal()?;
    let is_duration = duration.starts_with(|c: char| c.is_ascii_digit());
    (is_duration && !is_option(arguments, at + 1)).then_some(at + 1)
}

/// Whether `find` would run, write or remove something.
fn finds(arguments: &[Word]) -> bool {
    arguments.iter().any(|word| match word.literal() {
        Some(text) => {
            let acts = [
                "-exec", "-ok", "-delete", "-fprint", "-fls", "-x", "-X", "--exec",
            ];
            acts.iter().any(|act| match *act {
                "-x" | "-X" => text == *act,
                act => text.starts_with(act),
            })
        }
        None => word.may_be_option(),
    })
}
