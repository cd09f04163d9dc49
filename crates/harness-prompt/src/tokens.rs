//! How many tokens a text is, about.

/// What a token weighs, in the unit of [`weight`].
pub(crate) const WEIGHT_OF_A_TOKEN: usize = 4;

/// About how many tokens a text is: one for four bytes of ASCII, one for each other character.
///
/// No tokenizer is asked, since each model has its own. For English and code this is near; for Chinese,
/// Japanese and Korean, where bytes divided by four would be far too few, it is on the safe side.
pub fn estimate_tokens(text: &str) -> usize {
    weight(text).div_ceil(WEIGHT_OF_A_TOKEN)
}

/// The weight of a text, in quarters of a token. Weights of pieces add up to that of the whole.
pub(crate) fn weight(text: &str) -> usize {
    let mut ascii = 0;
    let mut other = 0;
    for byte in text.bytes() {
        ascii += usize::from(byte.is_ascii());
        // The first byte of a character of more than one.
        other += usize::from(byte >= 0xC0);
    }
    ascii + other * WEIGHT_OF_A_TOKEN
}

/// The most bytes from the start of `text` whose weight is within `max`; ends at a character.
pub(crate) fn prefix_within(text: &str, max: usize) -> usize {
    if text.len() <= max / WEIGHT_OF_A_TOKEN {
        return text.len();
    }
    let mut left = max;
    for (at, c) in text.char_indices() {
        match left.checked_sub(weight_of(c)) {
            Some(rest) => left = rest,
            None => return at,
        }
    }
    text.len()
}

/// Where the longest end of `text` begins whose weight is within `max`.
pub(crate) fn suffix_within(text: &str, max: usize) -> usize {
    let mut left = max;
    for (at, c) in text.char_indices().rev() {
        match left.checked_sub(weight_of(c)) {
            Some(rest) => left = rest,
            None => return at + c.len_utf8(),
        }
    }
    0
}

fn weight_of(c: char) -> usize {
    if c.is_ascii() { 1 } else { WEIGHT_OF_A_TOKEN }
}
