//! What the files of a catalogue are.

use std::ffi::OsStr;
use std::path::Path;

use harness_frontmatter::{Diagnostic, FieldKinds, Severity};

use crate::examination::{FilePlace, SKILL_FILE};
use crate::finding::Finding;
use crate::rule;
use crate::skill::SkillFields;

/// What the files of a catalogue are.
///
/// Roots, layers, who wins, trust, bounds and refresh are the same for all forms. What differs is which files
/// count, which of their fields are read, and what is wrong with one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// Skills: folders with a `SKILL.md`.
    #[default]
    Skills,
    /// Declarations of agents: Markdown files, whose body is what the agent is told. `name` (or else the name of
    /// the file) and `description` are read; all other fields are [extra](SkillFields::extra), for the
    /// [check](crate::DiscoverOptions::check) of the caller.
    ///
    /// What could make an agent more than its author meant it to be is an error here: a field that is no YAML, a
    /// bound that is there twice, a `<<` that is not merged. So is a file without a body.
    Agents,
}

/// What a caller has to say of a file's fields, with the severity that it has for `load`: with an error, the file
/// is not loaded.
pub type FieldCheck = fn(&SkillFields) -> Vec<Diagnostic>;

/// What is known of the fields of skills, for a reader that puts broken YAML right.
const SKILL_KINDS: FieldKinds<'static> = FieldKinds {
    texts: &[
        "name",
        "description",
        "license",
        "compatibility",
        "argument-hint",
        "version",
        "author",
    ],
    structures: &[
        "metadata",
        "allowed-tools",
        "tags",
        "references",
        "examples",
    ],
    unique: &["name", "description"],
};

/// The same of agents. `tools: *` is no YAML, and has to be read as a text.
const AGENT_KINDS: FieldKinds<'static> = FieldKinds {
    texts: &["name", "description", "model", "color"],
    structures: &["hooks", "mcpServers", "metadata"],
    unique: &[
        "name",
        "description",
        "tools",
        "allowed-tools",
        "disallowedTools",
        "model",
        "thinking",
        "skills",
        "max_turns",
        "maxTurns",
        "max_tokens",
        "max_cost",
        "timeout",
        "isolation",
    ],
};

/// Files in a folder of skills or agents that nobody takes for one.
const USUAL_FILES: [&str; 7] = [
    "readme.md",
    "changelog.md",
    "license.md",
    "contributing.md",
    "agents.md",
    "claude.md",
    "skill.md",
];

/// Whether a Markdown file in a folder of skills or agents is for people, or of another kind.
pub(crate) fn is_usual_file(name: &OsStr) -> bool {
    USUAL_FILES
        .iter()
        .any(|usual| name.eq_ignore_ascii_case(usual))
}

/// Whether a name is that of a Markdown file.
pub(crate) fn is_markdown(name: &OsStr) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

impl Form {
    /// What the folders are called that it is looked for in: `skills`, `agents`.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Agents => "agents",
        }
    }

    /// Whether a file of that name may be one, when its path is given.
    pub(crate) fn can_be(self, name: &OsStr) -> bool {
        match self {
            Self::Skills => name.eq_ignore_ascii_case(SKILL_FILE),
            Self::Agents => is_markdown(name),
        }
    }

    /// What the place of a file says of it: `folder` is the name that its folder gives to a skill.
    pub(crate) fn place<'p>(self, file: &'p Path, folder: Option<&'p OsStr>) -> FilePlace<'p> {
        match self {
            Self::Skills => FilePlace {
                folder,
                file: file.file_name(),
            },
            Self::Agents => FilePlace {
                folder: file.file_stem(),
                file: None,
            },
        }
    }

    pub(crate) fn kinds(self) -> &'static FieldKinds<'static> {
        match self {
            Self::Skills => &SKILL_KINDS,
            Self::Agents => &AGENT_KINDS,
        }
    }

    /// What to write where nothing is.
    pub(crate) fn needs(self) -> &'static str {
        match self {
            Self::Skills => "a skill needs `name: …` and `description: …`",
            Self::Agents => "an agent needs `description: …`, and a text below the second `---`",
        }
    }

    /// What a finding is for it: what the standard of skills wants is nothing to agents.
    pub(crate) fn judge(self, mut finding: Finding) -> Option<Finding> {
        if self == Self::Skills {
            return Some(finding);
        }
        let is = |rule: &rule::Rule| finding.code == rule.code;
        if [
            rule::NAME_MISSING,
            rule::NAME_CASE,
            rule::NAME_HYPHEN,
            rule::NAME_CHARS,
            rule::NAME_DIR,
            rule::DESC_LONG,
            rule::BODY_LONG,
        ]
        .iter()
        .any(is)
            && finding.lenient != Some(Severity::Error)
        {
            return None;
        }
        if is(&rule::EMPTY_BODY) {
            let message = "there is no text below the frontmatter: it is what the agent is told";
            message.clone_into(&mut finding.message);
        }
        if [rule::EMPTY_BODY, rule::FIELD_DROPPED, rule::MERGE_KEY]
            .iter()
            .any(is)
        {
            finding.strict = Some(Severity::Error);
            finding.lenient = Some(Severity::Error);
        }
        Some(finding)
    }
}
