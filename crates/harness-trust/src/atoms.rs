//! From what a tool declares, and from a command line, to what rules decide on.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use harness_core::{ToolEffect, ToolEffects};

use crate::atom::Atom;
use crate::compared::{Compared, compared};
use crate::glob_walk::{Budget, Match, find};
use crate::known::{Operand, Purity, known};
use crate::paths::Paths;
use crate::shell::{
    Access, CommandLine, Opaque, OpaqueKind, Place, Redirect, SimpleCommand, Target, Word,
};
use crate::surroundings::Surroundings;

/// All that one call would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Atoms(Vec<Atom>);

impl Atoms {
    /// What the tool `tool` says that it would do.
    pub fn of(tool: &str, effects: &ToolEffects, surroundings: &Surroundings) -> Self {
        let mut atoms = Self::default();
        let mut budget = Budget::default();
        for effect in effects {
            atoms.effect(tool, effect, surroundings, &mut budget);
        }
        atoms
    }

    /// What the command line `line` would do in `folder`, which is absolute and real.
    pub fn of_command(line: &str, folder: &Path, surroundings: &Surroundings) -> Self {
        let mut atoms = Self::default();
        atoms.line(line, Some(folder), surroundings, &mut Budget::default());
        atoms
    }

    /// The atoms.
    pub fn iter(&self) -> std::slice::Iter<'_, Atom> {
        self.0.iter()
    }

    fn push(&mut self, atom: Atom) {
        if !self.0.contains(&atom) {
            self.0.push(atom);
        }
    }

    fn effect(
        &mut self,
        tool: &str,
        effect: &ToolEffect,
        surroundings: &Surroundings,
        budget: &mut Budget,
    ) {
        match effect {
            ToolEffect::Read(path) => self.path(path, surroundings, Atom::Read),
            ToolEffect::Write(path) => self.path(path, surroundings, Atom::Write),
            ToolEffect::Run(command) => {
                let folder = command.folder.as_deref();
                self.line(&command.line, folder, surroundings, budget);
            }
            ToolEffect::Network(host) => self.push(Atom::Net(host.clone())),
            ToolEffect::Conversation => self.push(Atom::Conversation),
            // What nobody has thought of is known to nobody.
            ToolEffect::Unknown | _ => self.push(Atom::Tool(tool.to_owned())),
        }
    }

    fn line(
        &mut self,
        line: &str,
        folder: Option<&Path>,
        surroundings: &Surroundings,
        budget: &mut Budget,
    ) {
        let place = Place {
            folder,
            home: surroundings.home(),
        };
        let line = CommandLine::parse(line, &place);
        for command in line.commands {
            self.command(command, surroundings, budget);
        }
        for Redirect { target, access } in line.redirects {
            match (target, access) {
                (Target::Host(host), _) => self.push(Atom::Net(host)),
                (Target::Path(path), Access::Read) => self.path(&path, surroundings, Atom::Read),
                (Target::Path(path), Access::Write) => self.path(&path, surroundings, Atom::Write),
            }
        }
        for opaque in line.opaque {
            self.push(Atom::Opaque(opaque));
        }
    }

    fn command(
        &mut self,
        command: SimpleCommand,
        surroundings: &Surroundings,
        budget: &mut Budget,
    ) {
        let mut purity = Purity::Unknown;
        let mut reads = Vec::new();
        let mut named = Named::default();
        if let Some(known) = known(&command) {
            purity = known.purity;
            let folder = command.folder.as_deref();
            reads.extend(known.reads.iter().map(|operand| read(operand, folder)));
            if folder.is_none() {
                for operand in &known.reads {
                    named.operand(operand, &command, surroundings, budget);
                }
            }
        }
        if command.program() == Some("diff") && purity != Purity::Unknown {
            let mut operands: Vec<&Path> = reads.iter().filter_map(Reads::path).collect();
            let has_globs = operands.len() < reads.len();
            if has_globs {
                named.words(&command, surroundings, budget);
                operands.extend(named.found.iter().map(PathBuf::as_path));
            }
            match compared(&command, &operands, has_globs, &*surroundings.paths) {
                Compared::Operands => {}
                Compared::File(path) => reads.push(Reads::Path(path)),
                // In a project of a stranger, links in it lead anywhere.
                Compared::Folders(files) => {
                    purity = Purity::ReadOnlyIfTrusted;
                    named.files(files, &*surroundings.paths, budget);
                }
            }
        }
        // Another repository can lie there, that nobody has spoken of.
        if purity == Purity::ReadOnlyIfTrusted && !is_within(&command, surroundings) {
            purity = Purity::Unknown;
        }
        if purity == Purity::Unknown {
            named.words(&command, surroundings, budget);
        }
        let Named { paths, globs, .. } = named;
        let shown = command.to_string();
        self.push(Atom::Run {
            command: Box::new(command),
            purity,
            names: paths,
            globs,
        });
        for read in reads {
            match read {
                Reads::Path(path) => self.path(&path, surroundings, Atom::Read),
                Reads::Files(folder, glob) => {
                    self.glob(&folder, &glob, true, surroundings, budget);
                }
                Reads::Names(folder, glob) => {
                    self.glob(&folder, &glob, false, surroundings, budget);
                }
                Reads::Unknown(glob) => self.opaque_glob(Path::new(&glob)),
                Reads::Lost => self.push(Atom::Opaque(Opaque::new(OpaqueKind::Folder, &shown))),
            }
        }
    }

    /// What a glob looks at in a folder: its files with all that they hold, or only names.
    fn glob(
        &mut self,
        folder: &Path,
        names: &str,
        reads_files: bool,
        around: &Surroundings,
        budget: &mut Budget,
    ) {
        let paths = &*around.paths;
        let real = paths.real(folder);
        let found = real.and_then(|real| Some((find(paths, &real, names, budget)?, real)));
        let Some((found, real)) = found else {
            return self.opaque_glob(&folder.join(names));
        };
        let (linked, plain): (Vec<_>, Vec<_>) =
            found.matches.into_iter().partition(|it| it.is_linked);
        let Some(linked) = leads(paths, &linked, budget) else {
            return self.opaque_glob(&folder.join(names));
        };
        for path in linked {
            self.push(Atom::Read(path));
        }
        if reads_files {
            return self.push(Atom::ReadMatching {
                folder: real,
                names: names.to_owned(),
                found: plain.into_iter().map(|it| it.path).collect(),
            });
        }
        // Of a folder that it finds, the names in it are read.
        let inner = plain.into_iter().filter(|it| it.is_folder);
        let inner: Vec<PathBuf> = inner.map(|it| it.path).collect();
        if !inner.is_empty() {
            self.folders(&real, names, inner, budget);
        }
        if let Some((above, _)) = names.rsplit_once('/') {
            let folders = found.folders.iter().filter_map(|it| paths.real(it));
            self.folders(&real, above, folders.collect(), budget);
        } else {
            self.push(Atom::Read(real));
        }
    }

    /// Reads folders that `names` finds in `folder`: one by one, if there are any and they are few.
    fn folders(&mut self, folder: &Path, names: &str, found: Vec<PathBuf>, budget: &mut Budget) {
        if (1..=MAX_FOLDERS).contains(&found.len()) && budget.pays_for(found.len()) {
            for path in found {
                self.push(Atom::Read(path));
            }
        } else {
            self.push(Atom::ReadMatching {
                folder: folder.to_owned(),
                names: names.to_owned(),
                found,
            });
        }
    }

    fn opaque_glob(&mut self, glob: &Path) {
        let opaque = Opaque::new(OpaqueKind::Glob, &glob.to_string_lossy());
        self.push(Atom::Opaque(opaque));
    }

    fn path(&mut self, path: &Path, surroundings: &Surroundings, atom: impl Fn(PathBuf) -> Atom) {
        if let Some(real) = surroundings.paths.real(path) {
            self.push(atom(real));
        } else {
            let opaque = Opaque::new(OpaqueKind::Folder, &path.to_string_lossy());
            self.push(Atom::Opaque(opaque));
        }
    }
}

