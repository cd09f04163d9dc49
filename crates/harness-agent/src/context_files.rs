//! The files that a workspace has for the model, as texts for its prompt.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_core::MiddlewareError;
use harness_prompt::{Keep, Library, Section, SystemPromptValues, estimate_tokens, one_line};
use serde_json::{Value, json};

use crate::context_budget::{Piece, Share, share};
use crate::instruction_files::{Home, InstructionFile, InstructionSearch, folders_down_to, inner};
use crate::middlewares::{WORKSPACE_SECTION, WorkspaceContextOptions};
use crate::system_prompt::fallback_warning;
use crate::watch::Watch;

/// How many files and folders under `knowledge/` are listed.
const MAX_LISTED: usize = 500;

/// How deep folders under `knowledge/` are listed.
const MAX_LISTED_DEPTH: usize = 6;

/// The ranks of the sections: instructions give way last.
const INSTRUCTIONS_RANK: u8 = 200;
const MEMORY_RANK: u8 = 150;
const KNOWLEDGE_RANK: u8 = 120;
const FILES_RANK: u8 = 110;

/// What is looked for.
pub(crate) struct ContextRequest<'a> {
    pub(crate) options: &'a WorkspaceContextOptions,
    pub(crate) library: &'a Library,
    /// The working folder.
    pub(crate) folder: &'a Path,
    /// Folders further down that tools touched.
    pub(crate) touched: &'a [PathBuf],
}

/// What was found, as it is told to the model.
#[derive(Debug)]
pub(crate) struct ContextFiles {
    pub(crate) sections: Vec<Section>,
    pub(crate) nested: Vec<NestedInstructions>,
    pub(crate) warnings: Vec<String>,
    watch: Watch,
    folder: PathBuf,
    touched: usize,
}

/// The instructions of a folder that a tool touched.
#[derive(Debug)]
pub(crate) struct NestedInstructions {
    /// The folder's path.
    pub(crate) key: String,
    /// The note; `None` if there are no instructions (any more).
    pub(crate) text: Option<Arc<str>>,
}

/// Everything that wants a part of the budget.
#[derive(Default)]
struct Found {
    /// The user's first, the nearest last.
    instructions: Vec<InstructionFile>,
    /// Those of touched folders, in the order in which they were touched.
    nested: Vec<(PathBuf, Option<InstructionFile>)>,
    memory: Option<InstructionFile>,
    knowledge: Option<InstructionFile>,
    knowledge_folder: Option<(PathBuf, String)>,
    files: Vec<InstructionFile>,
}

impl ContextFiles {
    /// Whether nothing that this was made from has changed.
    pub(crate) fn is_current(&self, request: &ContextRequest<'_>) -> bool {
        self.folder == request.folder
            && self.touched == request.touched.len()
            && self.watch.is_current()
    }

    /// Reads everything.
    pub(crate) fn read(request: &ContextRequest<'_>) -> Result<Self, MiddlewareError> {
        let mut watch = Watch::default();
        let mut warnings = Vec::new();
        let found = if request.options.read_files {
            find(request, &mut watch, &mut warnings)
        } else {
            Found::default()
        };
        let mut files = Self {
            sections: Vec::new(),
            nested: Vec::new(),
            warnings,
            watch,
            folder: request.folder.to_owned(),
            touched: request.touched.len(),
        };
        files
            .write(request, &found)
            .map_err(|error| MiddlewareError(error.to_string()))?;
        Ok(files)
    }

    /// Renders what was found, within the budget.
    fn write(
        &mut self,
        request: &ContextRequest<'_>,
        found: &Found,
    ) -> Result<(), harness_prompt::Error> {
        let values = SystemPromptValues {
            working_dir: request.folder.display().to_string(),
            platform: std::env::consts::OS.to_owned(),
            temporary_folder: request.options.temporary_folder.display().to_string(),
            ..SystemPromptValues::default()
        };
        let library = request.library;
        let (section, error) = library.section(WORKSPACE_SECTION, &values.to_value())?;
        self.sections.extend(section);
        self.warnings.extend(error.iter().map(fallback_warning));
        let budget = request.options.tokens;
        let mut pieces = found.pieces();
        loop {
            // What the templates say around the texts counts as well.
            let empty: Vec<Share> = pieces.iter().map(|_| Share::empty()).collect();
            let frame = Texts::new(found, &empty).write(library, &mut Vec::new())?;
            let frame: usize = frame.iter().map(Written::tokens).sum();
            if frame <= budget || pieces.is_empty() {
                let shares = share(&pieces, budget.saturating_sub(frame), budget);
                for share in &shares {
                    self.warnings.extend(share.warning.clone());
                }
                let written = Texts::new(found, &shares).write(library, &mut self.warnings)?;
                for written in written {
                    match written {
                        Written::Section(section) => self.sections.push(section),
                        Written::Nested(nested) => self.nested.push(nested),
                    }
                }
                return Ok(());
            }
            // Not even the paths have room: the least important one goes.
            if let Some(piece) = pieces.pop() {
                self.warnings.push(format!(
                    "{} is not shown to the model: the files of the workspace share {budget} tokens",
                    piece.name
                ));
            }
        }
    }
}

