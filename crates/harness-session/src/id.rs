//! The ids of sessions and of entries.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The id of a session: a UUID of version 7, so that ids sort by the time of their making.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

/// The id of an entry: a UUID of version 7, larger than that of each entry before it in the same
/// session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(Uuid);

/// Milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The machine's time.
    pub fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self(since.as_millis() as u64)
    }
}

impl SessionId {
    /// A new one.
    pub fn new() -> Self {
        Self(fresh(Timestamp::now()))
    }

    /// This one, or the next that is larger than `other`: two of one millisecond are in no order.
    pub(crate) fn after(self, other: Self) -> Self {
        if self > other {
            self
        } else {
            Self(next_after(other.0))
        }
    }

    /// The id of a session that belongs to this one, always the same for a name. Its time is that of this one. Two
    /// builds with different releases of Rust may give different ones.
    pub fn derived(self, name: &str) -> Self {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            hasher.write(self.as_bytes());
            hasher.write_u8(salt);
            hasher.write(name.as_bytes());
            hasher.finish().to_be_bytes()
        };
        let mut bits = [0; 10];
        let bytes = half(0).into_iter().chain(half(1));
        for (bit, from) in bits.iter_mut().zip(bytes) {
            *bit = from;
        }
        Self(uuid::Builder::from_unix_timestamp_millis(self.time().0, &bits).into_uuid())
    }

    /// When it was made.
    pub fn time(self) -> Timestamp {
        time_of(self.0)
    }

    /// Its sixteen bytes.
    pub(crate) fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl Default for SessionId {
    fn default() -> Self {
        Self::new()
    }
}

impl EntryId {
    /// A new one, larger than `last` whatever the clock says.
    pub fn after(last: Option<Self>, now: Timestamp) -> Self {
        let id = fresh(now);
        match last {
            Some(Self(last)) if id <= last => Self(next_after(last)),
            _ => Self(id),
        }
    }

    /// When it was made.
    pub fn time(self) -> Timestamp {
        time_of(self.0)
    }

    /// Its sixteen bytes, which sort as the ids do.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The id of these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

fn fresh(time: Timestamp) -> Uuid {
    let random = Uuid::new_v4();
    let mut bits = [0; 10];
    for (bit, from) in bits.iter_mut().zip(random.as_bytes().iter().skip(6)) {
        *bit = *from;
    }
    // Byte 8 of a random UUID has two fixed bits; they are fixed here, too.
    uuid::Builder::from_unix_timestamp_millis(time.0, &bits).into_uuid()
}

/// A UUID of version 7 that is larger: the number behind the time is increased, or the next millisecond is
/// taken if the numbers of this one are used up. Its end is random, as that of each other: people tell ids
/// apart by their ends.
fn next_after(last: Uuid) -> Uuid {
    const RANDOM_BITS: u128 = 62;
    let value = last.as_u128();
    let number = (value >> 64) & 0xfff;
    let time = value >> 80;
    let (time, number) = if number < 0xfff {
        (time, number + 1)
    } else {
        (time + 1, 0)
    };
    let low = Uuid::new_v4().as_u128() & ((1 << RANDOM_BITS) - 1);
    Uuid::from_u128((time << 80) | (0x7 << 76) | (number << 64) | (0b10 << RANDOM_BITS) | low)
}

fn time_of(id: Uuid) -> Timestamp {
    Timestamp((id.as_u128() >> 80) as u64)
}

macro_rules! text_form {
    ($id:ident, $what:literal) => {
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl FromStr for $id {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Uuid::parse_str(text)
                    .map(Self)
                    .map_err(|_| format!("`{text}` is not the id of {}", $what))
            }
        }
    };
}

text_form!(SessionId, "a session");
text_form!(EntryId, "an entry");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_entries_grow_whatever_the_clock_says() {
        let mut last = None;
        for now in [5_000, 5_000, 4_000, 0, 5_001, 5_000] {
            for _ in 0..100 {
                let id = EntryId::after(last, Timestamp(now));
                assert!(last.is_none_or(|last| last < id), "{last:?} {id}");
                assert_eq!(id.0.get_version_num(), 7);
                assert_eq!(id.0.get_variant(), uuid::Variant::RFC4122);
                last = Some(id);
            }
        }
    }

    #[test]
    fn ids_of_one_millisecond_have_ends_of_their_own() {
        let mut last = None;
        let mut ends = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let id = EntryId::after(last, Timestamp(5_000));
            // Bits that counting would not change.
            ends.insert(id.0.as_u128() >> 8 & 0xffff_ffff);
            last = Some(id);
        }
        assert!(ends.len() > 990, "{}", ends.len());
    }

    #[test]
    fn a_derived_id_is_the_same_for_a_name_and_another_for_another() {
        let session = SessionId::new();
        let one = session.derived("call_1");
        assert_eq!(one, session.derived("call_1"));
        assert_ne!(one, session.derived("call_2"));
        assert_ne!(one, SessionId::new().derived("call_1"));
        assert_eq!(one.time(), session.time());
        assert_eq!(one.0.get_version_num(), 7);
        assert_eq!(one.0.get_variant(), uuid::Variant::RFC4122);
    }

    #[test]
    fn a_session_that_comes_from_another_is_after_it() {
        let (mut one, mut other) = (SessionId::new(), SessionId::new());
        for _ in 0..100 {
            assert!(other.after(one) > one);
            (one, other) = (other.after(one), SessionId::new());
        }
    }

    #[test]
    fn the_numbers_of_a_millisecond_carry_over_into_the_next() {
        let full = EntryId(Uuid::from_u128(
            (7 << 80) | (0x7fff << 64) | (0xbfff_ffff_ffff_ffff),
        ));
        let next = EntryId::after(Some(full), Timestamp(0));
        assert!(next > full);
        assert_eq!(next.time(), Timestamp(8));
        assert_eq!(next.0.get_version_num(), 7);
    }
}
