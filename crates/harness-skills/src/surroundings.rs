//! What holds of the place of a skill's file for as long as the skill is used.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use crate::form::Form;

/// What holds of the place of a skill's file for as long as the skill is used, whatever becomes of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// What the file is.
    pub(crate) form: Form,
    /// The folder that no file of it may be out of, as it really is. `None`: they may be anywhere.
    pub(crate) boundary: Option<Arc<Path>>,
    /// Whether its folder is a checkout, whose name nobody has given to a skill.
    pub(crate) is_checkout: bool,
    /// Whether its folder is that of other skills, too, whose files are not its own.
    pub(crate) is_shared: bool,
}

impl Surroundings {
    /// The name that its folder gives to it.
    pub(crate) fn folder_name<'d>(&self, directory: &'d Path) -> Option<&'d OsStr> {
        directory.file_name().filter(|_| !self.is_checkout)
    }
}
