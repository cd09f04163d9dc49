//! One rule: what it is about, and its verdict.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::atom::Atom;
use crate::error::Error;
use crate::host_pattern::HostPattern;
use crate::known::Purity;
use crate::path_glob::PathGlob;
use crate::run_pattern::RunPattern;
use crate::surroundings::Surroundings;

/// What becomes of a call. The worse one is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may.
    Allow,
    /// Somebody has to be asked.
    Ask,
    /// It may not.
    Deny,
}

impl Verdict {
    /// `allow`, `ask`, `deny`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a rule is about: `read`, `write(src/**)`, `run(cargo test *)`, `net(*.example.com)`, `tool(NAME)`,
/// `opaque`.
///
/// | written | means |
/// |---|---|
/// | `read`, `write`, `run`, `net`, `tool` | all of that kind, anywhere |
/// | `read(GLOB)`, `write(GLOB)` | real paths; relative to the workspace, or `~/…`, or absolute; `*` and `?` match no `/`, `**` any folders |
/// | `run(WORDS)` | one command, word by word; `*` in a word is any text of it, a last `*` any further words or none |
/// | `net(HOST)` | a host, `*.DOMAIN` for all below it, with `:PORT` or for every port |
/// | `tool(NAME)` | a tool that does not say what it does; `*` in the name is any text |
/// | `opaque` | whatever of a command line cannot be vouched for |
///
/// Quotes (`'a b'`, `"a b"`) and `\` keep a blank or a `*` of a word of `run` as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Read(Option<PathGlob>),
    Write(Option<PathGlob>),
    Run(Option<RunPattern>),
    Net(Option<HostPattern>),
    Tool(Option<RunPattern>),
    Opaque,
    Conversation,
    /// A command that is known to only read. Of the built-in layer alone.
    ReadOnlyRun,
    /// One that does so in a repository whose configuration can be trusted.
    ReadOnlyIfTrustedRun,
}

/// The kinds that a rule can name.
const KINDS: &[&str] = &["read", "write", "run", "net", "tool", "opaque"];

impl FromStr for Subject {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let lead = text.len() - text.trim_start().len();
        let trimmed = text.trim();
        let (name, inner) = if let Some((name, rest)) = trimmed.split_once('(') {
            let Some(inner) = rest.strip_suffix(')') else {
                let end = lead + trimmed.len();
                let what = format!("`{name}(` is not closed by `)`");
                return Err(Error::new(text, end, what));
            };
            (name, Some(inner))
        } else {
            (trimmed, None)
        };
        if !KINDS.contains(&name) {
            return Err(Error::new(text, lead, unknown(name)));
        }
        if name == "opaque" && inner.is_some() {
            let what = "`opaque` stands alone: what cannot be read cannot be matched";
            return Err(Error::new(text, lead + name.len(), what));
        }
        let at = lead + name.len() + 1;
        let place = |(byte, what): (usize, String)| Error::new(text, at + byte, what);
        let path = || inner.map(PathGlob::parse).transpose().map_err(place);
        Ok(Self(match name {
            "read" => Kind::Read(path()?),
            "write" => Kind::Write(path()?),
            "run" => Kind::Run(inner.map(RunPattern::parse).transpose().map_err(place)?),
            "net" => Kind::Net(inner.map(HostPattern::parse).transpose().map_err(place)?),
            "tool" => Kind::Tool(inner.map(RunPattern::parse).transpose().map_err(place)?),
            _ => Kind::Opaque,
        }))
    }
}

/// What other agents, and tools, are called in rules, and the kind that is about what they do.
const OTHERS: [(&str, &str); 8] = [
    ("bash", "run"),
    ("edit", "write"),
    ("find", "read"),
    ("glob", "read"),
    ("grep", "read"),
    ("ls", "read"),
    ("multiedit", "write"),
    ("webfetch", "net"),
];

/// What to say of a kind that there is not.
fn unknown(name: &str) -> String {
    let lower = name.to_lowercase();
    if let Some((_, kind)) = OTHERS.iter().find(|(other, _)| *other == lower) {
        return format!(
            "`{name}` is no kind of rule: rules are about what a call does, here `{kind}(…)`, as in `run(git push *)`"
        );
    }
    let near = |kind: &&&str| strsim::damerau_levenshtein(kind, &name.to_lowercase());
    let nearest = KINDS.iter().min_by_key(near).filter(|kind| near(kind) <= 2);
    let kinds = KINDS.join(", ");
    match nearest {
        Some(kind) => format!("`{name}` is no kind of rule; did you mean `{kind}`?"),
        None => format!("`{name}` is no kind of rule; there are {kinds}"),
    }
}

