//! Keys, and how they stay out of every text.

use std::fmt;
use std::sync::Arc;

/// A secret shorter than this is not looked for in texts: it would hit ordinary words, and no
/// service gives out such keys.
const SHORTEST_SECRET: usize = 4;

const MASK: &str = "[key]";

/// What stands where a text was cut.
const CUT: char = '…';

/// The key of an account. Neither `Debug` nor `Display` shows it.
#[derive(Clone)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// A key. Blanks and line breaks around it, as a file brings them, are dropped.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(Arc::from(key.as_ref().trim()))
    }

    /// Whether there is nothing in it. A blank key is not sent.
    pub fn is_blank(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn expose(&self) -> &Arc<str> {
        &self.0
    }
}

impl<T: AsRef<str>> From<T> for ApiKey {
    fn from(key: T) -> Self {
        Self::new(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What must not show in any text that comes from a request.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<Arc<str>>);

impl Secrets {
    /// Adds a secret, in the forms in which it may come back.
    pub(crate) fn add(&mut self, secret: &Arc<str>) {
        if secret.len() < SHORTEST_SECRET {
            return;
        }
        self.0.push(Arc::clone(secret));
        let escaped = serde_json::to_string(&**secret).unwrap_or_default();
        let escaped = escaped.trim_matches('"');
        if *escaped != **secret {
            self.0.push(Arc::from(escaped));
        }
        // The longest first: one may be a part of another.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// The text without the secrets, also without the beginning of one at which it was cut.
    pub(crate) fn scrub(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| {
            let text = if text.contains(&**secret) {
                text.replace(&**secret, MASK)
            } else {
                text
            };
            without_beginning(text, secret)
        })
    }
}

/// The text with a mask where the beginning of the secret stands before a cut.
fn without_beginning(text: String, secret: &str) -> String {
    if !text.contains(CUT) {
        return text;
    }
    let beginnings = || secret.char_indices().map(|(end, _)| &secret[..end]).rev();
    let pieces: Vec<String> = text
        .split_inclusive(CUT)
        .map(|piece| {
            let begun = piece.strip_suffix(CUT).and_then(|kept| {
                beginnings()
                    .take_while(|beginning| beginning.len() >= SHORTEST_SECRET)
                    .find_map(|beginning| kept.strip_suffix(beginning))
            });
            begun.map_or_else(|| piece.to_owned(), |kept| format!("{kept}{MASK}{CUT}"))
        })
        .collect();
    pieces.concat()
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new(" sk-secret\n");
        assert_eq!(format!("{key:?} {key}"), "ApiKey(…) …");
        assert_eq!(&**key.expose(), "sk-secret");
    }

    #[test]
    fn secrets_are_masked_also_when_escaped_or_nested() {
        let mut secrets = Secrets::default();
        secrets.add(&Arc::from("a\"bc"));
        secrets.add(&Arc::from("a\"bcdef"));
        secrets.add(&Arc::from("x"));
        let text = r#"a"bc a\"bc a"bcdef x"#.to_owned();
        assert_eq!(secrets.scrub(text), "[key] [key] [key] x");
    }

    /// An excerpt may end in the middle of a key that a service or a proxy repeats.
    #[test]
    fn the_beginning_of_a_secret_is_masked_at_a_cut() {
        let mut secrets = Secrets::default();
        secrets.add(&Arc::from("sk-secret"));
        for (text, expected) in [
            ("key sk-secre… and more", "key [key]… and more"),
            ("sk-s… sk-secret…", "[key]… [key]…"),
            ("a sk-… b", "a sk-… b"),
            ("sk-secre and no cut", "sk-secre and no cut"),
        ] {
            assert_eq!(secrets.scrub(text.to_owned()), expected);
        }
    }
}
