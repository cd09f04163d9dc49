//! The ids of spans and traces, as files have them.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::DecodePaddingMode::Indifferent;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// With padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(Indifferent),
);

/// An id of so many bytes in hexadecimal digits. OTLP as JSON has hexadecimal digits; protobuf's own JSON, which some
/// programs write instead, base64. What is neither stays as it is; what is only zeros is none.
pub(super) fn id(text: &str, bytes: usize) -> String {
    let text = text.trim();
    let is_hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = if is_hex && text.len() == 2 * bytes {
        text.to_ascii_lowercase()
    } else {
        match BASE64.decode(text) {
            Ok(decoded) if decoded.len() == bytes => hexadecimal(&decoded),
            _ => text.to_owned(),
        }
    };
    if id.bytes().all(|byte| byte == b'0') {
        return String::new();
    }
    id
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The same of what may be missing.
pub(super) fn optional_id(text: Option<&str>, bytes: usize) -> String {
    text.map(|text| id(text, bytes)).unwrap_or_default()
}

/// How many bytes a trace's id has.
pub(super) const TRACE: usize = 16;
/// How many bytes a span's id has.
pub(super) const SPAN: usize = 8;
