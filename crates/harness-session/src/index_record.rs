//! What an index keeps of one line.

use crate::id::{EntryId, SessionId};
use crate::node::{Node, NodeKind};

/// The bytes of a record.
pub(crate) const RECORD: usize = 48;
/// The bytes of what an index begins with.
pub(crate) const HEADER: usize = 48;

const MAGIC: &[u8; 8] = b"harnidx\n";
const VERSION: u32 = 1;
/// From some line on, the ids do not ascend.
const UNSORTED: u8 = 1;

/// What an index keeps of one line, and of all lines before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Where the line begins.
    pub(crate) offset: u64,
    /// Its bytes, without its end.
    pub(crate) length: u32,
    /// The number of the entry that it follows.
    pub(crate) parent: Option<u32>,
    /// Its id.
    pub(crate) id: EntryId,
    /// The number of the line in the file, from 1.
    pub(crate) line: u32,
    /// The number of the newest entry up to here that names the session.
    pub(crate) named: Option<u32>,
    /// How many lines up to here cannot be read.
    pub(crate) unreadable: u16,
    /// Its kind.
    pub(crate) kind: NodeKind,
    /// Whether the ids ascend up to here.
    pub(crate) sorted: bool,
}

impl Record {
    /// Where the next line begins.
    pub(crate) fn end(&self) -> u64 {
        self.offset + u64::from(self.length) + 1
    }

    pub(crate) fn node(&self) -> Node {
        Node {
            id: self.id,
            parent: self.parent.map(u64::from),
            kind: self.kind,
        }
    }

    /// Its bytes, as the record of this number in this session's index.
    pub(crate) fn encode(&self, number: u64, seed: u64) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&self.offset.to_le_bytes());
        put(&self.length.to_le_bytes());
        put(&plus_one(self.parent));
        put(self.id.as_bytes());
        put(&self.line.to_le_bytes());
        put(&plus_one(self.named));
        put(&self.unreadable.to_le_bytes());
        put(&[self.kind as u8, if self.sorted { 0 } else { UNSORTED }]);
        let check = check(&bytes, number, seed);
        bytes[RECORD - 4..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// The record of these bytes; `None` if they are not that of this number in this session's index.
    pub(crate) fn decode(bytes: &[u8; RECORD], number: u64, seed: u64) -> Option<Self> {
        if take4(bytes, 44) != check(bytes, number, seed) {
            return None;
        }
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[16..32]);
        let parent = take4(bytes, 12).checked_sub(1);
        // A parent that does not come before would make a walk to the root endless.
        if parent.is_some_and(|parent| u64::from(parent) >= number) {
            return None;
        }
        let (offset, length) = (take8(bytes, 0), take4(bytes, 8));
        // Where the line ends is reckoned with later.
        offset.checked_add(u64::from(length) + 1)?;
        Some(Self {
            offset,
            length,
            parent,
            id: EntryId::from_bytes(id),
            line: take4(bytes, 32),
            named: take4(bytes, 36).checked_sub(1),
            unreadable: u16::from_le_bytes([bytes[40], bytes[41]]),
            kind: NodeKind::from_byte(bytes[42]),
            sorted: bytes[43] & UNSORTED == 0,
        })
    }
}

/// What the index of a session begins with.
pub(crate) fn index_header(session: SessionId) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&(RECORD as u32).to_le_bytes());
    bytes[16..32].copy_from_slice(session.as_bytes());
    bytes
}

/// What makes the records of one session's index differ from those of another's.
pub(crate) fn seed_of(session: SessionId) -> u64 {
    let bytes = session.as_bytes();
    take8(bytes, 0) ^ take8(bytes, 8).rotate_left(17)
}

fn plus_one(number: Option<u32>) -> [u8; 4] {
    number
        .map_or(0, |number| number.saturating_add(1))
        .to_le_bytes()
}

fn take4(bytes: &[u8], at: usize) -> u32 {
    let mut part = [0; 4];
    part.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(part)
}

fn take8(bytes: &[u8], at: usize) -> u64 {
    let mut part = [0; 8];
    part.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(part)
}

/// A value that tells a torn, garbled or misplaced record. No protection from somebody who means it.
fn check(bytes: &[u8; RECORD], number: u64, seed: u64) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, part: u64| (hash ^ part).wrapping_mul(FACTOR).rotate_left(29);
    let mut hash = mix(seed, number);
    for at in [0, 8, 16, 24, 32] {
        hash = mix(hash, take8(bytes, at));
    }
    hash = mix(hash, u64::from(take4(bytes, 40)));
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Timestamp;

    #[test]
    fn a_record_is_its_bytes_at_its_place_and_nowhere_else() {
        let record = Record {
            offset: 1 << 40,
            length: 77,
            parent: Some(0),
            id: EntryId::after(None, Timestamp::now()),
            line: 9,
            named: None,
            unreadable: 3,
            kind: NodeKind::Results,
            sorted: false,
        };
        let seed = seed_of(SessionId::new());
        let bytes = record.encode(5, seed);
        assert_eq!(Record::decode(&bytes, 5, seed), Some(record));
        assert_eq!(Record::decode(&bytes, 6, seed), None);
        assert_eq!(Record::decode(&bytes, 5, seed + 1), None);
        for at in 0..RECORD {
            for bit in 0..8 {
                let mut garbled = bytes;
                garbled[at] ^= 1 << bit;
                assert_eq!(Record::decode(&garbled, 5, seed), None, "{at}");
            }
        }
        assert_eq!(Record::decode(&[0; RECORD], 0, seed), None);
    }
}
