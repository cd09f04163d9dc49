//! Which paths a glob means.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobSet};

use crate::error::Error;

/// A glob over paths below a folder.
///
/// Without a slash it is matched against names, at any depth; with one, against the whole path from
/// the folder. `*` and `?` do not match a slash, `**` matches any number of folders, none included;
/// `{a,b}`, `[abc]` and `\` are as usual. A slash at the end asks for a folder. Hidden names are like
/// others.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    /// A set of one: unlike a single matcher, it looks at an extension or a name before it asks a
    /// regular expression.
    matcher: GlobSet,
    /// How many bytes of a path are the folder's, with the slash.
    skip: usize,
    whole_path: bool,
    folders_only: bool,
}

impl Glob {
    /// Reads a glob. An absolute one that begins with `folder` is taken from there.
    pub(crate) fn new(pattern: &str, folder: &Path) -> Result<Self, Error> {
        let mut pattern = pattern;
        let prefix = folder.to_string_lossy();
        if let Some(rest) = pattern.strip_prefix(&*prefix)
            && rest.starts_with('/')
        {
            pattern = rest;
        }
        while let Some(rest) = pattern.strip_prefix("./") {
            pattern = rest;
        }
        let anchored = pattern.starts_with('/');
        pattern = pattern.trim_start_matches('/');
        let folders_only = pattern.ends_with('/');
        pattern = pattern.trim_end_matches('/');
        if pattern.is_empty() {
            return Err(Error::Argument("The glob is empty.".to_owned()));
        }
        if pattern.split('/').any(|part| part == "..") {
            return Err(Error::Argument(
                "The glob leaves the folder with `..`. Name the other folder in `path`.".to_owned(),
            ));
        }
        let matcher = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .and_then(|glob| GlobSet::builder().add(glob).build())
            .map_err(|error| Error::Argument(format!("The glob is invalid: {error}.")))?;
        let whole_path = anchored || pattern.contains('/');
        let folder = folder.as_os_str().as_bytes();
        Ok(Self {
            matcher,
            skip: folder.len() + usize::from(folder != b"/"),
            whole_path,
            folders_only,
        })
    }

    /// Whether it means this path below the folder.
    pub(crate) fn is_match(&self, path: &Path, is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        let bytes = path.as_os_str().as_bytes();
        let start = if self.whole_path {
            self.skip
        } else {
            memchr::memrchr(b'/', bytes).map_or(0, |at| at + 1)
        };
        bytes
            .get(start..)
            .is_some_and(|part| self.matcher.is_match(Path::new(OsStr::from_bytes(part))))
    }
}
