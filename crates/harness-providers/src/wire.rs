//! The building bricks of what services send: types that read whatever stands there.
//!
//! A field that is missing, `null` or of another type than expected is as good as not there; strings
//! are borrowed from the event where they hold no escapes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string. Numbers become their digits; anything else is empty.
///
/// `Option<Cow<str>>` would not do: serde copies the text of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word<'a>(pub(crate) Cow<'a, str>);

impl Word<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyWord;

        impl<'de> Visitor<'de> for AnyWord {
            type Value = Word<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Owned(text)))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Owned(number.to_string())))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Owned(number.to_string())))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Word<'de>, E> {
                Ok(Word::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<Word<'de>, E> {
                Ok(Word::default())
            }
            fn visit_unit<E>(self) -> Result<Word<'de>, E> {
                Ok(Word::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Word<'de>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Word::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Word<'de>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Word::default())
            }
        }

        deserializer.deserialize_any(AnyWord)
    }
}

/// A count, such as of tokens. What is not a whole number from 0 up is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyCount;

        impl<'de> Visitor<'de> for AnyCount {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
                Ok(Count(Some(number)))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(number).ok()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Count, E> {
                Ok(Count((number >= 0.0).then_some(number as u64)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Count, E> {
                Ok(Count(text.parse().ok()))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
                Ok(Count(None))
            }
            fn visit_unit<E>(self) -> Result<Count, E> {
                Ok(Count(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Count, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Count(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Count(None))
            }
        }

        deserializer.deserialize_any(AnyCount)
    }
}

/// Text: a string, or a list of parts of which those with text count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyContent;

        #[derive(serde::Deserialize)]
        struct Part<'a> {
            #[serde(borrow, default)]
            text: Word<'a>,
        }

        impl<'de> Visitor<'de> for AnyContent {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of parts")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Content<'de>, E> {
                Ok(Content(Cow::Owned(text)))
            }
            fn visit_unit<E>(self) -> Result<Content<'de>, E> {
                Ok(Content::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'de>, A::Error> {
                let mut all = String::new();
                while let Some(part) = seq.next_element::<Part<'de>>()? {
                    all.push_str(&part.text.0);
                }
                Ok(Content(Cow::Owned(all)))
            }
        }

        deserializer.deserialize_any(AnyContent)
    }
}

/// The first element of a list; the rest is passed over. Nothing is allocated for the list.
#[derive(Clone, Debug)]
pub(crate) struct First<T>(pub(crate) Option<T>);

impl<T> Default for First<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyList<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for AnyList<T> {
            type Value = First<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_unit<E>(self) -> Result<First<T>, E> {
                Ok(First(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<First<T>, A::Error> {
                let first = seq.next_element()?;
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }

        deserializer.deserialize_any(AnyList(PhantomData))
    }
}

/// An excerpt of an event for an error.
pub(crate) fn excerpt(data: &str) -> String {
    let mut end = data.len().min(160);
    while !data.is_char_boundary(end) {
        end -= 1;
    }
    let rest = if end < data.len() { "…" } else { "" };
    format!("{}{rest}", &data[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_borrowed_and_never_fail() {
        let word = |json| serde_json::from_str::<Word<'_>>(json).unwrap();
        assert!(matches!(word(r#""abc""#).0, Cow::Borrowed("abc")));
        assert_eq!(word(r#""a\nb""#).as_str(), "a\nb");
        assert_eq!(word("12").as_str(), "12");
        for other in ["null", "true", "1.5", "[1]", r#"{"a":1}"#] {
            assert!(word(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn counts_and_contents() {
        let count = |json| serde_json::from_str::<Count>(json).unwrap().0;
        assert_eq!(count("3"), Some(3));
        assert_eq!(count("3.0"), Some(3));
        assert_eq!(count("\"3\""), Some(3));
        assert_eq!(count("-1"), None);
        assert_eq!(count("null"), None);
        assert_eq!(count("[]"), None);
        let content = |json| {
            serde_json::from_str::<Content<'_>>(json)
                .unwrap()
                .0
                .into_owned()
        };
        assert_eq!(content("null"), "");
        assert_eq!(
            content(r#"[{"type":"text","text":"a"},{"x":1},{"text":"b"}]"#),
            "ab"
        );
    }
}