impl fmt::Display for Subject {
    /// As a rule is written: what is parsed again is the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, inner) = match &self.0 {
            Kind::Read(glob) => ("read", glob.as_ref().map(PathGlob::text)),
            Kind::Write(glob) => ("write", glob.as_ref().map(PathGlob::text)),
            Kind::Run(pattern) => ("run", pattern.as_ref().map(RunPattern::text)),
            Kind::Net(pattern) => ("net", pattern.as_ref().map(HostPattern::text)),
            Kind::Tool(pattern) => ("tool", pattern.as_ref().map(RunPattern::text)),
            Kind::Opaque => ("opaque", None),
            Kind::Conversation => ("conversation", None),
            Kind::ReadOnlyRun => ("commands that only read", None),
            Kind::ReadOnlyIfTrustedRun => ("commands that only read in a trusted project", None),
        };
        match inner {
            Some(inner) => write!(f, "{name}({inner})"),
            None => f.write_str(name),
        }
    }
}

impl Subject {
    /// Whether it is about commands that run in some folder, of which it says nothing.
    pub(crate) fn is_of_commands(&self) -> bool {
        matches!(
            self.0,
            Kind::Run(_) | Kind::ReadOnlyRun | Kind::ReadOnlyIfTrustedRun
        )
    }

    pub(crate) fn conversation() -> Self {
        Self(Kind::Conversation)
    }

    pub(crate) fn read_only_run() -> Self {
        Self(Kind::ReadOnlyRun)
    }

    pub(crate) fn read_only_if_trusted_run() -> Self {
        Self(Kind::ReadOnlyIfTrustedRun)
    }

    /// What it likely means, and how that is written, where it is written as other programs write it. In one
    /// sentence without its full stop.
    pub fn doubt(&self) -> Option<String> {
        let Kind::Run(Some(pattern)) = &self.0 else {
            return None;
        };
        let begin = pattern.text().trim_end().strip_suffix(":*")?;
        let is_quoted = begin.ends_with('\\');
        let word = begin.rsplit([' ', '\t']).next().unwrap_or_default();
        (!is_quoted).then(|| {
            format!(
                "`{self}` is about one word that begins with `{word}:`; any further words are `run({begin} *)`"
            )
        })
    }

    /// For `tool(NAME)`: whether it names this tool; `None` for anything else.
    pub fn names_tool(&self, tool: &str) -> Option<bool> {
        match &self.0 {
            Kind::Tool(Some(pattern)) => Some(pattern.matches_text(tool)),
            _ => None,
        }
    }

    /// Whether it is about `atom`. To allow, it must be certain; to ask or deny, possible.
    pub(crate) fn is_about(&self, atom: &Atom, verdict: Verdict, around: &Surroundings) -> bool {
        let must_be_certain = verdict == Verdict::Allow;
        match (&self.0, atom) {
            (Kind::Read(glob), Atom::Read(path)) | (Kind::Write(glob), Atom::Write(path)) => {
                let is_about = |glob: &PathGlob| {
                    if must_be_certain {
                        glob.matches(path, around)
                    } else {
                        glob.may_match(path, around)
                    }
                };
                glob.as_ref().is_none_or(is_about)
            }
            (
                Kind::Read(glob),
                Atom::ReadMatching {
                    folder,
                    names,
                    found,
                },
            ) => {
                let is_about = |glob: &PathGlob| {
                    if must_be_certain {
                        glob.covers(folder, names, around)
                    } else {
                        glob.is_likely(folder, names, around)
                            || found.iter().any(|path| glob.may_match(path, around))
                    }
                };
                glob.as_ref().is_none_or(is_about)
            }
            // What a command does with a path is not known, but that it is about it.
            (Kind::Read(Some(glob)) | Kind::Write(Some(glob)), Atom::Run { names, globs, .. }) => {
                let could_match =
                    |(folder, names): &(PathBuf, String)| glob.could_match(folder, names, around);
                !must_be_certain
                    && (names.iter().any(|path| glob.may_match(path, around))
                        || globs.iter().any(could_match))
            }
            (Kind::Run(pattern), Atom::Run { command, .. }) => {
                let is_about = |pattern: &RunPattern| {
                    if must_be_certain {
                        pattern.matches(command)
                    } else {
                        pattern.could_match(command)
                    }
                };
                pattern.as_ref().is_none_or(is_about)
            }
            (Kind::Net(pattern), Atom::Net(host)) => pattern
                .as_ref()
                .is_none_or(|it| it.matches(host, must_be_certain)),
            (Kind::Tool(pattern), Atom::Tool(name)) => {
                pattern.as_ref().is_none_or(|it| it.matches_text(name))
            }
            (Kind::Opaque, Atom::Opaque(_)) | (Kind::Conversation, Atom::Conversation) => true,
            (Kind::ReadOnlyRun, Atom::Run { purity, .. }) => *purity == Purity::ReadOnly,
            (Kind::ReadOnlyIfTrustedRun, Atom::Run { purity, .. }) => {
                *purity == Purity::ReadOnlyIfTrusted
            }
            _ => false,
        }
    }
}

/// A subject and the verdict on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it says.
    pub verdict: Verdict,
    /// What about.
    pub subject: Subject,
}

impl Rule {
    /// A rule from its text: `run(cargo test *)`.
    pub fn parse(verdict: Verdict, subject: &str) -> Result<Self, Error> {
        Ok(Self {
            verdict,
            subject: subject.parse()?,
        })
    }
}

impl fmt::Display for Rule {
    /// `allow run(cargo test *)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verdict, self.subject)
    }
}
