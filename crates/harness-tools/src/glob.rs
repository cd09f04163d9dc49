//! Which paths a glob means.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::error::Error;

/// A glob over paths below a folder.
///
/// Without a slash it is matched against names, at any depth; with one, against the whole path from
/// the folder. `*` and `?` do not match a slash, `**` matches any number of folders, none included;
/// `{a,b}`, `[abc]` and `\` are as usual. A slash at the end asks for a folder. Hidden names are like
/// others.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    matcher: GlobMatcher,
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
        let matcher = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| Error::Argument(format!("The glob is invalid: {error}.")))?
            .compile_matcher();
        let whole_path = anchored || pattern.contains('/');
        Ok(Self {
            matcher,
            whole_path,
            folders_only,
        })
    }

    /// Whether it means this path, which is relative to the folder.
    pub(crate) fn is_match(&self, path: &Path, is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        if self.whole_path {
            self.matcher.is_match(path)
        } else {
            path.file_name()
                .is_some_and(|name| self.matcher.is_match(PathBuf::from(name)))
        }
    }
}
