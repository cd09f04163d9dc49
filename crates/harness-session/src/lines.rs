//! The lines of a file, one after the other.

use std::fs::File;
use std::io;

use crate::block_cache::read_up_to;

/// The longest line that is read, and that is written.
pub(crate) const LONGEST: usize = 256 * 1024 * 1024;
const CHUNK: usize = 256 * 1024;

/// The lines of a part of a file. Holds one line at a time, and some of what comes behind it.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    file: &'a File,
    /// Where the buffer's first byte is in the file.
    base: u64,
    /// Where to stop.
    end: u64,
    buffer: Vec<u8>,
    /// Where in the buffer the next line begins.
    start: usize,
    /// The bytes of the buffer that are from the file.
    filled: usize,
}

/// One line.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// Where it begins.
    pub(crate) offset: u64,
    /// Its bytes without its end; none if there are too many.
    pub(crate) bytes: &'a [u8],
    /// Where the next one begins.
    pub(crate) end: u64,
    /// Whether it has its end.
    pub(crate) is_ended: bool,
    /// Whether it is longer than [`LONGEST`].
    pub(crate) is_too_long: bool,
}

impl<'a> Lines<'a> {
    /// The lines from `start` to `end`.
    pub(crate) fn new(file: &'a File, start: u64, end: u64) -> Self {
        Self {
            file,
            base: start,
            end,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
        }
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = self.start;
        // Where the line begins, if its beginning is not kept.
        let mut too_long = None;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                let at = searched + at;
                let start = std::mem::replace(&mut self.start, at + 1);
                return Ok(Some(match too_long {
                    Some(offset) => self.too_long(offset, true),
                    None => self.line(start, at, true),
                }));
            }
            if self.filled - self.start > LONGEST {
                too_long.get_or_insert(self.base + self.start as u64);
            }
            if too_long.is_some() {
                self.start = self.filled;
            }
            let unread = self.filled - self.start;
            if !self.fill()? {
                let start = std::mem::replace(&mut self.start, self.filled);
                return Ok(match too_long {
                    Some(offset) => Some(self.too_long(offset, false)),
                    None if start < self.filled => Some(self.line(start, self.filled, false)),
                    None => None,
                });
            }
            searched = self.start + unread;
        }
    }

    fn line(&self, start: usize, end: usize, is_ended: bool) -> Line<'_> {
        Line {
            offset: self.base + start as u64,
            bytes: &self.buffer[start..end],
            end: self.base + end as u64 + u64::from(is_ended),
            is_ended,
            is_too_long: false,
        }
    }

    fn too_long(&self, offset: u64, is_ended: bool) -> Line<'_> {
        Line {
            offset,
            bytes: &[],
            end: self.base + self.start as u64,
            is_ended,
            is_too_long: true,
        }
    }

    /// Reads more, and moves what is unread to the buffer's beginning. `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.base += self.start as u64;
        self.filled -= self.start;
        self.start = 0;
        let offset = self.base + self.filled as u64;
        if offset >= self.end {
            return Ok(false);
        }
        if self.buffer.len() < self.filled + CHUNK {
            // Zeros that are asked for at once cost nothing until they are read into.
            let mut larger = vec![0; (self.filled * 2).max(CHUNK)];
            larger[..self.filled].copy_from_slice(&self.buffer[..self.filled]);
            self.buffer = larger;
        }
        let room = (self.buffer.len() - self.filled) as u64;
        let wanted = room.min(self.end.saturating_sub(offset)) as usize;
        let free = &mut self.buffer[self.filled..self.filled + wanted];
        let read = read_up_to(self.file, free, offset)?;
        self.filled += read;
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// All lines, as text.
    fn lines(text: &[u8], start: u64, end: u64) -> Vec<(u64, Vec<u8>, bool)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let mut lines = Lines::new(&file, start, end);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.offset, line.bytes.to_vec(), line.is_ended));
        }
        all
    }

    #[test]
    fn lines_are_what_stands_between_line_ends() {
        let long = vec![b'x'; 3 * CHUNK + 5];
        let mut text = b"a\n\nbc\r\n".to_vec();
        text.extend_from_slice(&long);
        text.extend_from_slice(b"\nlast");
        let at = 7 + long.len() as u64 + 1;
        let expected = [
            (0, b"a".to_vec(), true),
            (2, Vec::new(), true),
            (3, b"bc\r".to_vec(), true),
            (7, long, true),
            (at, b"last".to_vec(), false),
        ];
        let end = text.len() as u64;
        assert_eq!(lines(&text, 0, end), expected);
        assert_eq!(lines(&text, 0, end + 100), expected);
        assert_eq!(lines(&text, 3, 7), expected[2..3]);
        assert_eq!(lines(&text, at, at + 2), [(at, b"la".to_vec(), false)]);
        assert_eq!(lines(b"", 0, 10), []);
    }
}
