//! Where a plan is kept.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tools::{FileKind, FileVersion, Files, ReplaceError, Replacement, Stop, Workspace};

use crate::middlewares::plan_mode::document::{MAX_BYTES, PlanDocument, is_safe_name};

/// The file of one session's plan. It is reached by its real path only: what stands there and is no
/// regular file is an error, never followed.
#[derive(Clone, Debug)]
pub(crate) struct PlanFile {
    files: Arc<dyn Files>,
    real: PathBuf,
    shown: String,
    session: Option<String>,
}

impl PlanFile {
    /// The file for a session. A relative folder lies in the working folder, also after every symlink is
    /// followed: a project does not choose where else is written.
    pub(crate) fn locate(
        files: &Arc<dyn Files>,
        folder: &Path,
        working_dir: Option<&Path>,
        session: Option<&str>,
    ) -> Result<Self, String> {
        let resolve = |path: &Path| {
            let found = files.resolve(path).map_err(|error| error.to_string());
            found.map(|found| found.real)
        };
        let folder = if folder.is_absolute() {
            resolve(folder)?
        } else {
            let Some(root) = working_dir.filter(|root| root.is_absolute()) else {
                return Err("there is no folder to keep a plan in".to_owned());
            };
            let (root, folder) = (resolve(root)?, resolve(&root.join(folder))?);
            if !folder.starts_with(root) {
                return Err("the folder for plans leads out of the working folder".to_owned());
            }
            folder
        };
        let session = session.filter(|id| is_safe_name(id)).map(str::to_owned);
        let name = session.as_deref().unwrap_or("plan");
        let real = folder.join(format!("{name}.md"));
        let root = working_dir.unwrap_or(&folder);
        Ok(Self {
            shown: Workspace::new(root)
                .with_files(Arc::clone(files))
                .show(&real),
            files: Arc::clone(files),
            real,
            session,
        })
    }

    /// The real path.
    pub(crate) fn path(&self) -> &Path {
        &self.real
    }

    /// The path as the model is told it, in one line.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether a path leads to this file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let found = self.files.resolve(path);
        path == self.real || found.is_ok_and(|found| found.real == self.real)
    }

    /// Which state the file is in; `None` if there is none. Costs one look.
    pub(crate) fn version(&self) -> Result<Option<FileVersion>, String> {
        let found = self.files.resolve(&self.real);
        let found = found.map_err(|error| self.problem(&error.to_string()))?;
        if found.real != self.real {
            return Err(self.problem("a symlink stands there"));
        }
        match found.info {
            None => Ok(None),
            Some(info) if info.kind == FileKind::File => Ok(Some(info.version)),
            Some(_) => Err(self.problem("it is no file")),
        }
    }

    /// The file's text, and the state that it was in; `None` if there is none.
    pub(crate) fn read(&self) -> Result<Option<(String, FileVersion)>, String> {
        if self.version()?.is_none() {
            return Ok(None);
        }
        let io = |error: std::io::Error| self.problem(&error.to_string());
        let file = self.files.open(&self.real).map_err(io)?;
        if file.info.kind != FileKind::File {
            return Err(self.problem("it is no file"));
        }
        let mut bytes = Vec::new();
        let most = MAX_BYTES as u64 + 1;
        file.content
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(io)?;
        if bytes.len() > MAX_BYTES {
            return Err(self.problem("it is larger than 256 KiB"));
        }
        let text = String::from_utf8(bytes).map_err(|_| self.problem("it is not text"))?;
        Ok(Some((text, file.info.version)))
    }

    /// What a text of the file says.
    pub(crate) fn parse(&self, text: &str) -> Result<PlanDocument, String> {
        let document = PlanDocument::parse(text).map_err(|problem| self.problem(&problem))?;
        let is_ours = document.session == self.session;
        if document.state.is_off() || is_ours {
            Ok(document)
        } else {
            Err(self.problem("it belongs to another session"))
        }
    }

    /// Writes the file in one step, and tells the state that it is in then.
    pub(crate) fn write(&self, mut document: PlanDocument) -> Result<FileVersion, String> {
        document.session.clone_from(&self.session);
        let text = document.render();
        if text.len() > MAX_BYTES {
            return Err(self.problem("it would be larger than 256 KiB"));
        }
        let replaced = self.files.replace(&Replacement {
            real: &self.real,
            content: &[text.as_bytes()],
            expected: self.version()?,
            stop: &Stop::default(),
        });
        match replaced {
            Ok(info) => Ok(info.version),
            Err(ReplaceError::Io(error)) => Err(self.problem(&error.to_string())),
            Err(error) => Err(self.problem(&error.to_string())),
        }
    }

    fn problem(&self, what: &str) -> String {
        format!("the plan file {} cannot be used: {what}", self.shown)
    }
}
