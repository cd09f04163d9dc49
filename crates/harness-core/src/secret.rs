//! A secret: a key, a password, a token.

use std::fmt;
use std::sync::Arc;

/// A key, a password or a token. The one type that holds such a thing: neither `Debug` nor `Display`
/// shows it, it cannot be serialised, and it is compared with nothing. Cheap to clone; the clones share it.
///
/// Its memory is not wiped: what is sent is copied many times on its way, so that a wiped original would be a
/// promise that is not kept.
///
/// ```
/// use harness_core::Secret;
///
/// let key = Secret::new(" sk-0123456789\n");
/// assert_eq!(format!("{key} {key:?}"), "… Secret(…)");
/// assert_eq!(key.expose(), "sk-0123456789");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// A secret. Blanks and line breaks around it, as a file brings them, are dropped.
    pub fn new(secret: impl AsRef<str>) -> Self {
        Self(Arc::from(secret.as_ref().trim()))
    }

    /// Whether there is nothing in it. A blank key is not sent.
    pub fn is_blank(&self) -> bool {
        self.0.is_empty()
    }

    /// The secret itself, for the one place that sends it.
    ///
    /// From here on nothing guards it: it must not get into a text, an error, a span or a file.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<T: AsRef<str>> From<T> for Secret {
    fn from(secret: T) -> Self {
        Self::new(secret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