fn find(request: &ContextRequest<'_>, watch: &mut Watch, warnings: &mut Vec<String>) -> Found {
    let folder = request.folder;
    let mut found = Found::default();
    let folders = folders_down_to(folder, watch);
    let root = folders.first().map_or(folder, PathBuf::as_path).to_owned();
    let project = Home::project(&root, request.options.project_is_trusted);
    // The working folder's own name may have links in it; those of touched folders have none.
    let known: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| folder.canonicalize().ok())
        .collect();
    let mut search = InstructionSearch::new(watch, warnings);
    // The nearest first: of a file that is reached twice, the nearest name counts.
    for touched in request.touched.iter().rev() {
        if !known.contains(touched) {
            let file = search.find(touched, &project);
            found.nested.push((touched.clone(), file));
        }
    }
    found.nested.reverse();
    for folder in folders.iter().rev() {
        found.instructions.extend(search.find(folder, &project));
    }
    if let Some(user) = &request.options.user_folder {
        let user_home = Home::user(user);
        found.instructions.extend(search.find(user, &user_home));
    }
    found.instructions.reverse();

    let mut places = vec![folder.to_owned(), folder.join(".harness")];
    if root != *folder {
        places.extend([root.clone(), root.join(".harness")]);
    }
    let mut first = |name, keep| first(&places, name, keep, &project, watch, warnings);
    found.memory = first("MEMORY.md", Keep::End);
    found.knowledge = first("KNOWLEDGE.md", Keep::Start);
    found.knowledge_folder = places.iter().find_map(|place| {
        let folder = place.join("knowledge");
        let real = folder.canonicalize().ok()?;
        if let Err(problem) = project.check(&real) {
            warnings.push(format!("{} is not used: {problem}", folder.display()));
            return None;
        }
        let listed = listing(&folder, watch);
        (!listed.is_empty()).then(|| (folder, inner(&listed)))
    });
    for file in &request.options.files {
        let path = folder.join(file);
        match read(&path, Keep::Start, &Home::user(folder), watch, warnings) {
            Some(file) => found.files.push(file),
            None if watch.exists(&path) => {}
            None => warnings.push(format!("{} is not there", path.display())),
        }
    }
    found
}

/// The first file of that name in several places.
fn first(
    places: &[PathBuf],
    name: &str,
    keep: Keep,
    home: &Home,
    watch: &mut Watch,
    warnings: &mut Vec<String>,
) -> Option<InstructionFile> {
    let path = places
        .iter()
        .map(|place| place.join(name))
        .find(|path| watch.exists(path))?;
    read(&path, keep, home, watch, warnings)
}

fn read(
    path: &Path,
    keep: Keep,
    home: &Home,
    watch: &mut Watch,
    warnings: &mut Vec<String>,
) -> Option<InstructionFile> {
    let read = watch.read(path, keep).and_then(|file| match file {
        Some(file) => home.check(&file.real).map(|()| Some(file)),
        None => Ok(None),
    });
    match read {
        Ok(Some(file)) if file.text.trim().is_empty() => None,
        Ok(file) => file.map(|file| InstructionFile::new(path, &file.text, file.whole, home.from)),
        Err(problem) => {
            warnings.push(format!("{} is not used: {problem}", path.display()));
            None
        }
    }
}

/// The paths of the files in a folder, sorted, one a line.
fn listing(folder: &Path, watch: &mut Watch) -> String {
    let mut lines = Vec::new();
    list(folder, "", 0, watch, &mut lines);
    let mut listed = lines.join("\n");
    if lines.len() >= MAX_LISTED {
        listed.push_str("\n[more files are not listed]");
    }
    listed
}

fn list(folder: &Path, prefix: &str, depth: usize, watch: &mut Watch, lines: &mut Vec<String>) {
    for (name, is_folder) in watch.list(folder).unwrap_or_default() {
        if lines.len() >= MAX_LISTED || name.starts_with('.') {
            continue;
        }
        let path = format!("{prefix}{name}");
        if !is_folder {
            lines.push(one_line(&path));
        } else if depth + 1 < MAX_LISTED_DEPTH {
            list(
                &folder.join(&name),
                &format!("{path}/"),
                depth + 1,
                watch,
                lines,
            );
        }
    }
}

impl Found {
    /// What wants a part of the budget, the most important first.
    fn pieces(&self) -> Vec<Piece<'_>> {
        let nested = self
            .nested
            .iter()
            .rev()
            .filter_map(|(_, file)| file.as_ref());
        let listed = self.knowledge_folder.iter().map(|(folder, listed)| Piece {
            text: listed,
            keep: Keep::Start,
            name: marked(folder),
            bytes: listed.len() as u64,
        });
        nested
            .chain(self.instructions.iter().rev())
            .map(|file| file.piece(Keep::Start))
            .chain(self.memory.iter().map(|file| file.piece(Keep::End)))
            .chain(self.knowledge.iter().map(|file| file.piece(Keep::Start)))
            .chain(listed)
            .chain(self.files.iter().map(|file| file.piece(Keep::Start)))
            .collect()
    }
}

