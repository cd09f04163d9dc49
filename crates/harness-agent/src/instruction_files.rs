//! Instruction files: where they are looked for, and what they import.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use harness_prompt::{Fence, Keep};

use crate::element::inside;
use crate::watch::{TextFile, Watch};

/// What an instruction file is called, in each folder: the first that is there.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// How deep imports may nest.
const MAX_IMPORTS_DEPTH: usize = 5;

/// How many imports of all files together are looked at: each is a file that is read, and looked at again
/// on every turn.
const MAX_IMPORTS: usize = 200;

/// The most bytes of a file with all that it imports.
const MAX_BYTES: usize = 512 * 1024;

/// A file with instructions, with what it imports in its place.
#[derive(Clone, Debug)]
pub(crate) struct InstructionFile {
    /// Its path, as it was looked for.
    pub(crate) path: PathBuf,
    /// Whose word it is, as the model is told.
    pub(crate) from: &'static str,
    pub(crate) text: String,
    /// Its whole size; more than the text's if only a part was read.
    pub(crate) bytes: u64,
}

impl InstructionFile {
    /// `whole` is the file's size, if `text` is a part of it.
    pub(crate) fn new(path: &Path, text: &str, whole: Option<u64>, from: &'static str) -> Self {
        let text = inner(text.trim());
        Self {
            path: path.to_owned(),
            from,
            bytes: whole.unwrap_or(0).max(text.len() as u64),
            text,
        }
    }
}

/// A file's text as the inside of an element: it cannot end the element before its time.
pub(crate) fn inner(text: &str) -> String {
    const ELEMENTS: [&str; 5] = [
        "instructions",
        "memory",
        "knowledge",
        "knowledge_files",
        "file",
    ];
    inside(text, &ELEMENTS)
}

/// A folder that files are looked for in, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    /// What imports may not leave.
    folder: PathBuf,
    /// What nothing may lead out of; `None` if links are followed wherever they lead.
    confined: Option<PathBuf>,
    pub(crate) from: &'static str,
}

impl Home {
    /// The user's own folder.
    pub(crate) fn user(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            confined: None,
            from: "user",
        }
    }

    /// A project. Links in one that is not trusted lead nowhere else: they could make the agent send any file
    /// of the machine to the model.
    pub(crate) fn project(folder: &Path, is_trusted: bool) -> Self {
        let real = || folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Self {
            folder: folder.to_owned(),
            confined: (!is_trusted).then(real),
            from: if is_trusted {
                "project"
            } else {
                "project, not trusted"
            },
        }
    }

    /// Why a file with this real path is not used, if it is not.
    pub(crate) fn check(&self, real: &Path) -> Result<(), String> {
        match &self.confined {
            Some(confined) if !real.starts_with(confined) => Err(format!(
                "it leads to {}, out of a project that is not trusted",
                real.display()
            )),
            _ => Ok(()),
        }
    }
}

/// Looks for instruction files, each real file once.
pub(crate) struct InstructionSearch<'a> {
    watch: &'a mut Watch,
    warnings: &'a mut Vec<String>,
    found: HashSet<(u64, u64)>,
    /// How many imports were looked at.
    imports: usize,
}

impl<'a> InstructionSearch<'a> {
    pub(crate) fn new(watch: &'a mut Watch, warnings: &'a mut Vec<String>) -> Self {
        Self {
            watch,
            warnings,
            found: HashSet::new(),
            imports: 0,
        }
    }

    /// The instruction file of a folder.
    pub(crate) fn find(&mut self, folder: &Path, home: &Home) -> Option<InstructionFile> {
        let path = NAMES
            .iter()
            .map(|name| folder.join(name))
            .find(|path| self.watch.exists(path))?;
        let file = self.read(&path, home)?;
        let whole = file.whole;
        let mut text = String::new();
        self.import(&path, &file, home, 0, &mut text);
        (!text.trim().is_empty()).then(|| InstructionFile::new(&path, &text, whole, home.from))
    }