impl<'a> IntoIterator for &'a Atoms {
    type Item = &'a Atom;
    type IntoIter = std::slice::Iter<'a, Atom>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Atom> for Atoms {
    fn from_iter<I: IntoIterator<Item = Atom>>(atoms: I) -> Self {
        Self(atoms.into_iter().collect())
    }
}

/// Whether a command runs in the workspace.
fn is_within(command: &SimpleCommand, surroundings: &Surroundings) -> bool {
    let folder = command.folder.as_deref();
    let real = folder.and_then(|folder| surroundings.paths.real(folder));
    real.is_some_and(|real| real.starts_with(&surroundings.root))
}

/// The most folders of a glob that are named one by one.
const MAX_FOLDERS: usize = 64;

/// Where links lead, without those that lead nowhere: they are not read. `None` where that cannot be said of one, or
/// to more places than anybody looks at.
fn leads(paths: &dyn Paths, linked: &[Match], budget: &mut Budget) -> Option<BTreeSet<PathBuf>> {
    let mut real = BTreeSet::new();
    for Match { path, .. } in linked {
        match paths.real(path) {
            Some(path) => {
                real.insert(path);
            }
            None if paths.is_dangling(path) => {}
            None => return None,
        }
    }
    budget.pays_for(real.len()).then_some(real)
}

