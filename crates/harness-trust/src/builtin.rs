//! The rules that hold where nobody says anything.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

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
    /// And it is one: not the home, a folder around it, or all of the machine.
    TrustedProject,
    /// And commands cannot write outside of it.
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
    (When::TrustedProject, "write(**)"),
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
        (When::TrustedProject, Subject::read_only_if_trusted_run()),
    ];
    for (when, subject) in own {
        let verdict = Verdict::Allow;
        add(when, Some(Rule { verdict, subject }));
    }
    rules
});

static SECRETS: LazyLock<AskedGlobs> = LazyLock::new(|| AskedGlobs::new("read", SECRET_FILES));
static CODE: LazyLock<AskedGlobs> = LazyLock::new(|| AskedGlobs::new("write", WRITES_ASKED));

/// The rules that count in `surroundings`, as far as they can be about `atom`.
pub(crate) fn rules(
    surroundings: &Surroundings,
    atom: &Atom,
) -> impl Iterator<Item = &'static Rule> + use<> {
    let (is_trusted, is_sandboxed) = (surroundings.is_trusted, surroundings.is_sandboxed);
    let is_project = is_trusted && !surroundings.is_wide();
    let counts = move |when: When| match when {
        When::Always => true,
        When::Trusted => is_trusted,
        When::TrustedProject => is_project,
        When::TrustedAndSandboxed => is_project && is_sandboxed,
    };
    let allowing = RULES.iter().filter(move |(when, _)| counts(*when));
    let asking = match atom {
        Atom::Read(path) | Atom::Write(path) if is_template(path) => Vec::new(),
        Atom::Read(path) => SECRETS.about(path),
        Atom::ReadMatching { .. } => SECRETS.all(),
        Atom::Run { globs, .. } if !globs.is_empty() => {
            SECRETS.all().into_iter().chain(CODE.all()).collect()
        }
        Atom::Run { names, .. } => {
            let about = names
                .iter()
                .filter(|path| !is_template(path))
                .flat_map(|path| {
                    let inside = path.strip_prefix(&surroundings.root).ok();
                    let code = inside.map(|inside| CODE.about(inside)).unwrap_or_default();
                    SECRETS.about(path).into_iter().chain(code)
                });
            // Each once, though thousands of names may be meant by it.
            let mut seen = HashSet::new();
            about
                .filter(|rule| seen.insert(std::ptr::from_ref(*rule)))
                .collect()
        }
        Atom::Write(path) => match path.strip_prefix(&surroundings.root) {
            Ok(inside) => CODE.about(inside),
            // No rule allows it anyway, but for temporary files.
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    };
    allowing.map(|(_, rule)| rule).chain(asking)
}

/// Whether a file usually holds secrets. A real path.
pub(crate) fn is_secret(path: &Path) -> bool {
    !is_template(path) && SECRETS.set.is_match(path)
}

fn is_template(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| TEMPLATES.contains(&name))
}

/// Many globs that are looked at together: a rule is made of one only when it matches, since making one takes
/// as long as looking at hundreds.
struct AskedGlobs {
    set: GlobSet,
    /// For each glob of the set, its rule.
    of: Vec<usize>,
    rules: Vec<(String, OnceLock<Option<Rule>>)>,
}

impl AskedGlobs {
    fn new(kind: &str, globs: &[&str]) -> Self {
        let mut set = GlobSetBuilder::new();
        let mut of = Vec::new();
        for (number, glob) in globs.iter().enumerate() {
            // Of what is in a folder, the folder itself as well.
            for glob in [Some(*glob), glob.strip_suffix("/**")]
                .into_iter()
                .flatten()
            {
                // For the set, which knows names by their ends, and absolute paths by nothing.
                let glob = glob
                    .strip_prefix('/')
                    .filter(|it| it.starts_with("**/"))
                    .unwrap_or(glob);
                if let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build() {
                    set.add(glob);
                    of.push(number);
                }
            }
        }
        let rules = globs
            .iter()
            .map(|glob| (format!("{kind}({glob})"), OnceLock::new()));
        Self {
            set: set.build().unwrap_or_default(),
            of,
            rules: rules.collect(),
        }
    }

    fn rule(&self, number: usize) -> Option<&Rule> {
        let (text, rule) = self.rules.get(number)?;
        rule.get_or_init(|| Rule::parse(Verdict::Ask, text).ok())
            .as_ref()
    }

    /// The rules about a path.
    fn about(&self, path: &Path) -> Vec<&Rule> {
        let found = self.set.matches(path).into_iter();
        let numbers = found.filter_map(|glob| self.of.get(glob).copied());
        numbers.filter_map(|number| self.rule(number)).collect()
    }

    fn all(&self) -> Vec<&Rule> {
        (0..self.rules.len())
            .filter_map(|number| self.rule(number))
            .collect()
    }
}

/// How many rules there must be, for a test that none of them is written wrongly.
#[cfg(feature = "test-support")]
pub(crate) fn written_and_parsed() -> (usize, usize) {
    let written = ALLOWED.len() + 3 + SECRET_FILES.len() + WRITES_ASKED.len();
    let asking = SECRETS.all().len() + CODE.all().len();
    (written, RULES.len() + asking)
}
