//! The JSON of a hook file as it is written: with the order of its keys, and with keys that are there twice.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A value. A file is read as a whole first and then looked through, so that one thing that is wrong in it
/// hides nothing else.
#[derive(Debug)]
pub(super) enum HookJson {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl<'de> Deserialize<'de> for HookJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = HookJson;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E: Error>(self) -> Result<HookJson, E> {
                Ok(HookJson::Null)
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<HookJson, E> {
                Ok(HookJson::Bool(value))
            }

            #[expect(
                clippy::cast_precision_loss,
                reason = "numbers are seconds here, and nobody waits 2^53 of them"
            )]
            fn visit_u64<E: Error>(self, value: u64) -> Result<HookJson, E> {
                Ok(HookJson::Number(value as f64))
            }

            #[expect(
                clippy::cast_precision_loss,
                reason = "numbers are seconds here, and nobody waits 2^53 of them"
            )]
            fn visit_i64<E: Error>(self, value: i64) -> Result<HookJson, E> {
                Ok(HookJson::Number(value as f64))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<HookJson, E> {
                Ok(HookJson::Number(value))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<HookJson, E> {
                Ok(HookJson::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<HookJson, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(HookJson::List(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HookJson, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(HookJson::Object(pairs))
            }
        }

        deserializer.deserialize_any(Any)
    }
}
