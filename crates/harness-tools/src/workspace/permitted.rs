//! What a call would do, and how it is held to what was let through of that.

use std::path::Path;

use harness_core::{Permit, ToolEffects};

use super::Workspace;
use crate::error::Error;
use crate::place::Place;
use crate::version::FileVersion;

impl Workspace {
    /// The effect of reading what a path leads to. That nothing is there, or that it may not be read,
    /// is for the call to find.
    pub(crate) fn reads(&self, path: &str) -> ToolEffects {
        match self.to_read(path).or_else(|_| self.resolve(path)) {
            Ok(place) => ToolEffects::read(place.real),
            Err(_) => ToolEffects::unknown(),
        }
    }

    /// The effect of writing what a path leads to. That it may not be written is for the call to find.
    pub(crate) fn writes(&self, path: &str) -> ToolEffects {
        match self.resolve(path) {
            Ok(place) => ToolEffects::write(place.real),
            Err(_) => ToolEffects::unknown(),
        }
    }

    /// The effect of changing what a path leads to.
    pub(crate) fn changes(&self, path: &str) -> ToolEffects {
        match self.to_change(path) {
            Ok(place) => ToolEffects::write(place.real),
            Err(_) => self.writes(path),
        }
    }

    /// Whether a file is still as it was when somebody said yes to what is made of it. `None`: it is not there.
    pub(crate) fn check_approved(
        &self,
        place: &Place,
        version: Option<FileVersion>,
    ) -> Result<(), Error> {
        let approved = self.0.permit.as_ref().and_then(Permit::preview);
        if approved.is_some_and(|state| state != FileVersion::digest(version)) {
            return Err(Error::Changed {
                path: place.shown.clone(),
                what: "changed after the change had been approved",
            });
        }
        Ok(())
    }

    /// Whether the call is held to what was let through.
    pub(crate) fn is_permitted_only(&self) -> bool {
        self.0.permit.is_some()
    }

    /// Whether a search that was let through for a folder leaves this file of it out.
    pub(crate) fn leaves_out(&self, real: &Path) -> bool {
        let permit = self.0.permit.as_ref();
        permit.is_some_and(|permit| !permit.reads(real))
    }
}
