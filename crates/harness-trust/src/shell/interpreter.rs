//! Programs that run code: from a file that the words name, they are commands like others; from the words
//! themselves or from their input, nobody knows.

use super::awk::awk_program;
use super::opaque::OpaqueKind;
use super::program::Judgement;
use super::word::Word;

/// An interpreter, the options that say nothing about code, and those after which a module's name or a
/// command of its own follows.
struct Interpreter {
    name: &'static str,
    harmless: &'static [&'static str],
    commands: &'static [&'static str],
}

const fn of(
    name: &'static str,
    harmless: &'static [&'static str],
    commands: &'static [&'static str],
) -> Interpreter {
    Interpreter {
        name,
        harmless,
        commands,
    }
}

const SHELL: &[&str] = &["--version", "--posix", "-n"];

/// Longer versions of a name (`python3.12`, `lua5.4`) are the same.
const INTERPRETERS: &[Interpreter] = &[
    of("bash", SHELL, &[]),
    of("sh", SHELL, &[]),
    of("dash", SHELL, &[]),
    of("zsh", SHELL, &[]),
    of("ksh", SHELL, &[]),
    of("mksh", SHELL, &[]),
    of("fish", SHELL, &[]),
    of("csh", SHELL, &[]),
    of("tcsh", SHELL, &[]),
    of("rbash", SHELL, &[]),
    of("nu", SHELL, &[]),
    of("pwsh", SHELL, &[]),
    of(
        "python",
        &[
            "-u",
            "-B",
            "-O",
            "-OO",
            "-s",
            "-E",
            "-I",
            "-V",
            "-VV",
            "--version",
        ],
        &["-m"],
    ),
    of("pypy", &["-u", "-B", "--version"], &["-m"]),
    of(
        "node",
        &["--version", "-v", "--enable-source-maps"],
        &["--test", "--check", "-c"],
    ),
    of("nodejs", &["--version", "-v"], &[]),
    of("bun", &["--version", "-v"], &[]),
    of("deno", &["--version", "-V"], &[]),
    of("perl", &["-v", "--version", "-w", "-T"], &[]),
    of("ruby", &["-v", "--version", "-w"], &[]),
    of("php", &["-v", "--version"], &["-l"]),
    of("lua", &["-v"], &[]),
    of("luajit", &["-v"], &[]),
    of("osascript", &[], &[]),
    of("tclsh", &[], &[]),
    of("wish", &[], &[]),
    of("Rscript", &["--version"], &[]),
    of("R", &["--version"], &[]),
    of("julia", &["--version", "-v"], &[]),
    of("elixir", &["--version", "-v"], &[]),
    of("erl", &[], &[]),
    of("ghci", &["--version"], &[]),
    of("groovy", &["--version", "-v"], &[]),
    of("scala", &["--version", "-version"], &[]),
    of("jshell", &["--version"], &[]),
    of("irb", &["--version"], &[]),
    of("ipython", &["--version"], &[]),
    of("guile", &["--version"], &[]),
    of("sbcl", &["--version"], &[]),
    of("emacs", &["--version"], &[]),
    of("gawk", &["--version"], &[]),
    of("awk", &["--version"], &[]),
    of("mawk", &["-W"], &[]),
    of("nawk", &[], &[]),
    of("bc", &["--version"], &[]),
    of("dc", &["--version"], &[]),
    of("ed", &["--version"], &[]),
    of("ex", &["--version"], &[]),
    of("m4", &["--version"], &[]),
    of("sqlite", &["--version", "-version"], &[]),
];

/// Those whose first operand is code, or whose code is their input whatever the operand.
const CODE_IN_WORDS: &[&str] = &[
    "awk", "gawk", "mawk", "nawk", "ed", "ex", "bc", "dc", "m4", "sqlite", "emacs", "irb",
    "jshell", "ghci", "erl",
];

/// Commands of an interpreter (`deno eval`) that take code, or run it from elsewhere.
const CODE_COMMANDS: &[(&str, &[&str])] = &[
    ("deno", &["eval", "repl", "run"]),
    ("bun", &["eval", "exec", "x", "repl"]),
];

