//! Roman numerals.

use std::fmt;

/// The largest number that has a Roman numeral.
pub const MAX: u16 = 3999;

const NUMERALS: [(u16, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// Why there is no such numeral or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The number has no Roman numeral.
    OutOfRange(u16),
    /// The text is no Roman numeral.
    NotANumeral(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::OutOfRange(number) => write!(f, "{number} is not between 1 and {MAX}"),
            Error::NotANumeral(text) => write!(f, "`{text}` is no Roman numeral"),
        }
    }
}

impl std::error::Error for Error {}

/// Writes a number as a Roman numeral.
pub fn format(number: u16) -> Result<String, Error> {
    if !(1..MAX).contains(&number) {
        return Err(Error::OutOfRange(number));
    }
    let mut text = String::new();
    let mut rest = number;
    for (value, numeral) in NUMERALS {
        while rest >= value {
            text.push_str(numeral);
            rest -= value;
        }
    }
    Ok(text)
}

/// Reads a Roman numeral. Only the usual way to write a number is accepted: `IV`, not `IIII`.
pub fn parse(text: &str) -> Result<u16, Error> {
    let refuse = || Error::NotANumeral(text.to_owned());
    let mut number: u16 = 0;
    let mut rest = text;
    for (value, numeral) in NUMERALS {
        while let Some(after) = rest.strip_prefix(numeral) {
            number = number.checked_add(value).ok_or_else(refuse)?;
            rest = after;
        }
    }
    match format(number) {
        Ok(usual) if rest.is_empty() && usual == text => Ok(number),
        _ => Err(refuse()),
    }
}
