//! Commands of git that only look. A repository's own configuration can make each of them run programs
//! (`core.fsmonitor`, `diff.external`, `core.pager`, filters), so none is harmless in a folder that nobody
//! trusts.

use std::path::Path;

use crate::shell::Word;

use super::{Known, Operand, Purity};

/// A command of git, the options it may have (one that ends in `=` has a value in the same word, one that
/// ends in `…` is the begin of an option), and what its operands must be.
struct Command {
    name: &'static str,
    options: &'static [&'static str],
    operands: Operands,
}

#[derive(Clone, Copy)]
enum Operands {
    Any,
    None,
}

const DIFF: &[&str] = &[
    "-p",
    "-u",
    "--patch",
    "--no-patch",
    "-s",
    "--stat",
    "--stat=",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--cached",
    "--staged",
    "-w",
    "-b",
    "--word-diff",
    "--word-diff=",
    "--color",
    "--color=",
    "--no-color",
    "--no-renames",
    "-M",
    "-C",
    "--raw",
    "--summary",
    "--check",
    "-U…",
    "--unified=",
    "--diff-filter=",
    "--exit-code",
    "--quiet",
    "--no-ext-diff",
    "--no-textconv",
    "-R",
    "--relative",
    "--minimal",
    "--oneline",
    "--graph",
    "--all",
    "--decorate",
    "--decorate=",
    "-n…",
    "--max-count=",
    "--since=",
    "--until=",
    "--after=",
    "--before=",
    "--author=",
    "--grep=",
    "--format=",
    "--pretty=",
    "--pretty",
    "--date=",
    "--abbrev-commit",
    "--no-merges",
    "--merges",
    "--reverse",
    "--first-parent",
    "--follow",
    "-i",
    "-S…",
    "-G…",
    "-L…",
    "-0…",
    "-1…",
    "-2…",
    "-3…",
    "-4…",
    "-5…",
    "-6…",
    "-7…",
    "-8…",
    "-9…",
    "--topo-order",
    "--no-decorate",
    "--left-right",
    "--merge-base",
    "--tags",
    "--branches",
    "--remotes",
    "-z",
    "--full-index",
    "--abbrev",
    "--abbrev=",
    "-q",
    "-c",
    "--cc",
    "-m",
    "--skip=",
    "--ignore-all-space",
];

const COMMANDS: &[Command] = &[
    Command {
        name: "status",
        options: &[
            "-s",
            "--short",
            "-b",
            "--branch",
            "--porcelain",
            "--porcelain=",
            "-u…",
            "--untracked-files=",
            "--ignored",
            "-z",
            "-v",
            "--long",
            "-sb",
        ],
        operands: Operands::Any,
    },
    Command {
        name: "log",
        options: DIFF,
        operands: Operands::Any,
    },
    Command {
        name: "diff",
        options: DIFF,
        operands: Operands::Any,
    },
    Command {
        name: "show",
        options: DIFF,
        operands: Operands::Any,
    },
    Command {
        name: "branch",
        options: &[
            "-a",
            "-r",
            "-v",
            "-vv",
            "--all",
            "--remotes",
            "--list",
            "--show-current",
            "-l",
            "--no-color",
            "--merged",
            "--no-merged",
            "--contains",
        ],
        operands: Operands::None,
    },
    Command {
        name: "tag",
        options: &["-l", "--list", "-n…", "--sort="],
        operands: Operands::None,
    },
    Command {
        name: "remote",
        options: &["-v", "--verbose"],
        operands: Operands::None,
    },
    Command {
        name: "rev-parse",
        options: &[
            "--abbrev-ref",
            "--show-toplevel",
            "--short",
            "--short=",
            "--verify",
            "-q",
            "--quiet",
            "--git-dir",
            "--is-inside-work-tree",
            "--show-prefix",
            "--show-cdup",
            "--absolute-git-dir",
            "--git-common-dir",
        ],
        operands: Operands::Any,
    },
    Command {
        name: "ls-files",
        options: &[
            "-c",
            "-d",
            "-m",
            "-o",
            "-s",
            "-u",
            "-z",
            "--cached",
            "--deleted",
            "--modified",
            "--others",
            "--exclude-standard",
            "--stage",
            "--error-unmatch",
            "--ignored",
            "-i",
            "-t",
        ],
        operands: Operands::Any,
    },
    Command {
        name: "ls-tree",
        options: &[
            "-r",
            "-d",
            "-t",
            "-l",
            "-z",
            "--name-only",
            "--name-status",
            "--full-tree",
            "--long",
        ],
        operands: Operands::Any,
    },
    Command {
        name: "blame",
        options: &[
            "-w",
            "-L…",
            "-s",
            "-l",
            "-t",
            "-e",
            "-M",
            "-C",
            "--date=",
            "--porcelain",
            "--line-porcelain",
        ],
        operands: Operands::Any,
    },
    Command {
        name: "describe",
        options: &[
            "--tags",
            "--all",
            "--always",
            "--long",
            "--abbrev=",
            "--dirty",
            "--exact-match",
            "--match=",
        ],
        operands: Operands::Any,
    },
    Command {
        name: "shortlog",
        options: &[
            "-s",
            "-n",
            "-e",
            "-sn",
            "-sne",
            "--summary",
            "--numbered",
            "--email",
            "--no-merges",
            "--since=",
        ],
        operands: Operands::Any,
    },
    Command {
        name: "merge-base",
        options: &["--is-ancestor", "-a", "--all", "--fork-point"],
        operands: Operands::Any,
    },
    Command {
        name: "rev-list",
        options: &[
            "--count",
            "--all",
            "--max-count=",
            "-n…",
            "--since=",
            "--until=",
            "--left-right",
            "--no-merges",
            "--first-parent",
            "--max-parents=",
        ],
        operands: Operands::Any,
    },
    Command {
        name: "stash",
        options: &[],
        operands: Operands::None,
    },
];

