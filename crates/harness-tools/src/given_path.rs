//! What a path means that a model gave.
//!
//! In this order:
//!
//! 1. `file://` URLs, whose host is empty or `localhost`, stand for their path, percent-decoded.
//! 2. `~` and `~/…` are the home folder. `~name` is a file of that name.
//! 3. A leading `@`, as people mark files in a prompt, is dropped if the folder has nothing with the
//!    first component's name as it is given, and has something with it without the `@`.
//! 4. Anything else is a path, relative to the root if it is not absolute.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The path, absolute. `exists` says whether there is something, without following a symlink.
pub(crate) fn absolute(
    given: &str,
    root: &Path,
    home: Option<&Path>,
    exists: impl Fn(&Path) -> bool,
) -> Result<PathBuf, Error> {
    if given.trim().is_empty() {
        return Err(Error::Path("is empty".to_owned()));
    }
    if given.contains('\0') {
        return Err(Error::Path("contains a NUL character".to_owned()));
    }
    if let Some(rest) = strip_scheme(given) {
        return from_url(rest);
    }
    let mut given = given;
    if let Some(rest) = given.strip_prefix('@')
        && !rest.is_empty()
        && !exists(&root.join(first_component(given)))
        && (rest.starts_with(['/', '~']) || exists(&root.join(first_component(rest))))
    {
        given = rest;
    }
    match given.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => match home {
            Some(home) => Ok(home.join(rest.trim_start_matches('/'))),
            None => Err(Error::Path(
                "begins with `~`, and no home folder is known; name the folder".to_owned(),
            )),
        },
        _ => Ok(root.join(given)),
    }
}

fn first_component(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

fn strip_scheme(given: &str) -> Option<&str> {
    let (scheme, rest) = given.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case("file://").then_some(rest)
}

fn from_url(rest: &str) -> Result<PathBuf, Error> {
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(Error::Path(format!(
            "is a URL of the host `{host}`; only files of this machine can be named"
        )));
    }
    let bytes = percent_decoded(path.as_bytes());
    if bytes.is_empty() || bytes.contains(&0) {
        return Err(Error::Path("is a file URL without a path".to_owned()));
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// A `%` that no two hexadecimal digits follow stands for itself.
fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let escape = (*byte == b'%').then(|| digit(at + 1).zip(digit(at + 2)));
        if let Some((high, low)) = escape.flatten() {
            out.push((high * 16 + low) as u8);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_path_means() {
        let there = ["/ws/src", "/ws/@types", "/ws/@a", "/ws/a"];
        let meant = |given: &str| {
            absolute(
                given,
                Path::new("/ws"),
                Some(Path::new("/srv/me")),
                |path| there.iter().any(|there| Path::new(there) == path),
            )
        };
        for (given, expected) in [
            ("src/a.rs", "/ws/src/a.rs"),
            ("/etc/hosts", "/etc/hosts"),
            ("~", "/srv/me"),
            ("~/x", "/srv/me/x"),
            ("~other/x", "/ws/~other/x"),
            ("@src/a.rs", "/ws/src/a.rs"),
            ("@types/a.d.ts", "/ws/@types/a.d.ts"),
            ("@a", "/ws/@a"),
            ("@new", "/ws/@new"),
            ("@/etc/hosts", "/etc/hosts"),
            ("@~/x", "/srv/me/x"),
            ("@", "/ws/@"),
            ("file:///etc/a%20b", "/etc/a b"),
            ("FILE://localhost/etc/%C3%A9", "/etc/é"),
            ("file:///a%zz%4", "/a%zz%4"),
            ("file:x", "/ws/file:x"),
        ] {
            assert_eq!(meant(given).expect(given), Path::new(expected), "{given}");
        }
        for given in ["", " ", "a\0b", "file://host/x", "file://", "file:///%00"] {
            assert!(meant(given).is_err(), "{given:?}");
        }
    }
}
