//! The order in which paths are shown: by their parts, compared as bytes.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path that is compared by its parts, each as bytes: the order of [`Path`], at the price of
/// comparing bytes. A slash is kept as a zero byte, which no path has and which comes before every
/// other; so a folder comes before what is in it, and that before `folder.txt`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathKey(Vec<u8>);

impl PathKey {
    pub(crate) fn new(path: &Path) -> Self {
        let mut bytes = path.as_os_str().as_bytes().to_vec();
        for byte in &mut bytes {
            if *byte == b'/' {
                *byte = 0;
            }
        }
        Self(bytes)
    }

    /// Whether it comes after this path. If not, it comes before all that is in that folder, too.
    pub(crate) fn is_after(&self, path: &Path) -> bool {
        let as_key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
        let path = path.as_os_str().as_bytes().iter().map(as_key);
        self.0.iter().copied().cmp(path) == Ordering::Greater
    }

    pub(crate) fn into_path(self) -> PathBuf {
        let mut bytes = self.0;
        for byte in &mut bytes {
            if *byte == 0 {
                *byte = b'/';
            }
        }
        PathBuf::from(OsString::from_vec(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_paths(a in "/[a.b]{1,3}(/[a.b\u{e9}]{1,3}){0,3}", b in "/[a.b]{1,3}(/[a.b\u{e9}]{1,3}){0,3}") {
            prop_assume!(![&a, &b].iter().any(|path| path.split('/').any(|part| part == "." || part == "..")));
            let (a, b) = (Path::new(&a), Path::new(&b));
            let (x, y) = (PathKey::new(a), PathKey::new(b));
            prop_assert_eq!(a.cmp(b), x.cmp(&y));
            prop_assert_eq!(x.is_after(b), a > b);
            prop_assert_eq!(x.into_path(), a);
        }
    }
}
