//! Text as it stands in a file: its encoding, its byte order mark, its line endings.
//!
//! `read`, `write` and `edit` share this, so that what one shows another can change without touching
//! a byte that nobody asked for.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, UTF_16BE, UTF_16LE, X_USER_DEFINED};

/// How many bytes tell text from other content.
pub(crate) const SAMPLE_BYTES: usize = 64 * 1024;

/// How characters are written as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-8 with some bytes that are not: most of what is not ASCII is sound, or a byte order mark
    /// says so.
    BrokenUtf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
    /// An older encoding, guessed from the content.
    Legacy(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::BrokenUtf8 => "UTF-8 with invalid bytes",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Legacy(encoding) => encoding.name(),
        }
    }
}

/// What the first bytes of a file tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniffed {
    /// Not text. The name of the format, if it is a well-known one.
    Binary(Option<&'static str>),
    /// Text.
    Text {
        /// Its encoding.
        encoding: Encoding,
        /// How many bytes the byte order mark takes: 0, 2 or 3.
        bom: usize,
    },
}

const MAGIC: &[(&[u8], &str)] = &[
    (b"%PDF-", "PDF"),
    (b"\x7fELF", "ELF"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"SQLite format 3\0", "SQLite"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
];

/// Tells text from other content by the first bytes. `whole` says that there are no more.
pub fn sniff(sample: &[u8], whole: bool) -> Sniffed {
    let magic = MAGIC
        .iter()
        .find(|(magic, _)| sample.starts_with(magic))
        .map(|(_, name)| *name);
    // Three letters that text may begin with.
    if magic.is_some_and(|name| name != "bzip2") {
        return Sniffed::Binary(magic);
    }
    for (mark, encoding) in [
        (&b"\xef\xbb\xbf"[..], Encoding::Utf8),
        (b"\xff\xfe", Encoding::Utf16Le),
        (b"\xfe\xff", Encoding::Utf16Be),
    ] {
        if let Some(rest) = sample.strip_prefix(mark) {
            let encoding = match encoding {
                // The mark says that it was meant as UTF-8, whatever the rest looks like.
                Encoding::Utf8 => match eight_bit(rest, whole) {
                    Encoding::Legacy(_) => Encoding::BrokenUtf8,
                    encoding => encoding,
                },
                wide => wide,
            };
            return Sniffed::Text {
                encoding,
                bom: mark.len(),
            };
        }
    }
    if memchr::memchr(0, sample).is_some() {
        return match wide_without_mark(sample) {
            Some(encoding) => Sniffed::Text { encoding, bom: 0 },
            None => Sniffed::Binary(magic),
        };
    }
    // The head tells; a look at each byte of a large file costs more than reading it.
    let head = sample.get(..SAMPLE_BYTES).unwrap_or(sample);
    let controls = head
        .iter()
        .filter(|byte| **byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 8 | 12 | 27))
        .count();
    if controls * 10 > head.len() {
        return Sniffed::Binary(magic);
    }
    match eight_bit(sample, whole) {
        Encoding::Legacy(_) if magic.is_some() => Sniffed::Binary(magic),
        encoding => Sniffed::Text { encoding, bom: 0 },
    }
}

/// UTF-16 without a mark is told by where the zero bytes of its ASCII characters are.
fn wide_without_mark(sample: &[u8]) -> Option<Encoding> {
    let pairs = sample.len() / 2;
    if pairs < 2 {
        return None;
    }
    let zeros = |at: usize| {
        sample
            .iter()
            .skip(at)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    if odd * 10 >= pairs * 7 && even * 20 <= pairs {
        Some(Encoding::Utf16Le)
    } else if even * 10 >= pairs * 7 && odd * 20 <= pairs {
        Some(Encoding::Utf16Be)
    } else {
        None
    }
}

fn eight_bit(bytes: &[u8], whole: bool) -> Encoding {
    if std::str::from_utf8(bytes).is_ok() {
        return Encoding::Utf8;
    }
    let (mut valid, mut invalid) = (0_usize, 0_usize);
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        let cut_at_the_end = !whole && chunks.peek().is_none() && chunk.invalid().len() < 4;
        invalid += usize::from(!chunk.invalid().is_empty() && !cut_at_the_end);
    }
    if invalid == 0 {
        Encoding::Utf8
    } else if valid >= invalid {
        Encoding::BrokenUtf8
    } else {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(bytes, whole);
        Encoding::Legacy(detector.guess(None, Utf8Detection::Deny))
    }
}

/// The line endings of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEndings {
    /// It has one line.
    None,
    /// All are `\n`.
    Lf,
    /// All are `\r\n`.
    Crlf,
    /// There are both.
    Mixed,
}

impl LineEndings {
    /// The line endings in `text`.
    pub fn of(text: &[u8]) -> Self {
        let (mut lf, mut crlf) = (false, false);
        for at in memchr::memchr_iter(b'\n', text) {
            if at > 0 && text.get(at - 1) == Some(&b'\r') {
                crlf = true;
            } else {
                lf = true;
            }
            if lf && crlf {
                return Self::Mixed;
            }
        }
        match (lf, crlf) {
            (false, false) => Self::None,
            (true, _) => Self::Lf,
            (false, true) => Self::Crlf,
        }
    }
}

/// Writes every line ending of `text` as `\n`.
pub(crate) fn to_lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") {
        text.replace("\r\n", "\n").into()
    } else {
        text.into()
    }
}

/// Writes every line ending of `text` as `\r\n`.
pub(crate) fn to_crlf(text: &str) -> String {
    to_lf(text).replace('\n', "\r\n")
}

/// The text of a file, with what is needed to write it back byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// The text, without the byte order mark, line endings as they are.
    pub text: String,
    /// The encoding.
    pub encoding: Encoding,
    /// Whether the file begins with a byte order mark.
    pub bom: bool,
}

