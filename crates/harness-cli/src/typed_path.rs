//! A path, as a person typed it.

use std::io;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// The absolute path that is meant: relative ones are in the folder that the command was given in. Links stay
/// as they are; but a path that ends in `..` gets the name that its folder has.
pub(crate) fn typed_path(path: &Path, environment: &Environment) -> io::Result<PathBuf> {
    let path = std::path::absolute(environment.expand_home(path))?;
    if path.file_name().is_none() {
        return path.canonicalize();
    }
    Ok(path)
}
