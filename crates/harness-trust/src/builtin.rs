//! The rules that hold where nobody says anything.

use std::ffi::OsStr;
use std::sync::LazyLock;

use crate::atom::Atom;
use crate::rule::{Rule, Subject, Verdict};
use crate::secret_files::{SECRET_FILES, TEMPLATES};
use crate::surroundings::Surroundings;

/// When a built-in rule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// The user trusts the project.
    Trusted,
    /// And commands cannot write outside of the workspace.
    TrustedAndSandboxed,
}

/// What is allowed, and when. All else is asked about.
const ALLOWED: &[(When, &str)] = &[
    (When::Always, "read(**)"),
    (When::Always, "read(<temp>/**)"),
    (When::Always, "read(/usr/**)"),
    (When::Always, "read(~/.cargo/registry/**)"),
    (When::Always, "read(~/.rustup/toolchains/**)"),
    (When::Always, "read(~/go/pkg/mod/**)"),
    (When::Trusted, "write(**)"),
    (When::Trusted, "write(<temp>/**)"),
    (When::TrustedAndSandboxed, "run"),
];

/// Files of a project from which programs take code to run, or whom to trust: a change there acts later,
/// where nobody looks.
const WRITES_ASKED: &[&str] = &[
    "**/.git",
    "**/.git/**",
    "**/.gitmodules",
    "**/.gitattributes",
    "**/.gitconfig",
    "**/.hg/**",
    "**/.jj/**",
    "**/.harness/**",
    "**/.claude/**",
    "**/.agents/**",
    "**/.codex/**",
    "**/.cursor/**",
    "**/.gemini/**",
    "**/.mcp.json",
    "**/.vscode/**",
    "**/.idea/**",
    "**/.zed/**",
    "**/.nvim.lua",
    "**/.exrc",
    "**/.vimrc",
    "**/.envrc",
    "**/.env",
    "**/.env.*",
    "**/.husky/**",
    "**/.githooks/**",
    "**/.pre-commit-config.yaml",
    "**/lefthook.yml",
    "**/.github/workflows/**",
    "**/.github/actions/**",
    "**/.gitlab-ci.yml",
    "**/.circleci/**",
    "**/.devcontainer/**",
    "**/.devcontainer.json",
    "**/.cargo/config",
    "**/.cargo/config.toml",
    "**/rust-toolchain",
    "**/rust-toolchain.toml",
    "**/.npmrc",
    "**/.yarnrc",
    "**/.yarnrc.yml",
    "**/.pnpmfile.cjs",
    "**/pip.conf",
    "**/.pypirc",
    "**/.netrc",
    "**/.bashrc",
    "**/.bash_profile",
    "**/.profile",
    "**/.zshrc",
    "**/.zshenv",
    "**/.ssh/**",
    "**/.tool-versions",
    "**/mise.toml",
    "**/.mise.toml",
];

static RULES: LazyLock<Vec<(When, Rule)>> = LazyLock::new(|| {
    let parsed = |verdict, text: &str| Rule::parse(verdict, text).ok();
    let mut rules = Vec::new();
    let mut add = |when, rule: Option<Rule>| rules.extend(rule.map(|rule| (when, rule)));
    for (when, text) in ALLOWED {
        add(*when, parsed(Verdict::Allow, text));
    }
    let own = [
        (When::Always, Subject::conversation()),
        (When::Always, Subject::read_only_run()),
        (When::Trusted, Subject::read_only_if_trusted_run()),
    ];
    for (when, subject) in own {
        let verdict = Verdict::Allow;
        add(when, Some(Rule { verdict, subject }));
    }
    for glob in SECRET_FILES {
        add(When::Always, parsed(Verdict::Ask, &format!("read({glob})")));
    }
    for glob in WRITES_ASKED {
        add(
            When::Always,
            parsed(Verdict::Ask, &format!("write({glob})")),
        );
    }
    rules
});

/// The rules that count in `surroundings`, for `atom`.
pub(crate) fn rules(
    surroundings: &Surroundings,
    atom: &Atom,
) -> impl Iterator<Item = &'static Rule> + use<> {
    let is_template = match atom {
        Atom::Read(path) | Atom::Write(path) => {
            let name = path.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| TEMPLATES.contains(&name))
        }
        _ => false,
    };
    let (is_trusted, is_sandboxed) = (surroundings.is_trusted, surroundings.is_sandboxed);
    let counts = move |when: When| match when {
        When::Always => true,
        When::Trusted => is_trusted,
        When::TrustedAndSandboxed => is_trusted && is_sandboxed,
    };
    let counting = RULES.iter().filter(move |(when, _)| counts(*when));
    let applies = move |rule: &&'static Rule| !(is_template && rule.verdict == Verdict::Ask);
    counting.map(|(_, rule)| rule).filter(applies)
}

/// How many rules there must be, for a test that none of them is written wrongly.
#[cfg(feature = "test-support")]
pub(crate) fn written_and_parsed() -> (usize, usize) {
    let written = ALLOWED.len() + 3 + SECRET_FILES.len() + WRITES_ASKED.len();
    (written, RULES.len())
}
