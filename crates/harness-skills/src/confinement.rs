//! How far the links of a root may lead.

use std::path::Path;
use std::sync::Arc;

use crate::finding::Finding;
use crate::rule;

/// What links should not lead out of, and what becomes of those that do.
#[derive(Clone, Debug)]
pub(crate) struct Confinement {
    /// A folder, as it really is.
    boundary: Arc<Path>,
    /// Whether they are not followed. Else they are, and it is told.
    refuses: bool,
    /// Whether that is so only until the root is trusted.
    until_trusted: bool,
}

impl Confinement {
    pub(crate) fn new(folder: &Path, refuses: bool, until_trusted: bool) -> Self {
        let boundary = folder.canonicalize();
        Self {
            boundary: boundary.unwrap_or_else(|_| folder.to_owned()).into(),
            refuses,
            until_trusted,
        }
    }

    /// What no file may be out of, if links out of it are not followed.
    pub(crate) fn boundary(&self) -> Option<&Arc<Path>> {
        self.refuses.then_some(&self.boundary)
    }

    /// What is to be said of a link, if it leads outside.
    pub(crate) fn check(&self, link: &Path) -> Option<Finding> {
        let target = link.canonicalize().ok()?;
        if target.starts_with(&self.boundary) {
            return None;
        }
        let target = target.display();
        if !self.refuses {
            let message = format!("the link leads to {target}, out of its root");
            return Some(Finding::new(&rule::LINK_OUTSIDE, message));
        }
        let until = if self.until_trusted {
            " until that is trusted"
        } else {
            ""
        };
        let boundary = self.boundary.display();
        let message =
            format!("the link leads to {target}, out of {boundary}: it is not followed{until}");
        Some(Finding::new(&rule::LINK_REFUSED, message).fatal())
    }
}
