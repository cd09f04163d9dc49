//! What the name of a program says about its words.

use super::interpreter;
use super::opaque::OpaqueKind;
use super::word::Word;
use super::wrapper;

/// What is known about a command from its words alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It is a command like any other: it does what its program does.
    Plain,
    /// All that it does is to run the command that begins at this word.
    RunsAt(usize),
    /// Its words do not say what it does.
    Opaque(OpaqueKind),
}

/// Commands of the shell after which a word no longer means what it says, or which run text.
const OF_THE_SHELL: &[(&str, OpaqueKind)] = &[
    (".", OpaqueKind::Source),
    ("alias", OpaqueKind::Alias),
    ("bg", OpaqueKind::ShellState),
    ("bind", OpaqueKind::ShellState),
    ("builtin", OpaqueKind::Wrapper),
    ("caller", OpaqueKind::ShellState),
    ("compgen", OpaqueKind::ShellState),
    ("complete", OpaqueKind::ShellState),
    ("compopt", OpaqueKind::ShellState),
    ("coproc", OpaqueKind::Wrapper),
    ("declare", OpaqueKind::Assignment),
    ("dirs", OpaqueKind::ShellState),
    ("disown", OpaqueKind::ShellState),
    ("enable", OpaqueKind::ShellState),
    ("eval", OpaqueKind::Eval),
    ("exec", OpaqueKind::Exec),
    ("export", OpaqueKind::Assignment),
    ("fc", OpaqueKind::Eval),
    ("fg", OpaqueKind::ShellState),
    ("function", OpaqueKind::Function),
    ("getopts", OpaqueKind::Assignment),
    ("hash", OpaqueKind::ShellState),
    ("history", OpaqueKind::ShellState),
    ("let", OpaqueKind::Arithmetic),
    ("local", OpaqueKind::Assignment),
    ("logout", OpaqueKind::ShellState),
    ("mapfile", OpaqueKind::Assignment),
    ("popd", OpaqueKind::ShellState),
    ("pushd", OpaqueKind::ShellState),
    ("read", OpaqueKind::Assignment),
    ("readarray", OpaqueKind::Assignment),
    ("readonly", OpaqueKind::Assignment),
    ("select", OpaqueKind::NotUnderstood),
    ("set", OpaqueKind::ShellState),
    ("shift", OpaqueKind::ShellState),
    ("shopt", OpaqueKind::ShellState),
    ("source", OpaqueKind::Source),
    ("suspend", OpaqueKind::ShellState),
    ("trap", OpaqueKind::Eval),
    ("typeset", OpaqueKind::Assignment),
    ("ulimit", OpaqueKind::ShellState),
    ("umask", OpaqueKind::ShellState),
    ("unalias", OpaqueKind::Alias),
    ("unset", OpaqueKind::Assignment),
];

pub(super) fn judge(words: &[Word]) -> Judgement {
    let Some((program, arguments)) = words.split_first() else {
        return Judgement::Plain;
    };
    let program = match program {
        Word::Literal(program) => program.as_str(),
        Word::Glob { .. } => return Judgement::Opaque(OpaqueKind::Glob),
        Word::Unknown(text) if text.contains("$?") => {
            return Judgement::Opaque(OpaqueKind::Expansion);
        }
        // Its own reason stands already.
        Word::Unknown(_) => return Judgement::Plain,
    };
    // Bash would look for a program of that name; nobody means one.
    if program.is_empty() || program.starts_with('-') || program.starts_with('~') {
        return Judgement::Opaque(OpaqueKind::NotUnderstood);
    }
    if let Some((_, kind)) = OF_THE_SHELL.iter().find(|(name, _)| *name == program) {
        return Judgement::Opaque(*kind);
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    // A command whose options decide is judged by its name wherever it is.
    wrapper::judge(name, arguments)
        .or_else(|| interpreter::judge(name, arguments))
        .or_else(|| option(name, arguments))
        .unwrap_or(Judgement::Plain)
}

/// Commands whose options run other programs, or take them to another place.
fn option(name: &str, arguments: &[Word]) -> Option<Judgement> {
    let has = |is_bad: &dyn Fn(&str) -> bool| {
        arguments.iter().any(|word| match word {
            Word::Literal(text) => is_bad(text),
            Word::Glob { .. } | Word::Unknown(_) => false,
        })
    };
    let starts = |text: &str, bad: &[&str]| bad.iter().any(|bad| text.starts_with(bad));
    let is_opaque = match name {
        "git" => is_git_elsewhere(arguments),
        "printf" => assigns(arguments),
        "test" | "[" => has(&|text| text.contains('[') && text != "["),
        "wait" => has(&|text| is_short(text, 'p')),
        "sort" => has(&|text| abbreviates(text, "--compress-program", 4)),
        "rg" => has(&|text| {
            starts(text, &["--pre=", "--hostname-bin"]) || text == "--pre" || is_short(text, 'z')
        }),
        "ssh" | "scp" | "sftp" | "autossh" => has(&|text| {
            starts(text, &["-o", "-F", "-S"]) || text.to_ascii_lowercase().contains("command")
        }),
        "rsync" => {
            has(&|text| is_short(text, 'e') || starts(text, &["--rsh", "--rs", "--rsync-path"]))
        }
        "tar" | "gtar" | "bsdtar" => is_tar_with_programs(arguments),
        "zip" => has(&|text| is_short(text, 'T') || text.starts_with("--unzip-command")),
        _ => false,
    };
    is_opaque.then_some(Judgement::Opaque(OpaqueKind::Option))
}

/// Whether `text` is a group of short options with `option` in it.
fn is_short(text: &str, option: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(option)
}

/// Whether `text` is a long option, or as much of its name as tells it from others: `least` bytes. Most
/// programs take any such abbreviation.
fn abbreviates(text: &str, option: &str, least: usize) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    name.len() >= least && option.starts_with(name)
}