impl InstructionFile {
    fn piece(&self, keep: Keep) -> Piece<'_> {
        Piece {
            text: &self.text,
            keep,
            name: marked(&self.path),
            bytes: self.bytes,
        }
    }
}

impl Share {
    fn empty() -> Self {
        Self {
            // Not quite: a template asks whether there is a text.
            text: " ".to_owned(),
            warning: None,
        }
    }
}

/// What a template made.
enum Written {
    Section(Section),
    Nested(NestedInstructions),
}

impl Written {
    fn tokens(&self) -> usize {
        match self {
            // With the blank line before it.
            Self::Section(section) => section.tokens() + 1,
            Self::Nested(nested) => nested.text.as_deref().map_or(0, estimate_tokens),
        }
    }
}

/// The texts of what was found, each in the size of its share. What got no share is left out.
struct Texts<'a> {
    nested: Vec<(&'a Path, Option<Value>)>,
    instructions: Vec<Value>,
    memory: Option<Value>,
    knowledge: Option<Value>,
    files: Vec<Value>,
}

impl<'a> Texts<'a> {
    /// `shares` in the order of [`Found::pieces`].
    fn new(found: &'a Found, shares: &[Share]) -> Self {
        let mut shares = shares.iter();
        let mut next = |file: &InstructionFile| {
            let text = &shares.next()?.text;
            // Not even the marker had room. The warning says so.
            (!text.is_empty()).then(|| {
                json!({
                    "path": attribute(&file.path),
                    "from": file.from,
                    "text": text,
                })
            })
        };
        let mut nested: Vec<_> = found
            .nested
            .iter()
            .rev()
            .map(|(folder, file)| (folder.as_path(), file.as_ref().and_then(&mut next)))
            .collect();
        nested.reverse();
        let mut instructions: Vec<Value> = found
            .instructions
            .iter()
            .rev()
            .filter_map(&mut next)
            .collect();
        instructions.reverse();
        let memory = found.memory.as_ref().and_then(&mut next);
        let knowledge = found.knowledge.as_ref().and_then(&mut next);
        let mut knowledge = knowledge.unwrap_or_else(|| json!({}));
        if let Some((folder, _)) = &found.knowledge_folder
            && let Some(share) = shares.next()
            && !share.text.is_empty()
        {
            knowledge["folder"] = attribute(folder).into();
            knowledge["files"] = share.text.as_str().into();
        }
        let mut next = |file: &InstructionFile| {
            let text = &shares.next()?.text;
            // Not even the marker had room. The warning says so.
            (!text.is_empty()).then(|| {
                json!({
                    "path": attribute(&file.path),
                    "from": file.from,
                    "text": text,
                })
            })
        };
        let files = found.files.iter().filter_map(&mut next).collect();
        Self {
            nested,
            instructions,
            memory,
            knowledge: knowledge
                .as_object()
                .is_some_and(|map| !map.is_empty())
                .then_some(knowledge),
            files,
        }
    }

    fn write(
        self,
        library: &Library,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Written>, harness_prompt::Error> {
        let mut render = |name: &str, values: &Value| {
            let (section, error) = library.section(name, values)?;
            warnings.extend(error.iter().map(fallback_warning));
            Ok::<_, harness_prompt::Error>(section)
        };
        let mut written = Vec::new();
        let mut section = |name: &str, values: &Value, rank: u8, keep: Keep| {
            let section = render(name, values)?;
            let section = section.map(|section| section.with_rank(rank).with_keep(keep));
            written.extend(section.map(Written::Section));
            Ok::<(), harness_prompt::Error>(())
        };
        if !self.instructions.is_empty() {
            let values = json!({ "files": self.instructions });
            section("instructions", &values, INSTRUCTIONS_RANK, Keep::End)?;
        }
        if let Some(memory) = self.memory {
            section("memory", &memory, MEMORY_RANK, Keep::End)?;
        }
        if let Some(knowledge) = self.knowledge {
            section("knowledge", &knowledge, KNOWLEDGE_RANK, Keep::Start)?;
        }
        if !self.files.is_empty() {
            let values = json!({ "files": self.files });
            section("context-files", &values, FILES_RANK, Keep::Start)?;
        }
        for (folder, values) in self.nested {
            let text = match values {
                Some(mut values) => {
                    values["folder"] = one_line(&folder.display().to_string()).into();
                    let section = render("nested-instructions", &values)?;
                    section.map(|section| section.text)
                }
                None => None,
            };
            written.push(Written::Nested(NestedInstructions {
                key: folder.display().to_string(),
                text,
            }));
        }
        Ok(written)
    }
}

/// A path as the value of an attribute.
fn attribute(path: &Path) -> String {
    one_line(&path.display().to_string())
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A path for the marker of a cut, which stands inside the element.
fn marked(path: &Path) -> String {
    inner(&one_line(&path.display().to_string()))
}