pub(super) fn judge(name: &str, arguments: &[Word]) -> Option<Judgement> {
    if matches!(name, "awk" | "gawk" | "mawk") && awk_program(arguments).is_some() {
        return None;
    }
    if name == "sed" || name == "gsed" {
        return sed(arguments);
    }
    let interpreter = INTERPRETERS
        .iter()
        .find(|it| is_version_of(name, it.name))?;
    let opaque = |kind| Some(Judgement::Opaque(kind));
    let mut at = 0;
    loop {
        let Some(word) = arguments.get(at) else {
            let only_asks = at > 0 && arguments.iter().all(is_question);
            return if only_asks {
                None
            } else {
                opaque(OpaqueKind::Input)
            };
        };
        let Some(text) = word.literal() else {
            return opaque(OpaqueKind::Interpreter);
        };
        if interpreter.commands.contains(&text) {
            let has_operand = arguments
                .get(at + 1)
                .is_some_and(|word| !word.may_be_option());
            return if has_operand {
                None
            } else {
                opaque(OpaqueKind::Interpreter)
            };
        }
        if !text.starts_with('-') {
            break;
        }
        if text == "-" || text == "-s" && interpreter.harmless == SHELL {
            return opaque(OpaqueKind::Input);
        }
        if !interpreter.harmless.contains(&text) {
            return opaque(OpaqueKind::Interpreter);
        }
        at += 1;
    }
    let operand = arguments
        .get(at)
        .and_then(Word::literal)
        .unwrap_or_default();
    let is_input = matches!(operand, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
        || operand.starts_with("/dev/fd/")
        || operand.starts_with("/proc/");
    let takes_code = CODE_COMMANDS
        .iter()
        .any(|(program, commands)| *program == interpreter.name && commands.contains(&operand));
    if is_input {
        return opaque(OpaqueKind::Input);
    }
    if CODE_IN_WORDS.contains(&interpreter.name) || takes_code {
        return opaque(OpaqueKind::Interpreter);
    }
    None
}

/// Whether all that `word` asks for is a version.
fn is_question(word: &Word) -> bool {
    matches!(
        word.literal(),
        Some("--version" | "-version" | "-v" | "-V" | "-VV")
    )
}

/// Whether `name` is `base`, or `base` and a version.
fn is_version_of(name: &str, base: &str) -> bool {
    name.strip_prefix(base).is_some_and(|rest| {
        let is_version = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
        rest.is_empty()
            || (rest.chars().all(is_version) && rest.contains(|c: char| c.is_ascii_digit()))
    })
}

/// `sed` has commands that run and write; of its scripts only the simple ones are known.
fn sed(arguments: &[Word]) -> Option<Judgement> {
    let opaque = Some(Judgement::Opaque(OpaqueKind::Interpreter));
    let mut scripts = 0;
    let mut words = arguments.iter();
    let mut is_script_due = !arguments
        .iter()
        .any(|word| matches!(word.literal(), Some("-e" | "--expression")));
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else {
            if word.may_be_option() || is_script_due {
                return opaque;
            }
            continue;
        };
        match text {
            "-e" | "--expression" => {
                if !words
                    .next()
                    .and_then(Word::literal)
                    .is_some_and(is_simple_script)
                {
                    return opaque;
                }
                scripts += 1;
            }
            "-n" | "-E" | "-r" | "-i" | "-s" | "-u" | "-z" | "-nE" | "-En" | "-nr" | "-rn"
            | "--quiet" | "--silent" | "--regexp-extended" | "--in-place" | "-Ei" | "-ri"
            | "--version" | "--posix" => {}
            _ if text.starts_with('-') => return opaque,
            script if is_script_due => {
                if !is_simple_script(script) {
                    return opaque;
                }
                is_script_due = false;
                scripts += 1;
            }
            _ => {}
        }
    }
    let only_asks = arguments.first().is_some_and(is_question);
    if scripts > 0 || only_asks {
        None
    } else {
        opaque
    }
}

/// Whether a script of `sed` only prints, deletes or replaces: the commands `p d q =`, and `s` without the
/// flags that run (`e`) or write (`w`), each behind addresses that are numbers or patterns.
pub(crate) fn is_simple_script(script: &str) -> bool {
    if script.is_empty() || script.contains('\n') {
        return false;
    }
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', ';']);
        if rest.is_empty() {
            return true;
        }
        let Some(after) = after_sed_command(rest) else {
            return false;
        };
        rest = after.trim_start_matches(' ');
        if !(rest.is_empty() || rest.starts_with(';')) {
            return false;
        }
    }
}

/// What is behind one simple command of `sed`.
fn after_sed_command(script: &str) -> Option<&str> {
    let mut rest = after_address(script)?;
    if let Some(second) = rest.strip_prefix(',') {
        rest = after_address(second.strip_prefix(['+', '~']).unwrap_or(second))?;
        // There must have been one.
        (rest.len() < second.len()).then_some(())?;
    }
    rest = rest.trim_start_matches([' ', '!']);
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut chars = rest.chars();
    match chars.next()? {
        'p' | 'd' | '=' => Some(chars.as_str()),
        'q' => chars.as_str().get(digits(chars.as_str())..),
        's' => {
            let delimiter = chars.next().filter(char::is_ascii_punctuation)?;
            if matches!(delimiter, '\\' | '[' | ';') {
                return None;
            }
            let replacement = after_part(chars.as_str(), delimiter)?;
            let flags = after_part(replacement, delimiter)?;
            Some(flags.trim_start_matches(|c: char| {
                c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I')
            }))
        }
        _ => None,
    }
}

/// What is behind an address, if there is one: a number, `$`, or a pattern in `/`.
fn after_address(script: &str) -> Option<&str> {
    let script = script.trim_start_matches(' ');
    if let Some(pattern) = script.strip_prefix('/') {
        let rest = after_part(pattern, '/')?;
        return Some(
            rest.strip_prefix('I')
                .unwrap_or(rest)
                .trim_start_matches(' '),
        );
    }
    let rest = match script.strip_prefix('$') {
        Some(rest) => rest,
        None => script.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~'),
    };
    Some(rest.trim_start_matches(' '))
}

/// What is behind the next `delimiter` that is not escaped.
fn after_part(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '\\' => {
                chars.next()?;
            }
            // In brackets a delimiter can stand for itself or end the part: versions of sed differ.
            '[' if chars
                .as_str()
                .split(']')
                .next()
                .is_some_and(|it| it.contains(delimiter)) =>
            {
                return None;
            }
            c if c == delimiter => return Some(chars.as_str()),
            _ => {}
        }
    }
}
