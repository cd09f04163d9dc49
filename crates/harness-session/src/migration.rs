//! Bringing sessions of older versions up to date.

use std::fs::File;
use std::io::{self, Write};

use crate::error::Error;
use crate::file_lock::SessionFile;
use crate::header::VERSION;
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
