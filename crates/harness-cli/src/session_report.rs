//! What `harness doctor` says of sessions.

use harness_session::{Filter, Store};

use crate::environment::Environment;
use crate::quantity::{count, size};
use crate::session_place::SessionPlace;

/// A name and a value for each line.
pub(crate) fn lines(environment: &Environment) -> Vec<(&'static str, String)> {
    let Some(place) = SessionPlace::of(environment) else {
        let none = "nothing is kept: neither HOME nor XDG_DATA_HOME is set";
        return vec![("none", none.to_owned())];
    };
    let mut lines = vec![("folder", place.folder.display().to_string())];
    match place.store.list(&Filter::default()) {
        Err(error) => lines.push(("note", error.to_string())),
        Ok(listed) => {
            let bytes = listed.iter().map(|listed| listed.bytes).sum();
            let kept = count(listed.len() as u64, "session");
            lines.push(("kept", format!("{kept}, {}", size(bytes))));
            for listed in &listed {
                if let Some(problem) = &listed.problem {
                    let id = listed.header.id;
                    let hint = format!("{problem}; `harness sessions repair {id}`");
                    lines.push(("damaged", hint));
                }
            }
        }
    }
    lines
}