    /// Reads a file that was not read before.
    fn read(&mut self, path: &Path, home: &Home) -> Option<TextFile> {
        let read = self.watch.read(path, Keep::Start);
        let read = read.and_then(|file| match &file {
            Some(found) => home.check(&found.real).map(|()| file),
            None => Ok(None),
        });
        match read {
            Ok(Some(file)) => self.found.insert(file.identity).then_some(file),
            Ok(None) => None,
            Err(problem) => {
                let path = path.display();
                self.warnings.push(format!("{path} is not used: {problem}"));
                None
            }
        }
    }

    /// Appends a file's text, with the imported files in the place of the lines that name them.
    fn import(
        &mut self,
        path: &Path,
        file: &TextFile,
        home: &Home,
        depth: usize,
        text: &mut String,
    ) {
        // The folder where the file really is: of a link, not the folder that the link is in.
        let base = file.real.parent().unwrap_or(Path::new("/"));
        let mut fence = None;
        for line in file.text.split_inclusive('\n') {
            match fence {
                Some(open) if Fence::is_closed_by(open, line) => fence = None,
                Some(_) => {}
                None => fence = Fence::opened_by(line),
            }
            let import = imported(line).filter(|_| fence.is_none());
            let Some(import) = import.filter(|_| self.may_import(path)) else {
                text.push_str(line);
                continue;
            };
            match self.imported_file(base, import, home, depth, text.len()) {
                Ok(Some((target, file))) => {
                    self.import(&target, &file, home, depth + 1, text);
                    if !text.ends_with('\n') {
                        text.push('\n');
                    }
                }
                // It is in the text already.
                Ok(None) => {}
                Err(problem) => {
                    let path = path.display();
                    self.warnings.push(format!(
                        "{path}: the import `{import}` is left as it is: {problem}"
                    ));
                    text.push_str(line);
                }
            }
        }
    }

    /// Whether one more import is looked at.
    fn may_import(&mut self, path: &Path) -> bool {
        if self.imports == MAX_IMPORTS {
            self.warnings.push(format!(
                "{}: this import and all that follow are left as they are: there are more than \
                 {MAX_IMPORTS}",
                path.display()
            ));
        }
        self.imports = (self.imports + 1).min(MAX_IMPORTS + 1);
        self.imports <= MAX_IMPORTS
    }

    fn imported_file(
        &mut self,
        base: &Path,
        import: &str,
        home: &Home,
        depth: usize,
        length: usize,
    ) -> Result<Option<(PathBuf, TextFile)>, String> {
        if depth >= MAX_IMPORTS_DEPTH {
            return Err(format!("imports nest deeper than {MAX_IMPORTS_DEPTH}"));
        }
        if length >= MAX_BYTES {
            return Err(format!(
                "with its imports it has more than {MAX_BYTES} bytes"
            ));
        }
        let path = base.join(import);
        let file = self.watch.read(&path, Keep::Start)?;
        let file = file.ok_or_else(|| "there is no such file".to_owned())?;
        let allowed = |folder: &Path| {
            let folder = folder.canonicalize();
            folder.is_ok_and(|folder| file.real.starts_with(folder))
        };
        home.check(&file.real)?;
        if !allowed(base) && !allowed(&home.folder) {
            let home = home.folder.display();
            return Err(format!("it leads outside {home}"));
        }
        Ok(self.found.insert(file.identity).then_some((path, file)))
    }
}

/// The path of a line that is `@path` and nothing else.
fn imported(line: &str) -> Option<&str> {
    let path = line.trim_end().strip_prefix('@')?;
    let is_path = path.contains(['/', '.']) && !path.contains(char::is_whitespace);
    is_path.then_some(path)
}

/// The folders from a repository's root down to `folder`; outside a repository, `folder` alone.
pub(crate) fn folders_down_to(folder: &Path, watch: &mut Watch) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for ancestor in folder.ancestors() {
        folders.push(ancestor.to_owned());
        // A file in worktrees and submodules.
        if watch.exists(&ancestor.join(".git")) {
            folders.reverse();
            return folders;
        }
    }
    vec![folder.to_owned()]
}
