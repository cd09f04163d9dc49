//! The parts of an index that were read last.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::index_record::{HEADER, RECORD, Record};

/// Records that are read at once: 48 KiB.
const RECORDS: u64 = 1024;
/// Blocks that are kept.
const BLOCKS: usize = 8;

/// The blocks of an index that were used last, the newest first.
#[derive(Debug, Default)]
pub(crate) struct BlockCache {
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    number: u64,
    bytes: Vec<u8>,
}

impl BlockCache {
    /// The record of this number; `None` if it cannot be read or is not sound.
    pub(crate) fn record(&mut self, file: &File, number: u64, seed: u64) -> Option<Record> {
        let at = (number % RECORDS) as usize * RECORD;
        let block = self.block(file, number / RECORDS, at + RECORD)?;
        let bytes = block.bytes.get(at..at + RECORD)?.try_into().ok()?;
        Record::decode(bytes, number, seed)
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// A block that has at least so many bytes.
    fn block(&mut self, file: &File, number: u64, least: usize) -> Option<&Block> {
        let known = self.blocks.iter().position(|block| block.number == number);
        match known {
            Some(0) => {}
            Some(place) => self.blocks[..=place].rotate_right(1),
            None => {
                self.blocks.truncate(BLOCKS - 1);
                let bytes = Vec::new();
                self.blocks.insert(0, Block { number, bytes });
            }
        }
        let block = self.blocks.first_mut()?;
        // A block may have been read when the index was shorter.
        if known.is_none() || block.bytes.len() < least {
            // Zeros that are asked for at once cost least.
            block.bytes = vec![0; RECORDS as usize * RECORD];
            let offset = HEADER as u64 + number * RECORDS * RECORD as u64;
            let read = read_up_to(file, &mut block.bytes, offset).unwrap_or_default();
            block.bytes.truncate(read);
        }
        self.blocks.first()
    }
}

/// Reads until the buffer is full or the file ends, and gives how much that was.
pub(crate) fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
