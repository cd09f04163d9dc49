//! Fields by name, in their order.

use crate::error::Error;
use crate::node::{List, Node, Resolved};
use crate::position::Position;

/// Fields by name, in the order of the file. No name is there twice.
///
/// The readers give `None` for a key that is not there and for one without a value (`key:`, `key: ~`),
/// and an error with key, line and column for a value of another kind.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mapping {
    /// The fields.
    pub entries: Vec<Entry>,
    /// Where it begins.
    pub position: Position,
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub key: Key,
    /// Its value.
    pub value: Node,
}

/// The name of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The name.
    pub text: String,
    /// Where it begins.
    pub position: Position,
}

impl Mapping {
    pub(crate) fn empty(position: Position) -> Self {
        Self {
            entries: Vec::new(),
            position,
        }
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of that name, whatever it is.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let found = self.entries.iter().find(|entry| entry.key.text == key);
        found.map(|entry| &entry.value)
    }

    /// The text of that name. Any scalar is text as it was written: `1.10`, `yes`, `true`.
    pub fn text(&self, key: &str) -> Result<Option<&str>, Error> {
        match self.value(key) {
            None => Ok(None),
            Some(Node::Scalar(scalar)) => Ok(Some(&scalar.text)),
            Some(other) => Err(wrong(key, other, "text")),
        }
    }

    /// As [`Mapping::text`], for a key that has to be there; blank text counts as none.
    pub fn required_text(&self, key: &str) -> Result<&str, Error> {
        match self.text(key)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(Error::Missing {
                key: key.to_owned(),
                position: self.get(key).map_or(self.position, Node::position),
            }),
        }
    }

    /// A plain `true` or `false` (also capitalised, as YAML 1.2 has it). `yes` and `"true"` are text.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Error> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        if let Node::Scalar(scalar) = value
            && let Resolved::Boolean(flag) = scalar.resolve()
        {
            return Ok(Some(flag));
        }
        Err(wrong(key, value, "true or false"))
    }

    /// The list of that name.
    pub fn list(&self, key: &str) -> Result<Option<&List>, Error> {
        match self.value(key) {
            None => Ok(None),
            Some(Node::List(list)) => Ok(Some(list)),
            Some(other) => Err(wrong(key, other, "a list")),
        }
    }

    /// The list of that name, each of its items as text.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<&str>>, Error> {
        let Some(list) = self.list(key)? else {
            return Ok(None);
        };
        let mut texts = Vec::with_capacity(list.items.len());
        for item in &list.items {
            match item {
                Node::Scalar(scalar) => texts.push(scalar.text.as_str()),
                other => return Err(wrong(key, other, "a list of texts")),
            }
        }
        Ok(Some(texts))
    }

    /// The mapping of that name.
    pub fn mapping(&self, key: &str) -> Result<Option<&Mapping>, Error> {
        match self.value(key) {
            None => Ok(None),
            Some(Node::Mapping(mapping)) => Ok(Some(mapping)),
            Some(other) => Err(wrong(key, other, "a mapping")),
        }
    }

    /// The keys that are not among `known`, in the order of the file.
    pub fn unknown_keys(&self, known: &[&str]) -> Vec<&Key> {
        let keys = self.entries.iter().map(|entry| &entry.key);
        keys.filter(|key| !known.contains(&key.text.as_str()))
            .collect()
    }

    fn value(&self, key: &str) -> Option<&Node> {
        self.get(key).filter(|value| !value.is_null())
    }
}

fn wrong(key: &str, value: &Node, wanted: &'static str) -> Error {
    Error::WrongKind {
        key: key.to_owned(),
        wanted,
        found: value.described(),
        position: value.position(),
    }
}
