//! Folders of skills on disk, and what holds for every one of them.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use harness_frontmatter::Diagnostic;
use harness_skills::{
    Activation, Catalogue, Entry, Format, FormatOptions, Identity, Layer, Limits, LookupError,
    Root, Skill, Skills, Status, format_skills,
};
use tempfile::TempDir;

/// A folder that is gone with the test.
pub(crate) struct Tree {
    folder: TempDir,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// `relative` in it.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Writes a file, and makes the folders that it is in.
    pub(crate) fn write(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes the `SKILL.md` of a folder, named as the folder is.
    pub(crate) fn skill(&self, folder: impl AsRef<Path>) -> PathBuf {
        let name = folder.as_ref().file_name().unwrap().to_str().unwrap();
        self.named(&folder, name)
    }

    /// Writes the `SKILL.md` of a folder. Its body tells where it is, as no other one's does.
    pub(crate) fn named(&self, folder: impl AsRef<Path>, name: &str) -> PathBuf {
        let folder = folder.as_ref();
        let body = format!("Canary of {}.", folder.display());
        self.write(folder.join("SKILL.md"), text(name, &body))
    }

    /// Makes a folder.
    pub(crate) fn folder(&self, relative: impl AsRef<Path>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Makes a link; a relative target is relative to the link, as always.
    pub(crate) fn link(&self, target: impl AsRef<Path>, link: impl AsRef<Path>) {
        let link = self.path(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }

    pub(crate) fn root(&self, layer: Layer, relative: &str) -> Root {
        Root::new(layer, self.path(relative))
    }

    /// The skills of the folder `skills`, which are the user's.
    pub(crate) fn skills(&self) -> Skills {
        discover(&[self.root(Layer::User, "skills")])
    }

    /// A path without the part that is another one in each run.
    pub(crate) fn relative(&self, path: &Path) -> String {
        let relative = path.strip_prefix(self.folder.path()).unwrap_or(path);
        relative.to_string_lossy().into_owned()
    }

    /// Name, status and folder of all skills.
    pub(crate) fn listing(&self, skills: &Skills) -> Vec<String> {
        let catalogue = skills.catalogue();
        let line = |entry: &Entry| {
            let place = entry.skill.directory().map(|path| self.relative(path));
            format!(
                "{} {} {}",
                entry.skill.name(),
                entry.status.word(),
                place.unwrap_or_default()
            )
        };
        catalogue.entries().iter().map(line).collect()
    }

    /// The folders of the active skills, in the order of the catalogue.
    pub(crate) fn active(&self, skills: &Skills) -> Vec<String> {
        let catalogue = skills.catalogue();
        let place = |skill: &Arc<Skill>| self.relative(skill.directory().unwrap());
        catalogue.active().map(place).collect()
    }

    /// The entry of a skill.
    pub(crate) fn entry(&self, skills: &Skills, folder: impl AsRef<Path>) -> Entry {
        let folder = self.path(folder);
        let catalogue = skills.catalogue();
        let mut entries = catalogue.entries().iter();
        let found = entries.find(|entry| entry.skill.directory() == Some(&*folder));
        found.expect("it is listed").clone()
    }
}

/// A `SKILL.md`.
pub(crate) fn text(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Does a thing.\n---\n{body}\n")
}

/// Looks for skills; all that can be asked must agree.
pub(crate) fn discover(roots: &[Root]) -> Skills {
    let skills = Skills::discover(roots);
    agrees(&skills);
    skills
}

/// The codes of findings, each once: `E-YAML`.
pub(crate) fn codes(diagnostics: &[Diagnostic]) -> Vec<String> {
    let code = |it: &Diagnostic| format!("{}-{}", it.severity.letter(), it.code);
    let mut codes: Vec<String> = diagnostics.iter().map(code).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// The one finding of a kind.
pub(crate) fn finding<'d>(diagnostics: &'d [Diagnostic], code: &str) -> &'d Diagnostic {
    let mut found = diagnostics.iter().filter(|it| it.code.name() == code);
    let first = found.next();
    assert!(found.next().is_none(), "{code} is there twice");
    first.unwrap_or_else(|| panic!("no {code} among {diagnostics:?}"))
}

/// The instructions of a skill.
pub(crate) fn instructions(skills: &Skills, name: &str) -> String {
    let activation = skills.catalogue().activate(name, skills.limits());
    activation.unwrap().instructions
}

/// Looks again until nothing had to be read: files that were written just now are read again.
pub(crate) fn settled(skills: &Skills) -> Arc<Catalogue> {
    let end = Instant::now() + Duration::from_secs(20);
    while skills.refresh().files_read > 0 {
        assert!(Instant::now() < end, "files are read again and again");
        std::thread::yield_now();
    }
    agrees(skills);
    skills.catalogue()
}

/// Sets a time of the past.
pub(crate) fn old(path: &Path) {
    let file = fs::File::open(path).unwrap();
    let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    file.set_modified(past).unwrap();
}

/// Holds that listing, lookup, activation, commands and completion agree about who has which name.
pub(crate) fn agrees(skills: &Skills) {
    let catalogue = skills.catalogue();
    let active: Vec<&Arc<Skill>> = catalogue.active().collect();
    for skill in &active {
        can_be_used(&catalogue, skill, &active, skills.limits());
    }
    for entry in catalogue.entries() {
        let is_listed = active.iter().any(|skill| Arc::ptr_eq(skill, &entry.skill));
        assert_eq!(is_listed, entry.status.is_active());
        let is_usable = is_listed || matches!(entry.status, Status::Shadowed { .. });
        if let Some(path) = entry.skill.file().and_then(Path::to_str)
            && is_usable
        {
            let found = catalogue.find(path).unwrap();
            assert!(Arc::ptr_eq(found, &entry.skill), "{path}");
        }
    }
    commands_agree(&catalogue, &active);
    listing_agrees(&catalogue, &active);
}

fn can_be_used(catalogue: &Catalogue, skill: &Arc<Skill>, active: &[&Arc<Skill>], limits: &Limits) {
    let name = skill.name();
    let others = active.iter().filter(|it| it.identity() == skill.identity());
    match catalogue.find(&name) {
        Ok(found) => assert!(Arc::ptr_eq(found, skill), "{name} is another skill"),
        Err(LookupError::Ambiguous { candidates, .. }) => {
            assert_eq!(candidates.len(), others.clone().count());
            for candidate in candidates {
                let (address, _) = candidate.split_once(" (").unwrap_or((&candidate, ""));
                assert!(catalogue.find(address).is_ok(), "{address}");
            }
        }
        Err(error) => panic!("{name} is listed, but: {error}"),
    }
    // That may also be the whole name of another one.
    let with_layer = format!("{name}@{}", skill.layer);
    let identity = Identity::of(&with_layer);
    if active.iter().all(|it| *it.identity() != identity) {
        let found = catalogue.find(&with_layer).unwrap();
        let of_layer = others.clone().find(|it| it.layer == skill.layer).unwrap();
        assert!(Arc::ptr_eq(found, of_layer), "{with_layer}");
    }

    let activation = Activation::of(skill, limits).unwrap();
    assert_eq!(activation.skill.location, skill.location);
    assert_eq!(activation.digest(), skill.digest);
    if let Some(file) = skill.file() {
        let bytes = fs::read(file).unwrap();
        assert!(bytes.ends_with(activation.raw_body()));
    }
    if others.count() == 1 {
        let by_name = catalogue.activate(&name, limits).unwrap();
        assert_eq!(by_name.skill.location, skill.location);
        assert_eq!(by_name.instructions, activation.instructions);
    }
}

fn commands_agree(catalogue: &Catalogue, active: &[&Arc<Skill>]) {
    let mut commands = Vec::new();
    for (command, skill) in catalogue.commands() {
        assert!(skill.is_for_users());
        assert!(active.iter().any(|it| Arc::ptr_eq(it, skill)));
        assert!(
            Arc::ptr_eq(catalogue.find(&command).unwrap(), skill),
            "{command}"
        );
        assert_eq!(catalogue.complete(&command).first(), Some(&command));
        commands.push(command);
    }
    for skill in active.iter().filter(|skill| skill.is_for_users()) {
        let has_command = catalogue.commands().any(|(_, it)| Arc::ptr_eq(it, skill));
        if let Some(command) = skill.command()
            && !has_command
        {
            let found = catalogue.find(&command);
            assert!(
                !found.is_ok_and(|it| Arc::ptr_eq(it, skill)),
                "{command} is missing"
            );
        }
    }
    commands.sort();
    assert_eq!(catalogue.complete(""), commands);
    let once: HashSet<&String> = commands.iter().collect();
    assert_eq!(once.len(), commands.len(), "{commands:?}");
}

fn listing_agrees(catalogue: &Catalogue, active: &[&Arc<Skill>]) {
    let options = FormatOptions::default().with_format(Format::Reference);
    let listed = format_skills(catalogue.for_models().map(|skill| &**skill), &options);
    assert!(listed.is_whole());
    let shown = active.iter().filter(|skill| skill.is_for_models());
    let names = listed.text.matches("\n<name>\n").count();
    assert_eq!(names, shown.count());
}