/// What the words of a command name.
#[derive(Default)]
struct Named {
    paths: Vec<PathBuf>,
    globs: Vec<(PathBuf, String)>,
    seen: HashSet<PathBuf>,
    /// Of the paths, those that globs have found.
    found: Vec<PathBuf>,
}

impl Named {
    fn add(&mut self, path: Option<PathBuf>) {
        if let Some(path) = path
            && self.seen.insert(path.clone())
        {
            self.paths.push(path);
        }
    }

    /// It could be anything.
    fn anything(&mut self) {
        self.globs.push((PathBuf::from("/"), "**".to_owned()));
    }

    /// Files that are opened, whatever links they are; `None` where it is not known which.
    fn files(&mut self, files: Option<Vec<PathBuf>>, paths: &dyn Paths, budget: &mut Budget) {
        let Some(files) = files.filter(|it| budget.pays_for(it.len())) else {
            return self.anything();
        };
        for path in files {
            let real = paths.real(&path);
            if real.is_none() && !paths.is_dangling(&path) {
                return self.anything();
            }
            self.add(real);
        }
    }

    /// The paths that the words of a command name, whatever it does with them. For a glob, its folder, and what it
    /// finds.
    fn words(&mut self, command: &SimpleCommand, around: &Surroundings, budget: &mut Budget) {
        for word in command.words.iter().skip(1) {
            match word {
                Word::Literal(text) => {
                    let named = names_in(text);
                    // The first few are free, as each word is.
                    if !budget.pays_for(named.len().saturating_sub(FREE_NAMES)) {
                        self.anything();
                        continue;
                    }
                    for name in named {
                        self.literal(Path::new(name), command, around, budget);
                    }
                }
                Word::Glob { pattern, .. } => self.globs(pattern, command, around, budget),
                Word::Unknown(_) => {}
            }
        }
    }

    /// An operand of a known command whose folder is not certain.
    fn operand(
        &mut self,
        operand: &Operand<'_>,
        command: &SimpleCommand,
        around: &Surroundings,
        budget: &mut Budget,
    ) {
        match operand {
            Operand::Here => self.literal(Path::new("."), command, around, budget),
            Operand::Path(path) => self.literal(path, command, around, budget),
            Operand::Glob(glob) | Operand::Names(glob) => {
                self.globs(glob, command, around, budget);
            }
        }
    }

    /// A path, in each folder that it may begin in.
    fn literal(
        &mut self,
        path: &Path,
        command: &SimpleCommand,
        around: &Surroundings,
        budget: &mut Budget,
    ) {
        if path.is_absolute() {
            return self.add(around.paths.real(path));
        }
        let folders = places(command, around);
        // The first one is free, as each word is.
        match folders.filter(|it| budget.pays_for(it.len().saturating_sub(1))) {
            Some(folders) => {
                for folder in folders {
                    self.add(around.paths.real(&folder.join(path)));
                }
            }
            None => self.anything(),
        }
    }

    /// A glob, in each folder that it may begin in.
    fn globs(
        &mut self,
        glob: &str,
        command: &SimpleCommand,
        around: &Surroundings,
        budget: &mut Budget,
    ) {
        match places(command, around) {
            Some(folders) => {
                for folder in folders {
                    self.glob(glob, folder, &*around.paths, budget);
                }
            }
            None => self.anything(),
        }
    }