impl TextFile {
    /// Reads the bytes of a file. `Err` says in words why they are not text that can be changed
    /// without loss: the file is binary, or in an encoding that is neither UTF-8 nor UTF-16 with a byte
    /// order mark. Such an encoding can only be guessed, and a wrong guess damages the file.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, String> {
        let (encoding, bom) = match sniff(&bytes, true) {
            Sniffed::Binary(_) => return Err("it is a binary file, not text".to_owned()),
            Sniffed::Text { encoding, bom } => (encoding, bom),
        };
        let text = match encoding {
            Encoding::Utf8 => {
                let mut text = String::from_utf8(bytes).map_err(|_| not_sound(encoding))?;
                text.drain(..bom);
                text
            }
            Encoding::BrokenUtf8 => keep_invalid(bytes.get(bom..).unwrap_or_default())
                .ok_or_else(|| not_sound(encoding))?,
            Encoding::Utf16Le | Encoding::Utf16Be if bom > 0 => {
                let content = bytes.get(bom..).unwrap_or_default();
                let decoder = encoding.decoder();
                let text = decoder.decode_without_bom_handling_and_without_replacement(content);
                text.ok_or_else(|| not_sound(encoding))?.into_owned()
            }
            Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Legacy(_) => {
                return Err(other_encoding(encoding));
            }
        };
        Ok(Self {
            text,
            encoding,
            bom: bom > 0,
        })
    }

    /// The bytes of `text` in this file's encoding, with its byte order mark.
    pub fn encode(&self, text: &str) -> Vec<u8> {
        [self.mark(), &*self.encode_part(text)].concat()
    }

    /// The bytes of a part of the text.
    pub(crate) fn encode_part<'a>(&self, text: &'a str) -> Cow<'a, [u8]> {
        match self.encoding {
            Encoding::BrokenUtf8 if text.contains(is_kept_byte) => restore_invalid(text).into(),
            Encoding::Utf16Le => wide(text, u16::to_le_bytes).into(),
            Encoding::Utf16Be => wide(text, u16::to_be_bytes).into(),
            // Older encodings are not written.
            Encoding::Utf8 | Encoding::BrokenUtf8 | Encoding::Legacy(_) => text.as_bytes().into(),
        }
    }

    /// The byte order mark, if the file has one.
    pub(crate) fn mark(&self) -> &'static [u8] {
        match self.encoding {
            _ if !self.bom => b"",
            Encoding::Utf16Le => b"\xff\xfe",
            Encoding::Utf16Be => b"\xfe\xff",
            Encoding::Utf8 | Encoding::BrokenUtf8 | Encoding::Legacy(_) => b"\xef\xbb\xbf",
        }
    }
}

impl Encoding {
    fn decoder(self) -> &'static encoding_rs::Encoding {
        match self {
            Self::Utf8 | Self::BrokenUtf8 => encoding_rs::UTF_8,
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Legacy(encoding) => encoding,
        }
    }

    /// A decoder for text that comes in pieces.
    pub(crate) fn stream_decoder(self) -> encoding_rs::Decoder {
        self.decoder().new_decoder_without_bom_handling()
    }
}

/// Decodes the next piece of a stream; what is not sound becomes U+FFFD.
pub(crate) fn decode_piece(
    decoder: &mut encoding_rs::Decoder,
    mut piece: &[u8],
    last: bool,
    out: &mut String,
) {
    loop {
        let room = decoder
            .max_utf8_buffer_length(piece.len())
            .unwrap_or(piece.len() * 3 + 16);
        out.reserve(room);
        let (result, read, _) = decoder.decode_to_string(piece, out, last);
        piece = piece.get(read..).unwrap_or_default();
        if result == CoderResult::InputEmpty {
            return;
        }
    }
}

/// Text with each invalid byte as a private character, the one that `x-user-defined` has for it.
/// `None` if the text has such characters of its own.
fn keep_invalid(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().contains(is_kept_byte) {
            return None;
        }
        text.push_str(chunk.valid());
        let (kept, _) = X_USER_DEFINED.decode_without_bom_handling(chunk.invalid());
        text.push_str(&kept);
    }
    Some(text)
}

fn restore_invalid(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        if is_kept_byte(c) {
            // U+F780 stands for 0x80.
            bytes.push((u32::from(c) & 0xff) as u8);
        } else {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    bytes
}

fn wide(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

fn not_sound(encoding: Encoding) -> String {
    format!(
        "it looks like {}, but not all of it can be read as that, so it cannot be changed without \
         loss",
        encoding.name()
    )
}

/// Why a file in this encoding is not written, and what to do.
pub(crate) fn other_encoding(encoding: Encoding) -> String {
    let mark = match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be => " without a byte order mark",
        _ => "",
    };
    let name = encoding.name();
    format!(
        "it looks like {name}{mark}; only UTF-8, and UTF-16 with a byte order mark, is written. Use \
         `bash`: convert it with iconv, or change it with LC_ALL=C sed"
    )
}

/// Whether this character stands for an invalid byte; see [`TextFile::decode`].
pub(crate) fn is_kept_byte(c: char) -> bool {
    ('\u{f780}'..='\u{f7ff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that look like an older encoding, but for the mark of UTF-8 before them.
    #[test]
    fn a_byte_order_mark_is_kept_whatever_follows() {
        let bytes = b"\xef\xbb\xbfcaf\xe9 d\xe9j\xe0\n".to_vec();
        let file = TextFile::decode(bytes.clone()).expect("text");
        assert_eq!((file.encoding, file.bom), (Encoding::BrokenUtf8, true));
        assert_eq!(file.encode(&file.text), bytes);
    }
}
