//! From what a tool declares, and from a command line, to what rules decide on.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use harness_core::{ToolEffect, ToolEffects};

use crate::atom::Atom;
use crate::known::{Operand, Purity, known};
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
        for effect in effects {
            atoms.effect(tool, effect, surroundings);
        }
        atoms
    }

    /// What the command line `line` would do in `folder`, which is absolute and real.
    pub fn of_command(line: &str, folder: &Path, surroundings: &Surroundings) -> Self {
        let mut atoms = Self::default();
        atoms.line(line, Some(folder), surroundings);
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

    fn effect(&mut self, tool: &str, effect: &ToolEffect, surroundings: &Surroundings) {
        match effect {
            ToolEffect::Read(path) => self.path(path, surroundings, Atom::Read),
            ToolEffect::Write(path) => self.path(path, surroundings, Atom::Write),
            ToolEffect::Run(command) => {
                self.line(&command.line, command.folder.as_deref(), surroundings);
            }
            ToolEffect::Network(host) => self.push(Atom::Net(host.clone())),
            ToolEffect::Conversation => self.push(Atom::Conversation),
            // What nobody has thought of is known to nobody.
            ToolEffect::Unknown | _ => self.push(Atom::Tool(tool.to_owned())),
        }
    }

    fn line(&mut self, line: &str, folder: Option<&Path>, surroundings: &Surroundings) {
        let place = Place {
            folder,
            home: surroundings.home(),
        };
        let line = CommandLine::parse(line, &place);
        for command in line.commands {
            self.command(command, surroundings);
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

    fn command(&mut self, command: SimpleCommand, surroundings: &Surroundings) {
        let mut purity = Purity::Unknown;
        let mut reads = Vec::new();
        if let Some(known) = known(&command) {
            purity = known.purity;
            for operand in known.reads {
                match read(&operand, command.folder.as_deref()) {
                    Reads::Path(path) => reads.push((path, None)),
                    Reads::Files(folder, names) => {
                        self.links(&folder, &names, surroundings);
                        reads.push((folder, Some(names)));
                    }
                    Reads::Names(folder, names) => {
                        self.links(&folder, &names, surroundings);
                        reads.push((folder, None));
                    }
                    Reads::Unknown => purity = Purity::Unknown,
                    Reads::Lost => {
                        let opaque = Opaque::new(OpaqueKind::Folder, &command.to_string());
                        self.push(Atom::Opaque(opaque));
                    }
                }
            }
        }
        // Another repository can lie there, that nobody has spoken of.
        if purity == Purity::ReadOnlyIfTrusted && !is_within(&command, surroundings) {
            purity = Purity::Unknown;
        }
        let names = match purity {
            Purity::Unknown => named_paths(&command, surroundings),
            _ => Vec::new(),
        };
        self.push(Atom::Run {
            command: Box::new(command),
            purity,
            names,
        });
        for (path, names) in reads {
            match names {
                None => self.path(&path, surroundings, Atom::Read),
                Some(names) => self.path(&path, surroundings, |folder| Atom::ReadMatching {
                    folder,
                    names: names.clone(),
                }),
            }
        }
    }

    /// What a glob finds in a folder through links.
    fn links(&mut self, folder: &Path, names: &str, surroundings: &Surroundings) {
        let Some(links) = surroundings.paths.links(folder) else {
            let opaque = Opaque::new(OpaqueKind::Glob, &folder.to_string_lossy());
            return self.push(Atom::Opaque(opaque));
        };
        let glob = GlobBuilder::new(names).backslash_escape(true).build();
        let glob = glob.ok().map(|glob| glob.compile_matcher());
        for link in links {
            let name = link.file_name().unwrap_or_default();
            let is_found = glob.as_ref().is_none_or(|glob| glob.is_match(name));
            // One that leads nowhere is not read.
            if is_found && let Some(real) = surroundings.paths.real(&link) {
                self.push(Atom::Read(real));
            }
        }
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

/// The paths that the words of a command name, whatever it does with them. For a glob, its folder.
fn named_paths(command: &SimpleCommand, surroundings: &Surroundings) -> Vec<PathBuf> {
    let Some(folder) = command.folder.as_deref() else {
        return Vec::new();
    };
    let words = command.words.iter().skip(1).filter_map(|word| match word {
        Word::Literal(text) => {
            // `--file=x` names x.
            let value = text.split_once('=').filter(|_| text.starts_with('-'));
            Some(value.map_or(text.as_str(), |(_, value)| value))
        }
        Word::Glob { start, .. } => Some(start.rsplit_once('/').map_or(".", |(above, _)| above)),
        Word::Unknown(_) => None,
    });
    let mut names = Vec::new();
    for word in words.filter(|word| !word.is_empty() && !word.starts_with('-')) {
        if let Some(real) = surroundings.paths.real(&folder.join(word))
            && !names.contains(&real)
        {
            names.push(real);
        }
    }
    names
}

/// What an operand of a known command reads.
enum Reads {
    Path(PathBuf),
    /// The files of a folder with such names.
    Files(PathBuf, String),
    /// The folder, and what such names in it lead to.
    Names(PathBuf, String),
    /// A glob over several folders.
    Unknown,
    /// The folder is not known.
    Lost,
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
            let (above, names) = match pattern.rsplit_once('/') {
                Some(("", names)) => ("/", names),
                Some((above, names)) => (above, names),
                None => (".", *pattern),
            };
            // Links that a glob over folders goes through are nobody's.
            if above.contains(['*', '?', '[', '\\']) || names.is_empty() {
                return Reads::Unknown;
            }
            match (absolute(Path::new(above)), operand) {
                (None, _) => Reads::Lost,
                (Some(folder), Operand::Names(_)) => Reads::Names(folder, names.to_owned()),
                (Some(folder), _) => Reads::Files(folder, names.to_owned()),
            }
        }
    }
}
