//! What `harness doctor` says of sessions.

use std::io;
use std::path::Path;

use harness_session::{Access, Error, Filter, SessionId, Store};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::quantity::{count, size};
use crate::session_export::without_path;
use crate::session_place::SessionPlace;

/// What is said.
#[derive(Default)]
pub(crate) struct SessionReport {
    /// A name and a value for each line.
    pub(crate) lines: Vec<(&'static str, String)>,
    pub(crate) problems: Vec<Failure>,
}

impl SessionReport {
    pub(crate) fn of(environment: &Environment) -> Self {
        let mut report = Self::default();
        let Some(place) = SessionPlace::of(environment) else {
            let none = "nothing is kept: neither HOME nor XDG_DATA_HOME is set";
            report.lines.push(("none", none.to_owned()));
            return report;
        };
        let folder = place.folder.display();
        report.lines.push(("folder", folder.to_string()));
        if let Err(error) = writable(&place.folder) {
            let error = without_path(&error);
            let problem = format!("sessions cannot be kept in {folder}: {error}");
            report.problems.push(Failure::configuration(problem));
        }
        match place.store.list(&Filter::default()) {
            Err(error) => {
                let problem = Failure::configuration(error.to_string());
                report.problems.push(problem);
            }
            Ok(listed) => {
                let bytes = listed.iter().map(|listed| listed.bytes).sum();
                let kept = count(listed.len() as u64, "session");
                report
                    .lines
                    .push(("kept", format!("{kept}, {}", size(bytes))));
                for listed in &listed {
                    if let Some(problem) = &listed.problem {
                        report.unreadable(&place, listed.header.id, problem);
                    }
                }
            }
        }
        report
    }

    /// A session that cannot be read: of a newer version, or damaged.
    fn unreadable(&mut self, place: &SessionPlace, id: SessionId, problem: &str) {
        if let Err(Error::Newer { .. }) = place.store.open(id, Access::Read) {
            let line = format!("{problem}; use the newer version of harness");
            self.lines.push(("newer", line));
            return;
        }
        let repair = format!("`harness sessions repair {id}` saves what can be read");
        self.lines.push(("damaged", problem.to_owned()));
        let failure = Failure::failed(format!("a session is damaged: {problem}"));
        self.problems.push(failure.hint(repair));
    }
}

/// Whether files can be made in a folder, or in the nearest one above it that is there. Leaves nothing.
fn writable(folder: &Path) -> io::Result<()> {
    let mut above = folder.ancestors();
    let there = above.find(|above| above.symlink_metadata().is_ok());
    tempfile::tempfile_in(there.unwrap_or(folder)).map(drop)
}