    /// What a glob finds; or itself, where that cannot be said.
    fn glob(&mut self, glob: &str, folder: &Path, paths: &dyn Paths, budget: &mut Budget) {
        let (above, names) = split(glob);
        let Some(real) = paths.real(&folder.join(above)) else {
            return;
        };
        self.add(Some(real.clone()));
        let found = names.as_ref().and_then(|it| find(paths, &real, it, budget));
        let Some(found) = found else {
            let anything = || "**".to_owned();
            self.globs.push((real, names.unwrap_or_else(anything)));
            return;
        };
        for Match {
            path, is_linked, ..
        } in found.matches
        {
            if !is_linked {
                self.found.push(path.clone());
                self.add(Some(path));
                continue;
            }
            let real = paths.real(&path);
            self.found.extend(real.clone());
            if real.is_none() && !paths.is_dangling(&path) {
                return self.anything();
            }
            self.add(real);
        }
    }
}

/// The folders that a command may run in: where that is not certain, the workspace is one of them, since it is likely
/// that work is done there. `None` where they are too many.
fn places<'a>(command: &'a SimpleCommand, around: &'a Surroundings) -> Option<Vec<&'a Path>> {
    if let Some(folder) = &command.folder {
        return Some(vec![folder]);
    }
    let mut folders: Vec<&Path> = vec![&around.root];
    let possible = command.folders.as_ref()?;
    folders.extend(
        possible
            .iter()
            .map(PathBuf::as_path)
            .filter(|it| *it != around.root),
    );
    Some(folders)
}

/// The most names in one word that cost nothing.
const FREE_NAMES: usize = 8;

/// What a word can name: itself, and what is glued to something else in it, as in `--file=x`, `if=x`, `-Tx`, `@x` and
/// `x:/y`.
fn names_in(text: &str) -> Vec<&str> {
    let behind_letter = text
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'))
        .and_then(|rest| rest.get(rest.chars().next()?.len_utf8()..));
    let value = text.split_once('=').map(|(_, value)| value);
    let itself = Some(text).filter(|text| !text.starts_with('-'));
    let mut names = Vec::new();
    for name in [itself, behind_letter, value].into_iter().flatten() {
        let file = name.strip_prefix('@');
        names.push(name);
        names.extend(file);
        let name = file.unwrap_or(name);
        if name.contains(':') {
            names.extend(name.split(':'));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// A glob as the folder that it begins in and what it looks for there; `None` where that leads back up.
fn split(pattern: &str) -> (PathBuf, Option<String>) {
    let is_special = |part: &str| part.contains(['*', '?', '[', '\\']);
    let mut parts = pattern.split('/');
    let mut folder = PathBuf::from(if pattern.starts_with('/') { "/" } else { "." });
    let mut names: Vec<&str> = Vec::new();
    for part in parts.by_ref() {
        match part {
            "" | "." => {}
            part if names.is_empty() && !is_special(part) => folder.push(part),
            ".." => return (folder, None),
            part => names.push(part),
        }
    }
    (folder, (!names.is_empty()).then(|| names.join("/")))
}

/// What an operand of a known command reads.
enum Reads {
    Path(PathBuf),
    /// What such a glob finds in a folder.
    Files(PathBuf, String),
    /// The folders in which such a glob looks, and what it finds there through links.
    Names(PathBuf, String),
    /// A glob that leads back up.
    Unknown(String),
    /// The folder is not known.
    Lost,
}

impl Reads {
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            _ => None,
        }
    }
}

fn read(operand: &Operand<'_>, folder: Option<&Path>) -> Reads {
    let absolute = |path: &Path| match (path.is_absolute(), folder) {
        (true, _) => Some(path.to_owned()),
        (false, folder) => folder.map(|folder| folder.join(path)),
    };
    match operand {
        Operand::Here => folder.map_or(Reads::Lost, |folder| Reads::Path(folder.to_owned())),
        Operand::Path(path) => absolute(path).map_or(Reads::Lost, Reads::Path),
        Operand::Glob(pattern) | Operand::Names(pattern) => {
            let (above, names) = split(pattern);
            match (absolute(&above), names, operand) {
                (None, ..) => Reads::Lost,
                (_, None, _) => Reads::Unknown((*pattern).to_owned()),
                (Some(folder), Some(names), Operand::Names(_)) => Reads::Names(folder, names),
                (Some(folder), Some(names), _) => Reads::Files(folder, names),
            }
        }
    }
}
