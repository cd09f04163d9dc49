//! Bringing sessions of older versions up to date.

use std::fs::File;
use std::io::{self, Write};

use crate::error::Error;
use crate::file_lock::SessionFile;
use crate::header::{Header, VERSION};
use crate::header_line;
use crate::lines::Lines;
use crate::replacement::replace;
use crate::session_files::SessionFiles;

/// How the lines of a version become those of the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The version that it begins with.
    pub(crate) from: u32,
    /// Makes a line of a line; both without their ends. It is given each line that is JSON, the first
    /// one, too.
    pub(crate) line: fn(&[u8]) -> Result<Vec<u8>, String>,
}

/// The steps from each older version to the next one. There is only one version as yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Migrations {
    steps: &'static [Step],
}

impl Migrations {
    #[cfg(test)]
    pub(crate) fn new(steps: &'static [Step]) -> Self {
        Self { steps }
    }

    /// The steps from a version to the present one.
    fn from(self, version: u32) -> Result<Vec<Step>, String> {
        (version..VERSION)
            .map(|from| {
                let step = self.steps.iter().find(|step| step.from == from);
                step.copied()
                    .ok_or_else(|| format!("version {from} of the format is not known"))
            })
            .collect()
    }

    /// A line of a version, as one of the present version.
    pub(crate) fn line(self, line: &[u8], version: u32) -> Result<Vec<u8>, String> {
        let mut line = line.to_vec();
        for step in self.from(version)? {
            line = (step.line)(&line)?;
        }
        Ok(line)
    }

    /// Writes a whole file of a version as one of the present version. What is no JSON is kept as it is.
    fn write(self, old: &File, version: u32, to: &mut dyn Write) -> Result<(), Failure> {
        let steps = self.from(version).map_err(Failure::Step)?;
        let size = old.metadata().map_err(Failure::Io)?.len();
        let mut lines = Lines::new(old, 0, size);
        let mut number = 0_u64;
        while let Some(line) = lines.next().map_err(Failure::Io)? {
            number += 1;
            let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(line.bytes).is_ok();
            if line.is_too_long {
                return Err(Failure::Step(format!("line {number} is too long")));
            }
            let mut bytes = line.bytes.to_vec();
            if is_json {
                for step in &steps {
                    bytes = (step.line)(&bytes)
                        .map_err(|why| Failure::Step(format!("line {number}: {why}")))?;
                }
            }
            if number == 1 {
                bytes = present_header(&bytes).map_err(Failure::Step)?;
            }
            if line.is_ended {
                bytes.push(b'\n');
            }
            to.write_all(&bytes).map_err(Failure::Io)?;
        }
        Ok(())
    }

    /// Brings a locked session up to date, and gives its new file, locked. What it was before is kept as
    /// `<id>.jsonl.v<version>`.
    pub(crate) fn migrate(
        self,
        files: &SessionFiles,
        old: &File,
        version: u32,
    ) -> Result<(SessionFile, String), Error> {
        let (file, backup) = replace(files, old, &format!("jsonl.v{version}"), |to| {
            self.write(old, version, to)
                .map_err(|failure| failure.of(files))
        })?;
        let told = format!(
            "the session was brought from version {version} of the format to version {VERSION}; what it was before is kept in {}",
            backup.display()
        );
        Ok((file, told))
    }

    /// A file as it would be if it were brought up to date. It has no name, and is gone when it is
    /// closed.
    pub(crate) fn view(
        self,
        files: &SessionFiles,
        old: &File,
        version: u32,
    ) -> Result<File, Error> {
        let view = tempfile::tempfile().map_err(Failure::Io);
        view.and_then(|view| {
            let mut writer = io::BufWriter::new(&view);
            self.write(old, version, &mut writer)?;
            writer.flush().map_err(Failure::Io)?;
            drop(writer);
            Ok(view)
        })
        .map_err(|failure| failure.of(files))
    }
}

/// A first line that the steps were taken with, with the version that it has now.
fn present_header(line: &[u8]) -> Result<Vec<u8>, String> {
    let header = serde_json::from_slice::<Header>(line).and_then(|mut header| {
        header.version = VERSION;
        header_line::write(&header)
    });
    let mut line = header.map_err(|error| format!("line 1: {error}"))?;
    line.pop();
    Ok(line)
}

enum Failure {
    Io(io::Error),
    Step(String),
}

