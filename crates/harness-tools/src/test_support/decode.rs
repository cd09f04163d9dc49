//! Reading the bytes of a file as text loses nothing, however they come.
//!
//! The first byte says how the rest is cut; the rest is the file.

use super::input::{Input, pieces};
use crate::text_file::{Encoding, Sniffed, TextFile, decode_piece, is_kept_byte, sniff};

/// - Bytes that are taken for text are written back as they were; others are refused.
/// - A stream in any pieces gives the text that it gives at once.
/// - A text written in an encoding that its first bytes tell is read as the same text.
pub fn check_decode(data: &[u8]) {
    let mut input = Input::new(data);
    let seed = input.byte();
    let bytes = input.rest();

    match TextFile::decode(bytes.to_vec()) {
        Ok(file) => assert_eq!(file.encode(&file.text), bytes, "written back"),
        Err(reason) => assert!(!reason.is_empty()),
    }

    let mut encodings = vec![
        Encoding::Utf8,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Legacy(encoding_rs::SHIFT_JIS),
        Encoding::Legacy(encoding_rs::GB18030),
    ];
    for whole in [false, true] {
        if let Sniffed::Text { encoding, bom } = sniff(bytes, whole) {
            assert!(bom <= bytes.len());
            encodings.push(encoding);
        }
    }
    for encoding in encodings {
        check_stream(bytes, seed, encoding);
    }

    let text: String = String::from_utf8_lossy(bytes)
        .chars()
        .filter(|c| *c != '\0' && !is_kept_byte(*c))
        .collect();
    for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be] {
        let file = TextFile {
            text: text.clone(),
            encoding,
            bom: true,
        };
        let bytes = file.encode(&text);
        assert_eq!(TextFile::decode(bytes), Ok(file), "read again");
    }
}

fn check_stream(bytes: &[u8], seed: u8, encoding: Encoding) {
    let mut at_once = String::new();
    decode_piece(&mut encoding.stream_decoder(), bytes, true, &mut at_once);
    let mut joined = String::new();
    let mut decoder = encoding.stream_decoder();
    for piece in pieces(bytes, seed) {
        decode_piece(&mut decoder, piece, false, &mut joined);
    }
    decode_piece(&mut decoder, b"", true, &mut joined);
    assert_eq!(joined, at_once, "{} in pieces", encoding.name());
}
