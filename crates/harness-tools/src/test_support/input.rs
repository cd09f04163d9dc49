//! Bytes from a fuzzer, taken for numbers and pieces.

/// Bytes that are taken from the front. What is not there is zero, so that every input is a case.
#[derive(Debug)]
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.maybe_byte().unwrap_or(0)
    }

    pub(super) fn maybe_byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number below `end`, which is at most 256.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// A position in something of this length, its end included.
    pub(super) fn position(&mut self, len: usize) -> usize {
        let number = usize::from(self.byte()) << 8 | usize::from(self.byte());
        number % (len + 1)
    }

    /// Everything that was not taken.
    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Cuts bytes into pieces whose lengths, from 1 to 8, follow from `seed`; the seed 0 leaves them whole.
pub(super) fn pieces(bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    if seed == 0 {
        return vec![bytes];
    }
    let mut pieces = Vec::new();
    let (mut rest, mut state) = (bytes, u32::from(seed));
    while !rest.is_empty() {
        // The numbers of a well-known generator; any would do.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let len = 1 + (state >> 24) as usize % 8;
        let (piece, after) = rest.split_at(len.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
