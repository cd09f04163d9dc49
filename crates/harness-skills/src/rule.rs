//! What may be wrong with a skill, and how bad it is.
//!
//! One table has both answers: that of a strict reader, who holds a file against the letter of the
//! standard, and that of a lenient one, who loads what can be loaded without misleading anybody.

use harness_frontmatter::{Code, Severity, codes};

/// A kind of finding, with what a strict and a lenient reader make of it. `None`: it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// Its name, which stays.
    pub code: Code,
    /// How bad it is for `validate`.
    pub strict: Option<Severity>,
    /// How bad it is for `load`. With an error, the skill is not loaded.
    pub lenient: Option<Severity>,
    /// What it is about.
    pub about: &'static str,
}

impl Rule {
    const fn new(code: Code, strict: char, lenient: char, about: &'static str) -> Self {
        const fn severity(letter: char) -> Option<Severity> {
            match letter {
                'E' => Some(Severity::Error),
                'W' => Some(Severity::Warning),
                'I' => Some(Severity::Info),
                _ => None,
            }
        }
        Self {
            code,
            strict: severity(strict),
            lenient: severity(lenient),
            about,
        }
    }
}

/// Makes a constant of each rule, and the table of all.
macro_rules! rules {
    ($($(#[$attribute:meta])* $name:ident = ($code:expr, $strict:literal, $lenient:literal, $about:literal);)*) => {
        $(pub(crate) const $name: Rule = Rule::new($code, $strict, $lenient, $about);)*

        /// All rules, in the order in which they are documented.
        pub const RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    // The file.
    UTF8 = (codes::UTF8, 'E', 'E', "the file is not UTF-8");
    NUL = (codes::NUL, 'E', 'E', "there is a NUL in the file");
    FILE_SIZE = (Code::new("FILE-SIZE"), 'E', 'E', "the file is too large");
    UNREADABLE = (Code::new("UNREADABLE"), 'E', 'E', "the file cannot be read");
    NOT_REGULAR = (Code::new("NOT-REGULAR"), 'E', 'E', "it is a folder, a pipe, a device or the like");
    FILENAME_CASE = (Code::new("FILENAME-CASE"), 'W', 'W', "the file is not called SKILL.md to the letter");
    TWO_FILES = (Code::new("TWO-FILES"), 'W', 'W', "beside SKILL.md is another spelling of it, which is not read");
    // Delimiters.
    NO_FRONTMATTER = (codes::NO_FRONTMATTER, 'E', 'E', "the file does not begin with ---");
    LEADING_BLANK = (codes::LEADING_BLANK, '-', 'W', "blank lines stand before ---");
    BOM = (codes::BOM, 'E', 'W', "the file begins with a byte order mark");
    DELIM_SPACE = (codes::DELIM_SPACE, 'W', 'W', "blanks stand behind ---");
    UNCLOSED = (codes::UNCLOSED, 'E', 'E', "no line --- ends the frontmatter");
    EMPTY_FRONTMATTER = (codes::EMPTY_FRONTMATTER, 'E', 'E', "there are no fields between the two ---");
    // YAML.
    YAML = (codes::YAML, 'E', 'E', "the frontmatter is not YAML");
    NOT_MAPPING = (codes::NOT_MAPPING, 'E', 'E', "the frontmatter is not made of `key: value`");
    KEY_TYPE = (codes::KEY_TYPE, 'E', 'E', "a key is not text");
    DUP_KEY = (codes::DUP_KEY, 'E', 'W', "a key is there twice; the last counts, but for name and description");
    BUDGET = (codes::BUDGET, 'E', 'E', "the frontmatter is too large, too deep, or repeats too much");
    CONTROL = (codes::CONTROL, 'E', 'W', "control characters stand in the frontmatter; they are left out");
    ALIAS = (codes::ALIAS, 'W', 'I', "an alias repeats another value");
    MERGE_KEY = (Code::new("MERGE-KEY"), 'W', 'W', "`<<` is kept as data, not merged");
    REPAIRED = (codes::REPAIRED, '-', 'W', "a value is read as if it were in quotes");
    FIELD_RAW = (codes::FIELD_RAW, '-', 'W', "a value is no YAML and is taken as the text that stands there");
    FIELD_DROPPED = (codes::FIELD_DROPPED, '-', 'W', "a field is no YAML and is left out");
    // Names.
    NAME_MISSING = (Code::new("NAME-MISSING"), 'E', 'W', "there is no name; the folder's counts");
    NAME_TYPE = (Code::new("NAME-TYPE"), 'E', 'W', "the name is a list or a mapping; the folder's counts");
    NAME_LONG = (Code::new("NAME-LONG"), 'E', 'W', "the name has more than 64 characters; with more than 256 it is not loaded");
    NAME_CASE = (Code::new("NAME-CASE"), 'E', 'W', "the name is not in lower case");
    NAME_HYPHEN = (Code::new("NAME-HYPHEN"), 'E', 'W', "the name begins or ends with a hyphen, or has two in a row");
    NAME_CHARS = (Code::new("NAME-CHARS"), 'E', 'W', "the name has other characters than letters, digits and hyphens");
    NAME_SPACE = (Code::new("NAME-SPACE"), 'W', 'W', "white space stands around the name");
    NAME_DIR = (Code::new("NAME-DIR"), 'E', 'W', "the folder is called otherwise");
    // Other fields of the standard.
    DESC_MISSING = (Code::new("DESC-MISSING"), 'E', 'E', "there is no description");
    DESC_TYPE = (Code::new("DESC-TYPE"), 'E', 'E', "the description is not text");
    DESC_LONG = (Code::new("DESC-LONG"), 'E', 'W', "the description has more than 1,024 characters");
    DESC_COMMENT = (Code::new("DESC-COMMENT"), 'W', 'W', "` #` begins a comment, which ends the description");
    LICENSE_TYPE = (Code::new("LICENSE-TYPE"), 'E', 'W', "the license is not text; it is kept among the other fields");
    COMPAT_EMPTY = (Code::new("COMPAT-EMPTY"), 'E', 'W', "compatibility is there and says nothing");
    COMPAT_LONG = (Code::new("COMPAT-LONG"), 'E', 'W', "compatibility has more than 500 characters");
    COMPAT_TYPE = (Code::new("COMPAT-TYPE"), 'E', 'W', "compatibility is not text; it is kept among the other fields");
    META_TYPE = (Code::new("META-TYPE"), 'E', 'W', "metadata is not a mapping; it is left out");
    META_NESTED = (Code::new("META-NESTED"), 'W', 'W', "a value of metadata is not text");
    TOOLS_TYPE = (Code::new("TOOLS-TYPE"), 'E', 'W', "allowed-tools is a mapping; it is left out, which allows none");
    TOOLS_FORM = (Code::new("TOOLS-FORM"), 'W', '-', "allowed-tools is not one text with spaces between");
    TOOLS_EMPTY = (Code::new("TOOLS-EMPTY"), 'W', 'W', "allowed-tools names no tool");
    UNKNOWN_FIELD = (Code::new("UNKNOWN-FIELD"), 'E', '-', "the standard has no such field");
    KEY_SPELLING = (Code::new("KEY-SPELLING"), '-', 'W', "a field is spelled otherwise than usual, and read as if it were not");
    FIELD_TYPE = (Code::new("FIELD-TYPE"), '-', 'W', "a field beyond the standard has a value that makes no sense");
    // The body.
    EMPTY_BODY = (Code::new("EMPTY-BODY"), 'W', 'W', "there are no instructions");
    BODY_LONG = (Code::new("BODY-LONG"), 'W', 'W', "there are more than 500 lines or about 5,000 tokens of instructions");
    // Discovery.
    ROOT_NOT_DIR = (Code::new("ROOT-NOT-DIR"), '-', 'W', "what should be a folder of skills is none");
    ROOT_SKILL = (Code::new("ROOT-SKILL"), '-', 'W', "SKILL.md stands in the folder of skills itself");
    FLAT_FILE = (Code::new("FLAT-FILE"), '-', 'I', "a Markdown file in a folder of skills is no skill");
    SCAN_TRUNCATED = (Code::new("SCAN-TRUNCATED"), '-', 'W', "a bound of the search was reached");
    UNREADABLE_FOLDER = (Code::new("UNREADABLE-FOLDER"), '-', 'W', "a folder cannot be read");
    BROKEN_LINK = (Code::new("BROKEN-LINK"), '-', 'I', "a link leads nowhere");
    LINK_OUTSIDE = (Code::new("LINK-OUTSIDE"), '-', 'I', "a link leads out of the folder of skills");
    LINK_REFUSED = (Code::new("LINK-REFUSED"), '-', 'W', "a link leads out of a folder that is confined; it is not followed");
    SAME_FILE = (Code::new("SAME-FILE"), '-', 'I', "the same file is reached a second time");
    SOURCE = (Code::new("SOURCE"), '-', 'W', "a source of skills cannot be used");
    // Precedence.
    SHADOWED = (Code::new("SHADOWED"), '-', 'W', "a skill of higher precedence has the name");
    SHADOWED_TWIN = (Code::new("SHADOWED-TWIN"), '-', 'I', "the same, and both have the same content");
    NAMESPACE = (Code::new("NAMESPACE"), '-', 'W', "the name reads like that of another namespace, which keeps it");
    COMMAND = (Code::new("COMMAND"), '-', 'W', "another skill has its command");
    BROKEN_WINNER = (Code::new("BROKEN-WINNER"), '-', 'W', "a skill of higher precedence would have the name, but cannot be loaded");
    HELD = (Code::new("HELD"), '-', 'I', "it is held back until its source is trusted");
}
