//! The folder that the tools work in, and what they may touch.

mod permitted;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use harness_core::{Permit, ToolContext, TraceContext};

use crate::error::Error;
use crate::files::{Files, Resolved};
use crate::given_path;
use crate::limits::Limits;
use crate::local_files::LocalFiles;
use crate::local_processes::LocalProcesses;
use crate::lookalike;
use crate::names;
use crate::place::Place;
use crate::processes::{Process, ProcessSpec, Processes};
use crate::readable_folders::ReadableFolders;
use crate::seen::SeenFiles;
use crate::shell::ShellOptions;

/// How many files with a command's output stay readable when reading is confined.
const MAX_OUTPUTS: usize = 1_000;

/// How many components of one path are taken for ones that look the same.
const MAX_SAME_LOOKS: usize = 16;

/// Which paths a kind of access may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Every path that the process may reach. The default for reading and for writing: the `bash`
    /// tool can reach them anyway.
    #[default]
    Anywhere,
    /// Only what lies in the workspace after every symlink is followed.
    WorkspaceOnly,
}

/// The folder that the tools work in, with the policy for paths, the bounds and the shell. Cheap to
/// clone; the tools made from one share it.
///
/// The policy holds for `read`, `write`, `edit`, `grep`, `find` and `ls`. It is checked on the path
/// that the kernel would end up at, and the file is then opened by that path without following any
/// link, so that swapping a symlink in between changes nothing. It does **not** hold for `bash`:
/// confining a process is the work of a sandbox (`with_sandbox`, with the feature `sandbox`).
///
/// ```
/// use harness_tools::{Access, Workspace};
///
/// let workspace = Workspace::new("/srv/project")
///     .with_home("/home/someone")
///     .with_write_access(Access::WorkspaceOnly);
/// # assert_eq!(workspace.root(), std::path::Path::new("/srv/project"));
/// ```
#[derive(Clone, Debug)]
pub struct Workspace(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    root: PathBuf,
    home: Option<PathBuf>,
    read: Access,
    write: Access,
    readable: Vec<PathBuf>,
    /// What was let through of the call that this is for.
    permit: Option<Permit>,
    limits: Arc<Limits>,
    shell: Arc<ShellOptions>,
    files: Arc<dyn Files>,
    processes: Arc<dyn Processes>,
    #[cfg(feature = "sandbox")]
    sandbox: Option<Arc<harness_sandbox::Policy>>,
    shared: Arc<Shared>,
}

/// What outlives a change of the settings.
#[derive(Debug, Default)]
struct Shared {
    /// Files that hold the output of commands: readable wherever they are.
    outputs: Mutex<VecDeque<PathBuf>>,
    /// Held while a run's record of seen files is made.
    seen: Mutex<()>,
}

