//! Patterns for paths.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobMatcher};

use crate::surroundings::Surroundings;

/// Where a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Root,
    Home,
    Temp,
    Absolute,
}

/// A glob over real paths, of which `*` and `?` match no `/`, and `**` any number of folders.
#[derive(Clone, Debug)]
pub(crate) struct PathGlob {
    text: String,
    anchor: Anchor,
    matcher: GlobMatcher,
    /// For a pattern that ends in `/**`: the folder itself is meant too.
    folder: Option<GlobMatcher>,
    /// It means everything below its anchor.
    is_all: bool,
    /// A name that its last part matches, for comparing it with other patterns.
    sample: String,
}

impl PartialEq for PathGlob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathGlob {}

impl PathGlob {
    /// Or what is wrong, and at which byte.
    pub(crate) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let (anchor, rest) = match text {
            "~" => (Anchor::Home, ""),
            _ if text.starts_with("~/") => (Anchor::Home, text.get(2..).unwrap_or_default()),
            _ if text.starts_with('~') => {
                return Err((0, "`~` stands alone or before a `/`".to_owned()));
            }
            _ if text.starts_with("<temp>/") => (Anchor::Temp, text.get(7..).unwrap_or_default()),
            _ if text.starts_with('/') => (Anchor::Absolute, text),
            _ => (Anchor::Root, text.strip_prefix("./").unwrap_or(text)),
        };
        if text.is_empty() {
            return Err((0, "a pattern is missing between the brackets".to_owned()));
        }
        if let Some(at) = text.split('/').position(|part| part == "..") {
            let at: usize = text.split('/').take(at).map(|part| part.len() + 1).sum();
            return Err((
                at,
                "real paths have no `..`, so this would match nothing".to_owned(),
            ));
        }
        let rest = match rest {
            "." => "",
            "/" => "/",
            rest => rest.strip_suffix('/').unwrap_or(rest),
        };
        let glob = |text: &str| -> Result<Glob, (usize, String)> {
            let glob = GlobBuilder::new(text)
                .literal_separator(true)
                .backslash_escape(true)
                .build();
            glob.map_err(|error| (0, error.kind().to_string()))
        };
        let folder = match rest.strip_suffix("/**") {
            Some("") => Some(glob("/")?.compile_matcher()),
            Some(folder) => Some(glob(folder)?.compile_matcher()),
            None => None,
        };
        let last = rest.rsplit('/').next().unwrap_or_default();
        let sample = last.replace("**", "*").replace(['*', '?'], "x");
        Ok(Self {
            text: text.to_owned(),
            anchor,
            matcher: glob(rest)?.compile_matcher(),
            folder,
            is_all: matches!(rest, "**" | "**/*"),
            sample,
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn matches(&self, path: &Path, surroundings: &Surroundings) -> bool {
        let base = match self.anchor {
            Anchor::Absolute => return self.is_match(path),
            Anchor::Root => Some(surroundings.root.as_path()),
            Anchor::Home => surroundings.home.as_deref(),
            Anchor::Temp => surroundings.temp.as_deref(),
        };
        let Some(rest) = base.and_then(|base| path.strip_prefix(base).ok()) else {
            return false;
        };
        self.is_all || self.is_match(rest)
    }

    fn is_match(&self, path: &Path) -> bool {
        self.matcher.is_match(path) || self.folder.as_ref().is_some_and(|it| it.is_match(path))
    }

    /// Whether each file in `folder` whose name `names` matches is certain to be meant by this.
    pub(crate) fn covers(&self, folder: &Path, names: &str, surroundings: &Surroundings) -> bool {
        let last = self.text.rsplit('/').next().unwrap_or_default();
        let is_any_name = self.is_all || matches!(last, "*" | "**") || last == names;
        is_any_name && self.matches(&folder.join(&self.sample), surroundings)
    }

    /// Whether a file in `folder` could be meant by this and have a name that `names` matches. In doubt
    /// it could.
    pub(crate) fn could_match(
        &self,
        folder: &Path,
        names: &str,
        surroundings: &Surroundings,
    ) -> bool {
        let matches_name = |name: &str| match GlobBuilder::new(names).backslash_escape(true).build()
        {
            Ok(glob) => {
                glob.compile_matcher().is_match(name)
                    && (!name.starts_with('.') || names.starts_with(['.', '\\', '[']))
            }
            Err(_) => true,
        };
        let samples = [self.sample.as_str(), names];
        samples.iter().any(|name| {
            let is_named = *name == names || matches_name(name);
            is_named && self.matches(&folder.join(name), surroundings)
        })
    }
}
