//! Names of files as text, and the way back.
//!
//! A name may hold any byte but `/` and NUL. In what a model sees, a byte that is not UTF-8 is written
//! `\xE9`, a control character, which could look like the end of the name, `\n`, `\r`, `\t` or `\x1b`,
//! and a tag character, which nobody would see, `\u{e0041}`. A path that a model gives is taken as it is; only if nothing is there, a name that is shown
//! the same is looked for, so that what was shown can be given back.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::invisible::is_tag;

/// A name or path as it is shown.
pub(crate) fn shown(name: &OsStr) -> Cow<'_, str> {
    match name.to_str() {
        Some(text) if !text.chars().any(|c| c.is_control() || is_tag(c)) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(name.as_bytes())),
    }
}

/// A path as it is shown.
pub(crate) fn shown_path(path: &Path) -> Cow<'_, str> {
    shown(path.as_os_str())
}

fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                c if c.is_control() => {
                    let _ = write!(out, "\\x{:02x}", u32::from(c));
                }
                c if is_tag(c) => {
                    let _ = write!(out, "{}", c.escape_unicode());
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_in_one_line() {
        for (bytes, expected) in [
            (&b"plain \xc3\xa9.txt"[..], "plain é.txt"),
            (b"caf\xe9", "caf\\xE9"),
            (b"a\nb\tc\rd", "a\\nb\\tc\\rd"),
            (b"\x1b[31mred", "\\x1b[31mred"),
            (b"back\\slash", "back\\slash"),
            ("tag\u{e0041}".as_bytes(), "tag\\u{e0041}"),
        ] {
            assert_eq!(shown(OsStr::from_bytes(bytes)), expected);
        }
    }
}
