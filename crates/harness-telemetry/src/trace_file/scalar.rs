//! Numbers and words, whichever way a program wrote them.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number or a text. OTLP writes numbers of 64 bits as texts, and some programs do not.
pub(super) enum Scalar {
    /// A whole number.
    Whole(i128),
    /// Another number.
    Double(f64),
    /// A text.
    Text(String),
}

impl Scalar {
    /// The number it is, or that its text says. It may be infinite or none.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Double(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }

    /// The whole number it is, or that its text says.
    pub(super) fn whole(&self) -> Option<i128> {
        match self {
            Self::Whole(number) => Some(*number),
            Self::Double(_) => None,
            Self::Text(text) => text.trim().parse().ok(),
        }
    }

    /// A time in nanoseconds since the epoch. What is no time is none: zero.
    pub(super) fn nanos(&self) -> Duration {
        if let Some(whole) = self.whole() {
            let clamped = whole.clamp(0, i128::from(u64::MAX));
            return Duration::from_nanos(u64::try_from(clamped).unwrap_or(0));
        }
        // The cast turns what is negative or no number to zero, and keeps within bounds.
        Duration::from_nanos(self.number().unwrap_or(0.0) as u64)
    }

    /// A time in microseconds, as [`nanos`](Self::nanos).
    pub(super) fn micros(&self) -> Duration {
        Duration::from_nanos((self.number().unwrap_or(0.0) * 1_000.0).round() as u64)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<Scalar, E> {
        Ok(Scalar::Whole(i128::from(yes)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Whole(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Whole(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Double(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }
}