impl Workspace {
    /// A workspace in this folder. A relative path is taken from the folder that the process is in.
    /// The folder need not exist; a tool that needs it then says so.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let root = std::path::absolute(&root).unwrap_or(root);
        Self(Arc::new(Inner {
            root,
            home: None,
            read: Access::default(),
            write: Access::default(),
            readable: Vec::new(),
            permit: None,
            limits: Arc::default(),
            shell: Arc::default(),
            files: Arc::new(LocalFiles::new()),
            processes: Arc::new(LocalProcesses),
            #[cfg(feature = "sandbox")]
            sandbox: None,
            shared: Arc::default(),
        }))
    }

    /// The folder that `~` stands for. Without one, a path that begins with `~/` is an error.
    pub fn with_home(self, home: impl Into<PathBuf>) -> Self {
        let home = Some(home.into());
        self.with(|inner| inner.home = home)
    }

    /// What may be read, listed and searched.
    pub fn with_read_access(self, access: Access) -> Self {
        self.with(|inner| inner.read = access)
    }

    /// What may be written.
    pub fn with_write_access(self, access: Access) -> Self {
        self.with(|inner| inner.write = access)
    }

    /// A folder or file outside the workspace that may be read even if reading is confined: skills,
    /// documentation.
    pub fn with_readable(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.with(|inner| inner.readable.push(path))
    }

    /// The bounds.
    pub fn with_limits(self, limits: Limits) -> Self {
        self.with(|inner| inner.limits = Arc::new(limits))
    }

    /// How commands are run.
    pub fn with_shell(self, shell: ShellOptions) -> Self {
        self.with(|inner| inner.shell = Arc::new(shell))
    }

    /// Works on other files than those of this machine: of a container, of another machine, in
    /// memory. Commands go on to run on this machine: [`with_processes`](Self::with_processes) is what
    /// sends them where the files are. The file with a command's long output is always on this machine,
    /// so that `read` finds it only there.
    pub fn with_files(self, files: Arc<dyn Files>) -> Self {
        self.with(|inner| inner.files = files)
    }

    /// Where commands are run; on this machine by default. They should see the same files as the other
    /// tools: see [`with_files`](Self::with_files).
    pub fn with_processes(self, processes: Arc<dyn Processes>) -> Self {
        self.with(|inner| inner.processes = processes)
    }

    /// Confines the commands of `bash`, in the foreground and in the background. The root of each call may be
    /// written in addition to what the policy names, unless its profile is read-only.
    ///
    /// If the policy cannot be enforced where commands run, `bash` is unavailable and no command is run.
    /// [`Abilities::missing`](harness_sandbox::Abilities::missing) tells a host beforehand. The other tools
    /// do not go through it.
    #[cfg(feature = "sandbox")]
    pub fn with_sandbox(self, policy: harness_sandbox::Policy) -> Self {
        let policy = policy.is_on().then(|| Arc::new(policy));
        self.with(|inner| inner.sandbox = policy)
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// The same in a folder of it: what could be read and written before can be now, relative paths begin there, and
    /// commands run there. `Err` if the folder does not really lie in this one's.
    pub fn moved_to(&self, folder: &Path) -> std::io::Result<Self> {
        let real = folder.canonicalize()?;
        if !real.starts_with(self.root().canonicalize()?) || !real.is_dir() {
            let problem = format!(
                "{} is no folder in {}",
                real.display(),
                self.root().display()
            );
            return Err(std::io::Error::other(problem));
        }
        Ok(self.clone().with(|inner| inner.root = real))
    }

    /// The root folder, absolute.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// The bounds.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// How commands are run.
    pub fn shell(&self) -> &ShellOptions {
        &self.0.shell
    }

    /// The files that the tools work on.
    pub fn files(&self) -> &dyn Files {
        &*self.0.files
    }

    /// Where commands are run.
    pub fn processes(&self) -> &Arc<dyn Processes> {
        &self.0.processes
    }

    /// What confines commands, if anything does.
    #[cfg(feature = "sandbox")]
    pub fn sandbox(&self) -> Option<&harness_sandbox::Policy> {
        self.0.sandbox.as_deref()
    }

    /// Why no command can be run, if none can.
    pub(crate) fn no_commands(&self) -> Option<String> {
        let unavailable = self.0.processes.unavailable(&self.0.shell);
        unavailable.or_else(|| self.unconfined().err())
    }

    /// An error if commands should be confined and cannot be.
    #[cfg(feature = "sandbox")]
    fn unconfined(&self) -> Result<(), String> {
        match self.sandbox() {
            Some(policy) => self.0.processes.confines(policy).map_err(|why| {
                format!(
                    "The sandbox `{}` cannot be enforced: {why}.",
                    policy.profile()
                )
            }),
            None => Ok(()),
        }
    }

    #[cfg(not(feature = "sandbox"))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "with the feature it looks"
    )]
    fn unconfined(&self) -> Result<(), String> {
        Ok(())
    }

    /// Starts a command in this folder, confined if it is to be.
    pub(crate) async fn start(
        &self,
        command: &str,
        folder: &Path,
        trace: Option<&TraceContext>,
    ) -> Result<Box<dyn Process>, Error> {
        self.unconfined().map_err(Error::Command)?;
        let spec = ProcessSpec {
            command,
            folder,
            root: &self.0.root,
            shell: &self.0.shell,
            #[cfg(feature = "sandbox")]
            sandbox: self.sandbox(),
            trace,
            stdin: None,
        };
        self.0.processes.start(spec).await
    }

    /// The workspace of one call: if the run has a working folder of its own, that is the root, for
    /// relative paths and for the policy. The [`ReadableFolders`] of its session may be read as well. A call
    /// that has a [`Permit`] reaches nothing else.
    pub fn for_call(&self, cx: &ToolContext) -> Self {
        let permit = cx.run().value::<Permit>().cloned();
        let workspace = self.in_folder_of(cx);
        match permit {
            Some(_) => workspace.with(|inner| inner.permit = permit),
            None => workspace,
        }
    }

    fn in_folder_of(&self, cx: &ToolContext) -> Self {
        let workspace = match cx.run().working_dir() {
            Some(folder) if folder != self.0.root => {
                let folder = self.0.root.join(folder);
                self.clone().with(|inner| inner.root = folder)
            }
            _ => self.clone(),
        };
        if self.0.read == Access::Anywhere {
            return workspace;
        }
        match cx.run().attributes().get::<ReadableFolders>() {
            Some(folders) if !folders.get().is_empty() => {
                workspace.with(|inner| inner.readable.extend(folders.get().iter().cloned()))
            }
            _ => workspace,
        }
    }

    /// What the run of this call has seen so far.
    pub fn seen(&self, cx: &ToolContext) -> SeenFiles {
        let _held = self
            .0
            .shared
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let attributes = cx.run().attributes();
        if let Some(seen) = attributes.get::<SeenFiles>() {
            return SeenFiles::clone(&seen);
        }
        let seen = SeenFiles::new();
        attributes.insert(seen.clone());
        seen
    }

    /// Resolves the path of something that exists and may be read.
    ///
    /// A missing name is taken for the one name in its folder that looks exactly the same: models
    /// type plain quotes, spaces and composed accents, and `\xE9` for a byte that is not UTF-8.
    pub fn to_read(&self, path: &str) -> Result<Place, Error> {
        self.existing(path, self.0.read, "reading")
    }

    /// Like [`to_read`](Self::to_read), for a file that is there under that very name, and that can be read without a wait.
    pub(crate) fn quick_to_read(&self, path: &str) -> Option<Place> {
        let place = self.resolve(path).ok()?;
        let quick = place
            .info
            .is_some_and(|info| self.files().is_quick(&self.0.root, &info));
        (quick && self.allow(&place, self.0.read, "reading").is_ok()).then_some(place)
    }

    /// Resolves the path of something that exists and may be read and written.
    pub fn to_change(&self, path: &str) -> Result<Place, Error> {
        let place = self.existing(path, self.0.write, "writing")?;
        self.allow(&place, self.0.read, "reading")?;
        Ok(place)
    }

    /// Resolves a path that may be written; nothing need be there.
    pub fn to_write(&self, path: &str) -> Result<Place, Error> {
        let place = self.resolve(path)?;
        self.allow(&place, self.0.write, "writing")?;
        Ok(place)
    }

    /// How a real path is shown: relative to the root if it lies in it, in one line.
    pub fn show(&self, real: &Path) -> String {
        let shown = match real.strip_prefix(&self.0.root) {
            Ok(inside) => Some(inside.to_owned()),
            Err(_) => self
                .real_root()
                .and_then(|root| real.strip_prefix(root).ok().map(Path::to_owned)),
        };
        match shown {
            Some(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Some(inside) => names::shown_path(&inside).into_owned(),
            None => names::shown_path(real).into_owned(),
        }
    }

    fn existing(&self, path: &str, access: Access, act: &'static str) -> Result<Place, Error> {
        let place = self.resolve(path)?;
        self.allow(&place, access, act)?;
        if place.info.is_some() {
            return Ok(place);
        }
        let found = self.same_look(place, access, act);
        match found {
            Err(Error::NotFound { path: shown, .. }) if self.is_link(path) => {
                Err(Error::WrongKind {
                    path: shown,
                    what: "a symlink to something that does not exist",
                    hint: "",
                })
            }
            found => found,
        }
    }

    /// Whether a path is a symlink, as it is given.
    fn is_link(&self, path: &str) -> bool {
        self.absolute(path)
            .is_ok_and(|path| self.files().read_link(&path).is_ok())
    }

    /// What looks the same as a place where nothing is.
    fn same_look(
        &self,
        mut place: Place,
        access: Access,
        act: &'static str,
    ) -> Result<Place, Error> {
        let given = place.shown.clone();
        for _ in 0..MAX_SAME_LOOKS {
            let (folder, missing) = self.split_at_missing(&place.real);
            place.real = folder;
            let mut missing = missing.components();
            let name = missing.next().map(|name| name.as_os_str().to_owned());
            // The folder lies on the way to a path that was let through; only its names are looked at.
            let (Some(name), Ok(())) = (name, self.allow_by_place(&place, access, act)) else {
                break;
            };
            let offer = lookalike::offer(self.files(), &place.real, &name);
            let Some(name) = offer.same_look else {
                return Err(Error::NotFound {
                    path: given,
                    similar: offer.similar,
                });
            };
            // Through the whole check again: the name may be a link.
            let found = place.real.join(name).join(missing.as_path());
            place = self.place(&found, self.show(&found), place.folder_meant)?;
            self.allow(&place, access, act)?;
            if place.info.is_some() {
                return Ok(place);
            }
        }
        Err(Error::NotFound {
            path: given,
            similar: Vec::new(),
        })
    }

    /// The deepest folder on a path that is there, and the rest.
    fn split_at_missing(&self, real: &Path) -> (PathBuf, PathBuf) {
        let folder = real
            .ancestors()
            .skip(1)
            .find(|above| {
                let found = self.files().resolve(above);
                found.is_ok_and(|found| found.info.is_some())
            })
            .unwrap_or(Path::new("/"));
        let rest = real.strip_prefix(folder).unwrap_or(Path::new(""));
        (folder.to_owned(), rest.to_owned())
    }

    fn resolve(&self, path: &str) -> Result<Place, Error> {
        let absolute = self.absolute(path)?;
        let folder_meant = path.ends_with('/') || path.ends_with("/.") || path == ".";
        let shown = names::shown(OsStr::new(path)).into_owned();
        self.place(&absolute, shown, folder_meant)
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, Error> {
        let home = self.0.home.as_deref();
        let exists = |path: &Path| {
            let found = self.files().resolve(path);
            found.is_ok_and(|found| found.info.is_some())
        };
        given_path::absolute(path, &self.0.root, home, exists)
    }

    fn place(&self, absolute: &Path, shown: String, folder_meant: bool) -> Result<Place, Error> {
        match self.files().resolve(absolute) {
            // The policy compares real paths, and these would lead it astray.
            Ok(Resolved { real, .. }) if !is_real(&real) => Err(Error::Path(format!(
                "leads to `{}`, which is no real path",
                names::shown_path(&real)
            ))),
            Ok(Resolved { real, info }) => Ok(Place {
                shown,
                real,
                info,
                folder_meant,
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                Err(Error::WrongKind {
                    path: shown,
                    what: "not possible: a part of it is a file, and nothing is in a file",
                    hint: "",
                })
            }
            Err(source) => Err(Error::io("resolve", &shown, source)),
        }
    }

    fn allow(&self, place: &Place, access: Access, act: &'static str) -> Result<(), Error> {
        self.allow_by_place(place, access, act)?;
        let Some(permit) = &self.0.permit else {
            return Ok(());
        };
        let permitted = match act {
            "writing" => permit.writes(&place.real),
            _ => permit.reads(&place.real),
        };
        if permitted {
            Ok(())
        } else {
            Err(Error::NotPermitted {
                path: place.shown.clone(),
                act,
            })
        }
    }

    fn allow_by_place(
        &self,
        place: &Place,
        access: Access,
        act: &'static str,
    ) -> Result<(), Error> {
        let allowed = match access {
            Access::Anywhere => true,
            Access::WorkspaceOnly => {
                self.real_root()
                    .is_some_and(|root| place.real.starts_with(root))
                    || (act == "reading" && self.readable(&place.real))
            }
        };
        if allowed {
            Ok(())
        } else {
            Err(Error::Outside {
                path: place.shown.clone(),
                act,
            })
        }
    }

    fn readable(&self, real: &Path) -> bool {
        let listed = self.0.readable.iter().any(|path| {
            let found = self.files().resolve(path);
            found.is_ok_and(|found| real.starts_with(found.real))
        });
        listed || self.outputs().iter().any(|path| path == real)
    }

    /// The root without symlinks. Asked for on each call: the folder may be moved.
    pub(crate) fn real_root(&self) -> Option<PathBuf> {
        let found = self.files().resolve(&self.0.root);
        found.ok().map(|found| found.real)
    }

    /// Lets a file be read that the program itself wrote for the model, wherever it is: the whole of
    /// what was shown only in part. Holds for every clone of this workspace; of more than 1,000 such
    /// files, the oldest are forgotten.
    pub fn allow_reading(&self, path: &Path) {
        if let Ok(Resolved { real, .. }) = self.files().resolve(path) {
            let mut outputs = self.outputs();
            if outputs.len() >= MAX_OUTPUTS {
                outputs.pop_front();
            }
            outputs.push_back(real);
        }
    }

    fn outputs(&self) -> std::sync::MutexGuard<'_, VecDeque<PathBuf>> {
        self.0
            .shared
            .outputs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a path is absolute, and has no `..` in it.
fn is_real(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|component| component != Component::ParentDir)
}