impl Failure {
    fn of(self, files: &SessionFiles) -> Error {
        let path = files.session();
        match self {
            Self::Io(error) => Error::io("cannot bring to the present version", path)(error),
            Self::Step(problem) => Error::Invalid {
                place: path.display().to_string(),
                problem: format!("it cannot be brought to version {VERSION}: {problem}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::id::SessionId;
    use crate::jsonl_store::JsonlStore;
    use crate::store::{Access, Durability, Filter, Log, Store};

    /// A made-up version, in which types were called kinds, and one could not be brought on.
    const STEP: Step = Step {
        from: 0,
        line: |line| {
            let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
            if text.contains("hopeless") {
                return Err("it is hopeless".to_owned());
            }
            Ok(text.replacen("\"kind\":", "\"type\":", 1).into_bytes())
        },
    };

    fn old(folder: &Path, last: &str) -> (JsonlStore, SessionId, String) {
        let id = SessionId::new();
        let text = format!(
            concat!(
                r#"{{"kind":"session","type":"session","version":0,"id":"{id}","time":1}}"#,
                "\nno JSON\n",
                r#"{{"kind":"name","id":"018bcfe5-6800-7000-8000-000000000001","name":"old"}}"#,
                "\n{last}",
            ),
            id = id,
            last = last,
        )
        .replacen(r#""kind":"session","#, "", 1);
        fs::create_dir_all(folder.join("_")).unwrap();
        fs::write(folder.join(format!("_/{id}.jsonl")), &text).unwrap();
        let store = JsonlStore::new(folder)
            .durability(Durability::Never)
            .migrations(Migrations::new(&[STEP]));
        (store, id, text)
    }

    fn names(log: &dyn Log) -> Vec<String> {
        let entries = (0..log.len()).map(|number| log.read(number).unwrap());
        entries.map(|entry| format!("{:?}", entry.body)).collect()
    }

    #[test]
    fn a_session_of_an_older_version_is_brought_up_to_date_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (store, id, text) = old(folder.path(), "");
        let path = store.path_of(id).unwrap();
        let reader = store.open(id, Access::Read).unwrap();
        assert_eq!(names(&*reader).len(), 1);
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            text,
            "a reader changes nothing"
        );
        assert_eq!(fs::read_dir(folder.path().join("_")).unwrap().count(), 1);
        let listed = &store.list(&Filter::default()).unwrap()[0];
        assert_eq!((listed.header.version, &listed.problem), (VERSION, &None));

        let mut log = store.open(id, Access::Write).unwrap();
        assert!(names(&*log)[0].contains("old"), "{:?}", names(&*log));
        let backup = path.with_extension("jsonl.v0");
        let told = log.take_warnings();
        assert!(told[0].contains(backup.to_str().unwrap()), "{told:?}");
        assert!(told[1].contains("line 2"), "{told:?}");
        assert_eq!(fs::read_to_string(&backup).unwrap(), text);
        let second = store.open(id, Access::Write).map(drop);
        assert!(matches!(second, Err(Error::Locked { .. })), "{second:?}");
        drop(log);
        let now = fs::read_to_string(&path).unwrap();
        assert!(
            now.contains("\nno JSON\n"),
            "what is no JSON is kept: {now}"
        );
        let mut log = store.open(id, Access::Write).unwrap();
        assert_eq!(log.header().version, VERSION);
        let told = log.take_warnings();
        assert_eq!(told.len(), 1, "it is brought up to date once: {told:?}");
    }

    #[test]
    fn a_step_that_fails_leaves_everything_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (store, id, text) = old(folder.path(), "{\"kind\":\"hopeless\"}\n");
        let path = store.path_of(id).unwrap();
        for access in [Access::Read, Access::Write] {
            let error = store.open(id, access).map(drop).unwrap_err();
            assert!(
                error.to_string().contains("line 4: it is hopeless"),
                "{error}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::read_dir(folder.path().join("_")).unwrap().count(), 1);
        }
        let unknown = JsonlStore::new(folder.path());
        let error = unknown.open(id, Access::Write).map(drop).unwrap_err();
        assert!(error.to_string().contains("version 0"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_crash_between_the_steps_is_made_good() {
        let folder = tempfile::tempdir().unwrap();
        let (store, id, text) = old(folder.path(), "");
        let path = store.path_of(id).unwrap();
        let backup = path.with_extension("jsonl.v0");
        // It was kept, and the new file is half there.
        fs::hard_link(&path, &backup).unwrap();
        fs::write(path.with_extension("new"), &text[..40]).unwrap();
        drop(store.open(id, Access::Write).unwrap());
        assert_eq!(fs::read_to_string(&backup).unwrap(), text);
        assert!(!path.with_extension("new").exists());
        // The backup of a session that came back has a name of its own.
        fs::write(&path, &text).unwrap();
        drop(store.open(id, Access::Write).unwrap());
        let second = path.with_extension("jsonl.v0-2");
        assert_eq!(fs::read_to_string(&second).unwrap(), text);
        store.delete(id).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("_")).unwrap().count(), 0);
    }
}
