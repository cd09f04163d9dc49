//! The values of frontmatter.

use std::fmt;

use crate::mapping::Mapping;
use crate::position::Position;

/// A value, with its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Text, or what may be read as a number, a boolean or nothing.
    Scalar(Scalar),
    /// `- a` or `[a, b]`.
    List(List),
    /// `a: b` or `{a: b}`.
    Mapping(Mapping),
}

/// A single value, as the text that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scalar {
    /// The text: without quotes, with escapes and folded lines resolved, else as it was written.
    pub text: String,
    /// How it was written.
    pub style: Style,
    /// Where it begins.
    pub position: Position,
}

/// How a scalar was written. Only plain ones can be something else than text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// `a`
    Plain,
    /// `'a'`, or one that is tagged `!!str`.
    SingleQuoted,
    /// `"a"`
    DoubleQuoted,
    /// `|` and lines below.
    Literal,
    /// `>` and lines below.
    Folded,
}

/// Several values in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct List {
    /// The values.
    pub items: Vec<Node>,
    /// Where it begins.
    pub position: Position,
}

/// What YAML 1.2 takes a scalar for (its core schema, section 10.3.2).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resolved<'s> {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number without a fraction that fits.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// All else. `yes`, `no`, `on`, `off`, dates and versions are text.
    Text(&'s str),
}

impl Node {
    /// Where it begins.
    pub fn position(&self) -> Position {
        match self {
            Self::Scalar(scalar) => scalar.position,
            Self::List(list) => list.position,
            Self::Mapping(mapping) => mapping.position,
        }
    }

    /// Whether it is a plain `null`, `~` or nothing.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.is_null())
    }

    /// What it is, in words, for messages: `a list`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Scalar(scalar) if scalar.is_null() => "empty",
            Self::Scalar(_) => "text",
            Self::List(_) => "a list",
            Self::Mapping(_) => "a mapping",
        }
    }

    /// What it is, in words, with the value itself if it is short.
    pub(crate) fn described(&self) -> String {
        const SHORT: usize = 40;
        match self {
            Self::Scalar(scalar) if !scalar.is_null() && scalar.text.chars().count() <= SHORT => {
                format!("the text `{}`", scalar.text.escape_debug())
            }
            node => node.kind().to_owned(),
        }
    }
}

impl Scalar {
    /// Whether it is plain, and `null`, `~` or nothing.
    pub fn is_null(&self) -> bool {
        self.style == Style::Plain && is_null(&self.text)
    }

    /// What YAML 1.2 takes it for. Quoted ones and blocks are text.
    pub fn resolve(&self) -> Resolved<'_> {
        let text = self.text.as_str();
        if self.style != Style::Plain {
            return Resolved::Text(text);
        }
        match text {
            "true" | "True" | "TRUE" => return Resolved::Boolean(true),
            "false" | "False" | "FALSE" => return Resolved::Boolean(false),
            _ if is_null(text) => return Resolved::Null,
            _ => {}
        }
        integer(text)
            .map(Resolved::Integer)
            .or_else(|| float(text).map(Resolved::Float))
            .unwrap_or(Resolved::Text(text))
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn integer(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    is_digits(digits).then(|| text.parse().ok()).flatten()
}

fn radix(digits: &str, radix: u32) -> Option<i64> {
    let all = digits.chars().all(|c| c.is_digit(radix));
    all.then(|| i64::from_str_radix(digits, radix).ok())
        .flatten()
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => return Some(f64::NEG_INFINITY),
        ".inf" | ".Inf" | ".INF" => return Some(f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if text.len() == unsigned.len() => return Some(f64::NAN),
        _ => {}
    }
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = is_digits_or_empty(whole)
        && is_digits_or_empty(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|e| is_digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    is_number.then(|| text.parse().ok()).flatten()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && is_digits_or_empty(text)
}

fn is_digits_or_empty(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