/// Whether `printf` sets a variable: by `-v`, or by `%n` in its format, which is for bash what it is for C.
fn assigns(arguments: &[Word]) -> bool {
    let is_end = arguments.first().and_then(Word::literal) == Some("--");
    let Some(format) = arguments.get(usize::from(is_end)) else {
        return false;
    };
    let Some(format) = format.literal() else {
        return true;
    };
    let format = format.replace("%%", "");
    let is_conversion = |rest: &str| {
        let modifiers = "#'-+ 0123456789.*hjlLqtz";
        rest.trim_start_matches(|c| modifiers.contains(c))
            .starts_with('n')
    };
    (!is_end && format.starts_with("-v")) || format.split('%').skip(1).any(is_conversion)
}

/// Options of `tar` that run a program, each with the shortest name that it goes by.
const TAR_RUNS: &[(&str, usize)] = &[
    ("--to-command", 6),
    ("--checkpoint-action", 13),
    ("--use-compress-program", 4),
    ("--rsh-command", 4),
    ("--rmt-command", 4),
    ("--info-script", 5),
    ("--new-volume-script", 5),
];

/// Whether these words of `tar` name a program to run. The first word can be a group of options without a
/// `-`.
fn is_tar_with_programs(arguments: &[Word]) -> bool {
    arguments.iter().enumerate().any(|(at, word)| {
        let Some(text) = word.literal() else {
            return false;
        };
        let is_group = at == 0 && !text.starts_with('-');
        text.starts_with("--index-f")
            || is_short(text, 'I')
            || is_short(text, 'F')
            || is_group && text.contains(['I', 'F'])
            || TAR_RUNS
                .iter()
                .any(|(option, least)| abbreviates(text, option, *least))
    })
}

/// Whether these words of git name another configuration, program or repository.
fn is_git_elsewhere(arguments: &[Word]) -> bool {
    let mut is_before_command = true;
    for word in arguments {
        let Some(text) = word.literal() else {
            // A word that is not known before the command can be an option.
            if is_before_command {
                return true;
            }
            continue;
        };
        if is_before_command {
            is_before_command = text.starts_with('-');
            let is_known = matches!(
                text,
                "--version"
                    | "-v"
                    | "--help"
                    | "-h"
                    | "--no-pager"
                    | "-P"
                    | "--no-optional-locks"
                    | "--bare"
                    | "--no-replace-objects"
                    | "--literal-pathspecs"
                    | "--glob-pathspecs"
            );
            if is_before_command && !is_known {
                return true;
            }
        }
        let runs = [
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--upload-p",
            "--receive-p",
            "--config",
        ];
        if runs.iter().any(|bad| text.starts_with(bad))
            || abbreviates(text, "--output", 4)
            || text.contains("ext::")
            || text.starts_with("fd::")
        {
            return true;
        }
    }
    // Commands that take a command.
    let command = arguments
        .iter()
        .find_map(|word| word.literal().filter(|it| !it.starts_with('-')));
    let takes_command = |text: &str| matches!(text, "-x" | "run" | "foreach");
    match command {
        Some("bisect" | "submodule" | "rebase") => arguments
            .iter()
            .any(|word| word.literal().is_none_or(takes_command)),
        Some("filter-branch" | "difftool" | "mergetool" | "for-each-repo") => true,
        Some("clone" | "ls-remote" | "fetch" | "pull" | "push") => arguments.iter().any(|word| {
            word.literal()
                .is_none_or(|it| is_short(it, 'c') || it.starts_with("-u"))
        }),
        Some("config") => arguments.iter().filter(|it| !it.may_be_option()).count() > 2,
        Some("grep") => arguments.iter().any(|word| {
            word.literal()
                .is_none_or(|it| is_short(it, 'O') || it.starts_with("--open"))
        }),
        _ => false,
    }
}
