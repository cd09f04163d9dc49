//! Names for kinds of findings.

use std::fmt;

/// A stable name of a kind of finding: `YAML`, `DUP-KEY`. With the letter of a
/// [`Severity`](crate::Severity) in front it is what people search for: `E-YAML`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(&'static str);

impl Code {
    /// The code of that name: capital letters, digits and hyphens.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name, without a letter for the severity.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The codes of what this crate finds, one a kind. Who reads fields adds their own.
pub mod codes {
    use super::Code;

    /// The text does not begin with a line `---`.
    pub const NO_FRONTMATTER: Code = Code::new("NO-FRONTMATTER");
    /// No line `---` closes the frontmatter.
    pub const UNCLOSED: Code = Code::new("UNCLOSED");
    /// There is nothing between the fences.
    pub const EMPTY_FRONTMATTER: Code = Code::new("EMPTY-FRONTMATTER");
    /// The text begins with a byte order mark.
    pub const BOM: Code = Code::new("BOM");
    /// A fence has blanks behind its dashes.
    pub const DELIM_SPACE: Code = Code::new("DELIM-SPACE");
    /// Blank lines stand before the opening fence.
    pub const LEADING_BLANK: Code = Code::new("LEADING-BLANK");
    /// The frontmatter is not YAML.
    pub const YAML: Code = Code::new("YAML");
    /// The frontmatter is YAML, but no mapping.
    pub const NOT_MAPPING: Code = Code::new("NOT-MAPPING");
    /// A key is there twice in one mapping.
    pub const DUP_KEY: Code = Code::new("DUP-KEY");
    /// A bound of [`Limits`](crate::Limits) was reached.
    pub const BUDGET: Code = Code::new("BUDGET");
    /// There is a NUL in the text.
    pub const NUL: Code = Code::new("NUL");
    /// There is another control character in the frontmatter.
    pub const CONTROL: Code = Code::new("CONTROL");
    /// The bytes are not UTF-8.
    pub const UTF8: Code = Code::new("UTF8");
    /// A value repeats another one; an error where it stands in the value that it names.
    pub const ALIAS: Code = Code::new("ALIAS");
    /// Quotes were put around a value to read it.
    pub const REPAIRED: Code = Code::new("REPAIRED");
    /// A value was taken as the text that it is, without YAML.
    pub const FIELD_RAW: Code = Code::new("FIELD-RAW");
    /// A field could not be read, and was left out.
    pub const FIELD_DROPPED: Code = Code::new("FIELD-DROPPED");
    /// A key is a list or a mapping.
    pub const KEY_TYPE: Code = Code::new("KEY-TYPE");
    /// A field that is needed is not there, or has no value.
    pub const MISSING: Code = Code::new("MISSING");
    /// The value of a field is not what the reader of the field takes.
    pub const FIELD_TYPE: Code = Code::new("FIELD-TYPE");
}