pub(super) fn known(arguments: &[Word]) -> Option<Known<'_>> {
    let mut words = arguments.iter();
    let command = loop {
        let text = words.next()?.literal()?;
        match text {
            "--version" => return Some(Known::nothing()),
            "--no-pager" | "-P" | "--no-optional-locks" => {}
            text => break text,
        }
    };
    let command = COMMANDS.iter().find(|it| it.name == command)?;
    if command.name == "stash" {
        let rest: Vec<_> = words.map(Word::literal).collect();
        return matches!(rest.as_slice(), [Some("list")]).then(here);
    }
    let mut are_operands = false;
    let mut operands = 0;
    let mut reads = vec![Operand::Here];
    // A list of branches with operands makes one, unless it is told to list.
    let mut lists = false;
    let mut purity = Purity::ReadOnlyIfTrusted;
    for word in words {
        let Some(text) = word.literal() else {
            if word.may_be_option() && !are_operands {
                return None;
            }
            let Word::Glob { pattern, .. } = word else {
                return None;
            };
            reads.push(Operand::Glob(pattern));
            operands += 1;
            continue;
        };
        if are_operands || !text.starts_with('-') {
            // Outside of the repository git compares any two files.
            if Path::new(text).is_absolute() || text.contains("..") && text.contains('/') {
                purity = Purity::Unknown;
            }
            // A file, or a revision and a file, or a revision that is taken for one.
            let file = text.rsplit(':').next().unwrap_or(text);
            reads.push(Operand::Path(Path::new(file)));
            operands += 1;
        } else if text == "--" {
            are_operands = true;
        } else if command.name == "diff" && text == "--no-index" {
            purity = Purity::Unknown;
        } else if !command.has(text) {
            return None;
        } else {
            // `-L1,5:file`.
            if let Some((_, file)) = text.rsplit_once(':').filter(|_| text.starts_with("-L")) {
                reads.push(Operand::Path(Path::new(file)));
            }
            lists |= matches!(text, "-l" | "--list");
        }
    }
    match command.operands {
        Operands::None if operands > 0 && !lists => None,
        Operands::None | Operands::Any => Some(Known { purity, reads }),
    }
}

fn here<'a>() -> Known<'a> {
    Known {
        purity: Purity::ReadOnlyIfTrusted,
        reads: vec![Operand::Here],
    }
}

impl Command {
    fn has(&self, text: &str) -> bool {
        self.options.iter().any(|option| {
            if let Some(start) = option.strip_suffix('…') {
                return text.starts_with(start);
            }
            match option.strip_suffix('=') {
                Some(name) => text.split_once('=').is_some_and(|(it, _)| it == name),
                None => *option == text,
            }
        })
    }
}
