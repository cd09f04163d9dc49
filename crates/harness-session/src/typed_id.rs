//! What people type in the place of an id.

use std::fmt::Display;

use crate::error::Error;

/// The fewest characters that may stand for an id. Fewer would fit by chance.
const LEAST: usize = 4;
/// The most ids that an error lists.
const LISTED: usize = 5;

/// The beginning or the end of an id, in any case, with or without hyphens.
#[derive(Debug)]
pub(crate) struct TypedId {
    digits: String,
}

impl TypedId {
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        let digits = digits(text.trim());
        if digits.chars().count() < LEAST {
            return Err(Error::TooShort(text.to_owned()));
        }
        Ok(Self { digits })
    }

    /// Whether an id begins or ends like this.
    pub(crate) fn fits(&self, id: &impl Display) -> bool {
        let id = digits(&id.to_string());
        id.starts_with(&self.digits) || id.ends_with(&self.digits)
    }
}

fn digits(text: &str) -> String {
    let digits = text.chars().filter(|c| *c != '-');
    digits.map(|c| c.to_ascii_lowercase()).collect()
}

/// A few of the ids, and how many there are if those are not all.
pub(crate) fn few(ids: &[impl Display]) -> String {
    let few: Vec<String> = ids.iter().take(LISTED).map(ToString::to_string).collect();
    let text = few.join(", ");
    if ids.len() > LISTED {
        format!("{text} ({LISTED} of {})", ids.len())
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_by_its_beginning_or_end() {
        let id = "01980000-0001-7000-8000-0000deadbeef";
        for text in [
            "0198",
            "01980000-0",
            "019800000001",
            " DEADBEEF ",
            "0-0000-deadbeef",
            "80000000deadbeef",
        ] {
            assert!(TypedId::new(text).unwrap().fits(&id), "{text}");
        }
        assert!(!TypedId::new("dead").unwrap().fits(&id));
        for text in ["", "  ", "eef", "-e-e-f-"] {
            let error = TypedId::new(text).unwrap_err().to_string();
            assert!(error.contains("at least 4"), "{error}");
        }
    }

    #[test]
    fn few_ids_are_listed() {
        assert_eq!(few(&[1, 2]), "1, 2");
        assert_eq!(few(&[1, 2, 3, 4, 5, 6, 7]), "1, 2, 3, 4, 5 (5 of 7)");
    }
}
