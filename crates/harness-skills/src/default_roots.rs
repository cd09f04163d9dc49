//! Where skills are looked for unless a program says otherwise.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::form::Form;
use crate::layer::Layer;
use crate::root::{BuiltIn, Root};

/// Where the owner of a machine puts skills for all its users.
pub const MANAGED_FOLDER: &str = "/etc/harness/skills";

/// The file in [`MANAGED_FOLDER`] that locks it: no other skill can take a name from it. Its content does not
/// matter.
pub const LOCK_FILE: &str = ".locked";

/// The usual roots, as values: what environment and configuration say is for the program to read.
///
/// The order is `explicit > managed > isolated user > project (nearest folder first) > user > repository >
/// built-in`. Folders that are not there cost nothing, and are looked for again at each refresh. A path that
/// begins with `~` is one in [`home`](Self::home).
///
/// ```
/// use harness_skills::{DefaultRoots, Layer, Skills};
///
/// let mut roots = DefaultRoots::default();
/// roots.working_dir = Some("/home/ada/project".into());
/// roots.home = Some("/home/ada".into());
/// let roots = roots.roots(|folder| folder.starts_with("/home/ada/project"));
/// assert_eq!(roots[0].layer, Layer::Project);
/// let skills = Skills::discover(&roots);
/// # assert_eq!(skills.catalogue().active().count(), 0);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DefaultRoots {
    /// What is looked for. Default: skills. With another form, the folders are called by that: `agents` in the
    /// place of `skills`; and of the folders of a project and at home, only ours and `.claude` are looked into.
    pub form: Form,
    /// Folders of skills, folders of one skill, or `SKILL.md` files, named by the user.
    pub explicit: Vec<PathBuf>,
    /// The skills that the owner of the machine wants: usually [`MANAGED_FOLDER`].
    pub managed: Option<PathBuf>,
    /// One user's own skills, in a service that many share.
    pub isolated_user: Option<PathBuf>,
    /// The folder that is worked in. Its skills, and those of the folders above it up to the root of the
    /// repository, are the project's. Outside a repository, only its own.
    pub working_dir: Option<PathBuf>,
    /// The folder of the program's configuration: `$XDG_CONFIG_HOME/harness`.
    pub config_folder: Option<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Whether `.claude/skills` is read, too, in projects and at home.
    pub claude: bool,
    /// Whether `.pi/skills` is read, too, and `~/.pi/agent/skills`.
    pub pi: bool,
    /// Roots behind the user's: repositories.
    pub repositories: Vec<Root>,
    /// Skills that are part of the program.
    pub built_in: Vec<BuiltIn>,
    /// Why the skills of a project that is not trusted are held back, in words for people. Default: `the
    /// project is not trusted`.
    pub held_reason: Option<Arc<str>>,
}

impl DefaultRoots {
    /// The roots, highest first. `trusts` says whether the skills of a project's folder may be loaded: they
    /// come with the project, from strangers.
    pub fn roots(&self, trusts: impl Fn(&Path) -> bool) -> Vec<Root> {
        let mut roots = Vec::new();
        let explicit = self.explicit.iter();
        roots.extend(explicit.map(|path| Root::new(Layer::Explicit, self.expanded(path))));
        if let Some(managed) = &self.managed {
            let root = Root::new(Layer::Managed, managed);
            let is_locked = managed.join(LOCK_FILE).exists();
            roots.push(if is_locked { root.locked() } else { root });
        }
        let isolated = self.isolated_user.iter();
        roots.extend(isolated.map(|path| Root::new(Layer::IsolatedUser, self.expanded(path))));
        let users = self.user_folders();
        for folder in self.project_folders() {
            let is_trusted = trusts(folder);
            for path in self.folders_of_clients(folder) {
                // In a home that is a repository itself, what is the user's stays the user's.
                if users.contains(&path) {
                    continue;
                }
                let root = Root::new(Layer::Project, path).of_project(folder);
                roots.push(if is_trusted {
                    root
                } else {
                    let reason = self.held_reason.as_deref();
                    root.held(reason.unwrap_or("the project is not trusted"))
                });
            }
        }
        roots.extend(users.into_iter().map(|path| Root::new(Layer::User, path)));
        roots.extend(self.repositories.iter().cloned());
        if !self.built_in.is_empty() {
            roots.push(Root::built_in(self.built_in.iter().cloned()));
        }
        roots
    }

    /// The working folder and those above it up to the root of its repository, which is where a `.git` is:
    /// a folder, or a file in a worktree or a submodule.
    fn project_folders(&self) -> Vec<&Path> {
        let Some(working_dir) = &self.working_dir else {
            return Vec::new();
        };
        let folders: Vec<&Path> = working_dir.ancestors().collect();
        let root = folders
            .iter()
            .position(|folder| folder.join(".git").exists());
        folders[..=root.unwrap_or(0)].to_vec()
    }

    /// A path in the home, if it begins with `~`: no shell has seen it when it stands in a file.
    fn expanded(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    fn folders_of_clients(&self, folder: &Path) -> Vec<PathBuf> {
        let is_shared = self.form == Form::Skills;
        let mut names = vec![".harness"];
        names.extend(is_shared.then_some(".agents"));
        names.extend(self.claude.then_some(".claude"));
        names.extend((is_shared && self.pi).then_some(".pi"));
        let names = names.into_iter();
        let in_folder = |name| folder.join(name).join(self.form.folder());
        names.map(in_folder).collect()
    }

    fn user_folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        let config = self.config_folder.iter();
        let name = self.form.folder();
        folders.extend(config.map(|config| self.expanded(config).join(name)));
        if let Some(home) = &self.home {
            let is_shared = self.form == Form::Skills;
            folders.extend(is_shared.then(|| home.join(".agents/skills")));
            folders.extend(self.claude.then(|| home.join(".claude").join(name)));
            folders.extend((is_shared && self.pi).then(|| home.join(".pi/agent/skills")));
        }
        folders
    }
}
