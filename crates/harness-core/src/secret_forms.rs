//! The forms in which a secret comes back.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::secret::Secret;

/// The forms of a secret.
pub(crate) struct Forms {
    /// Those that stand on one line: the secret itself among them.
    pub(crate) plain: Vec<String>,
    /// Those that are of base64 or hexadecimal digits alone, which encoders break into lines.
    pub(crate) broken: Vec<String>,
}

/// Whether a character can stand in a form that encoders break into lines.
pub(crate) fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// A secret in each form in which a service or a command may repeat it.
pub(crate) fn forms(secret: &Secret) -> Forms {
    let text = secret.expose();
    let escaped = serde_json::to_string(text).unwrap_or_default();
    let escaped = escaped.trim_start_matches('"');
    let escaped = escaped.strip_suffix('"').unwrap_or(escaped);
    let mut plain = vec![
        text.to_owned(),
        escaped.to_owned(),
        // Some encoders escape these, too.
        escaped.replace('/', "\\/"),
    ];
    let mut broken = Vec::new();
    for uppercase in [false, true] {
        let mut hex = String::with_capacity(text.len() * 2);
        let mut percent = String::with_capacity(text.len() * 3);
        for byte in text.bytes() {
            push_hex(&mut hex, byte, uppercase);
            // RFC 3986, 2.3: these are never encoded.
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                percent.push(char::from(byte));
            } else {
                percent.push('%');
                push_hex(&mut percent, byte, uppercase);
            }
        }
        // Some encoders take the text for a path.
        let path = percent.replace(if uppercase { "%2F" } else { "%2f" }, "/");
        plain.extend([percent, path]);
        broken.push(hex);
    }
    broken.extend((0..3).flat_map(|before| {
        [
            base64_part(&STANDARD_NO_PAD, text, before),
            base64_part(&URL_SAFE_NO_PAD, text, before),
        ]
    }));
    Forms { plain, broken }
}

fn push_hex(to: &mut String, byte: u8, uppercase: bool) {
    let _ = if uppercase {
        write!(to, "{byte:02X}")
    } else {
        write!(to, "{byte:02x}")
    };
}

/// The digits that a secret alone decides, where `before` bytes (and any number of threes of bytes) stand
/// before it. RFC 4648, 4: a digit is six bits.
fn base64_part(engine: &base64::engine::GeneralPurpose, text: &str, before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(text.as_bytes());
    let digits = engine.encode(&bytes);
    let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    digits.get(first..end).unwrap_or_default().to_owned()
}
