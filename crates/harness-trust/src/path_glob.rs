//! Patterns for paths.

use std::path::Path;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSetBuilder};

use crate::glob_overlap::{are_alike, overlaps};
use crate::surroundings::Surroundings;

/// The longest pattern, in bytes. No path is longer.
const LONGEST: usize = 4096;

/// The longest pattern that is certain to compile, in bytes: of longer ones it is found out.
const CERTAIN: usize = 256;

/// Where a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Root,
    Home,
    Temp,
    Absolute,
}

/// A glob whose regular expression is compiled by the first path that it is asked about: there are dozens of rules in
/// each run, and most are never asked.
#[derive(Clone, Debug)]
struct LazyMatcher {
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl LazyMatcher {
    fn is_match(&self, path: &Path) -> bool {
        let matcher = self.matcher.get_or_init(|| self.glob.compile_matcher());
        matcher.is_match(path)
    }
}

impl From<Glob> for LazyMatcher {
    fn from(glob: Glob) -> Self {
        let matcher = OnceLock::new();
        Self { glob, matcher }
    }
}

/// A glob over real paths, of which `*` and `?` match no `/`, and `**` any number of folders.
#[derive(Clone, Debug)]
pub(crate) struct PathGlob {
    text: String,
    anchor: Anchor,
    matcher: LazyMatcher,
    /// For a pattern that ends in `/**`: the folder itself is meant too.
    folder: Option<LazyMatcher>,
    /// It means everything below its anchor.
    is_all: bool,
    /// The pattern behind its anchor.
    rest: String,
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
        if text.len() > LONGEST {
            let what = format!("a pattern has at most {LONGEST} bytes, and this one is longer");
            return Err((text.floor_char_boundary(LONGEST), what));
        }
        if let Some(at) = text.split('/').position(|part| part == "..") {
            let at: usize = text.split('/').take(at).map(|part| part.len() + 1).sum();
            return Err((
                at,
                "real paths have no `..`, so this would match nothing".to_owned(),
            ));
        }
        // A folder with a slash behind it is all that is in it.
        let folder = rest.strip_suffix('/').filter(|_| text != "/");
        let all = folder.map(|folder| match folder.trim_end_matches('/') {
            "" | "." => "**".to_owned(),
            folder => format!("{folder}/**"),
        });
        let rest = match rest {
            "" if text.ends_with('/') => "**",
            "." => "",
            rest => all.as_deref().unwrap_or(rest),
        };
        let glob = |text: &str| -> Result<Glob, (usize, String)> {
            let glob = GlobBuilder::new(text)
                .literal_separator(true)
                .backslash_escape(true)
                .build();
            let error = |error: globset::Error| (0, error.kind().to_string());
            let glob = glob.map_err(error)?;
            if text.len() > CERTAIN {
                GlobSetBuilder::new()
                    .add(glob.clone())
                    .build()
                    .map_err(error)?;
            }
            Ok(glob)
        };
        let folder = match rest.strip_suffix("/**") {
            Some("") => Some(glob("/")?.into()),
            Some(folder) => Some(glob(folder)?.into()),
            None => None,
        };
        Ok(Self {
            text: text.to_owned(),
            anchor,
            matcher: glob(rest)?.into(),
            folder,
            is_all: matches!(rest, "**" | "**/*"),
            rest: rest.to_owned(),
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn base<'a>(&self, surroundings: &'a Surroundings) -> Option<&'a Path> {
        match self.anchor {
            Anchor::Absolute => Some(Path::new("/")),
            Anchor::Root => Some(&surroundings.root),
            Anchor::Home => surroundings.home.as_deref(),
            Anchor::Temp => surroundings.temp.as_deref(),
        }
    }

    pub(crate) fn matches(&self, path: &Path, surroundings: &Surroundings) -> bool {
        if self.anchor == Anchor::Absolute {
            return self.is_match(path);
        }
        let base = self.base(surroundings);
        let Some(rest) = base.and_then(|base| path.strip_prefix(base).ok()) else {
            return false;
        };
        self.is_all || self.is_match(rest)
    }

    /// Whether `path` could be meant by this: for rules that ask or deny. Where the folder that it begins at is not
    /// known, that could be any. And a plain path means all that is in it, should it be a folder.
    pub(crate) fn may_match(&self, path: &Path, surroundings: &Surroundings) -> bool {
        if self.matches(path, surroundings) {
            return true;
        }
        let is_plain = !self.rest.is_empty() && !self.rest.contains(['*', '?', '[', '{', '\\']);
        let Some(base) = self.base(surroundings) else {
            return path.ancestors().any(|base| {
                let rest = path.strip_prefix(base).unwrap_or(path);
                self.is_all || self.is_match(rest) || is_plain && rest.starts_with(&self.rest)
            });
        };
        is_plain
            && path
                .strip_prefix(base)
                .is_ok_and(|rest| rest.starts_with(self.rest.trim_start_matches('/')))
    }

    fn is_match(&self, path: &Path) -> bool {
        self.matcher.is_match(path) || self.folder.as_ref().is_some_and(|it| it.is_match(path))
    }

    /// Whether all that the shell's glob `names` finds in `folder` is certain to be meant by this.
    pub(crate) fn covers(&self, folder: &Path, names: &str, surroundings: &Surroundings) -> bool {
        let last = self.rest.rsplit('/').next().unwrap_or_default();
        if self.is_all || last == "**" {
            return self.matches(folder, surroundings);
        }
        // What is in a set depends on who reads it.
        let is_same = last == names && !names.contains('[');
        let is_any_name = last == "*" && !names.contains('/');
        let sample = names.replace(['*', '?', '\\'], "x");
        (is_same || is_any_name) && self.matches(&folder.join(sample), surroundings)
    }

    /// Whether something that the shell's glob `names` finds in `folder` could be meant by this. In doubt it could.
    pub(crate) fn could_match(
        &self,
        folder: &Path,
        names: &str,
        surroundings: &Surroundings,
    ) -> bool {
        let base = self.base(surroundings);
        base.is_none_or(|base| overlaps(base, &self.rest, folder, names))
    }

    /// Whether what the shell's glob `names` is for in `folder` is meant by this, whatever is there now: `*.p*` is
    /// for `*.pem`, and `*.md` is not for `id_rsa*`, though a file could have both names.
    pub(crate) fn is_likely(
        &self,
        folder: &Path,
        names: &str,
        surroundings: &Surroundings,
    ) -> bool {
        let base = self.base(surroundings);
        base.is_none_or(|base| are_alike(base, &self.rest, folder, names))
    }
}
