//! The secrets that must show in no text, and how they are found there.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::masker::Masker;
use crate::outcome::{OutputPart, ToolOutcome};
use crate::secret::Secret;
use crate::secret_search::Search;

/// What stands in the place of a secret.
pub(crate) const MASK: &str = "[key]";

/// A secret of fewer bytes is not looked for in texts. No service gives out such keys; what stands in their
/// place for a local server (`ollama`, `dummy`, `sk-1234`) is an ordinary word, which must not disappear from
/// every file that an agent reads.
const SHORTEST: usize = 8;

/// What stands where an excerpt was cut.
const CUT: char = '…';

/// Secrets that must show in no text: neither what a tool gives back nor how it gets on, whoever reads that.
/// Cheap to clone; nothing is done in its name while it is empty.
///
/// A secret is found as it is and in the forms in which services and commands repeat it: escaped as in JSON,
/// in base64 (also as a part of more, as in `Authorization: Basic`), in hexadecimal digits and with percent
/// signs as in addresses; base64 and hexadecimal digits also where an encoder has broken them into lines. In its
/// place stands `[key]`. One of fewer than eight bytes is not looked for.
///
/// This guards against what comes back by accident. A command that turns a secret around, or shows it in
/// pieces, shows it: whoever must not have it must not be able to read it.
///
/// ```
/// use harness_core::Secrets;
///
/// let secrets: Secrets = ["sk-0123456789"].into_iter().collect();
/// assert_eq!(secrets.mask("the key is sk-0123456789."), "the key is [key].");
/// assert_eq!(secrets.mask("Basic OnNrLTAxMjM0NTY3ODk="), "Basic On[key]k=");
/// ```
#[derive(Clone, Default)]
pub struct Secrets(Option<Arc<Known>>);

struct Known {
    secrets: Vec<Secret>,
    /// Made when first needed: most commands of a program mask nothing.
    search: OnceLock<Search>,
}

impl Secrets {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret. One that is too short to be looked for is passed over.
    pub fn add(&mut self, secret: impl Into<Secret>) {
        self.extend([secret.into()]);
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// These secrets and those.
    pub fn with(&self, more: &Self) -> Self {
        match (&self.0, &more.0) {
            (_, None) => self.clone(),
            (None, Some(_)) => more.clone(),
            (Some(one), Some(other)) if Arc::ptr_eq(one, other) => self.clone(),
            (Some(_), Some(other)) => {
                let mut all = self.clone();
                all.extend(other.secrets.iter().cloned());
                all
            }
        }
    }

    /// The text without the secrets.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(search) = self.search() else {
            return Cow::Borrowed(text);
        };
        let found = search.found(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        let mut shown = 0;
        for place in found {
            masked.push_str(&text[shown..place.start]);
            masked.push_str(MASK);
            shown = place.end;
        }
        masked.push_str(&text[shown..]);
        Cow::Owned(masked)
    }

    /// The same for an excerpt: what stands before an ellipsis (`…`) and begins like a secret is masked, too.
    pub fn mask_excerpt<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let masked = self.mask(text);
        let Some(search) = self.search().filter(|_| masked.contains(CUT)) else {
            return masked;
        };
        let pieces = masked.split_inclusive(CUT).map(|piece| {
            let begun = piece
                .strip_suffix(CUT)
                .and_then(|kept| search.without_beginning(kept));
            begun.map_or(Cow::Borrowed(piece), |kept| {
                Cow::Owned(format!("{kept}{MASK}{CUT}"))
            })
        });
        Cow::Owned(pieces.collect())
    }

    /// Masks each text in the value, names of fields included.
    pub fn mask_json(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.mask_string(text),
            Value::Array(all) => all.iter_mut().for_each(|value| self.mask_json(value)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|value| self.mask_json(value));
                if fields.keys().any(|name| self.has(name)) {
                    *fields = std::mem::take(fields)
                        .into_iter()
                        .map(|(name, value)| (self.mask(&name).into_owned(), value))
                        .collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Masks a text that comes in pieces.
    pub fn masker(&self) -> Masker {
        Masker::new(self.clone())
    }

    /// An outcome whose texts are masked. Pictures are left as they are.
    pub(crate) fn mask_outcome(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        if self.is_empty() {
            return outcome;
        }
        match &mut outcome {
            ToolOutcome::Done(output) | ToolOutcome::Failed(output) => {
                for part in &mut output.parts {
                    if let OutputPart::Text(text) = part {
                        self.mask_string(&mut text.text);
                    }
                }
                if let Some(details) = &mut output.details {
                    self.mask_json(details);
                }
            }
            ToolOutcome::Denied { by, reason } => {
                self.mask_string(by);
                self.mask_string(reason);
            }
            ToolOutcome::Cancelled | ToolOutcome::Interrupted => {}
        }
        outcome
    }

    fn mask_string(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.mask(text) {
            *text = masked;
        }
    }

    fn has(&self, text: &str) -> bool {
        let search = self.search();
        search.is_some_and(|search| !search.found(text).is_empty())
    }

    pub(crate) fn search(&self) -> Option<&Search> {
        let known = self.0.as_ref()?;
        Some(known.search.get_or_init(|| Search::new(&known.secrets)))
    }
}

impl Extend<Secret> for Secrets {
    fn extend<I: IntoIterator<Item = Secret>>(&mut self, more: I) {
        let mut more = more
            .into_iter()
            .filter(|secret| secret.expose().len() >= SHORTEST)
            .peekable();
        if more.peek().is_none() {
            return;
        }
        let old = self.0.as_ref().map(|known| known.secrets.as_slice());
        let secrets = old.unwrap_or_default().iter().cloned().chain(more);
        self.0 = Some(Arc::new(Known {
            secrets: secrets.collect(),
            search: OnceLock::new(),
        }));
    }
}

impl<T: Into<Secret>> FromIterator<T> for Secrets {
    fn from_iter<I: IntoIterator<Item = T>>(secrets: I) -> Self {
        let mut all = Self::new();
        all.extend(secrets.into_iter().map(Into::into));
        all
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.as_ref().map_or(0, |known| known.secrets.len());
        write!(f, "Secrets({count})")
    }
}
