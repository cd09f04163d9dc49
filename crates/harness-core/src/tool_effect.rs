//! What a call would do to the world.

use std::path::{Path, PathBuf};

/// What one call of a tool would do, as the tool itself declares it before it runs.
///
/// Policies decide by this, never by the tool's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolEffect {
    /// It reads a file or what is in a folder.
    Read(PathBuf),
    /// It writes a file, or makes one.
    Write(PathBuf),
    /// It runs a command, which may do anything.
    Run(CommandEffect),
    /// It sends something to a host.
    Network(String),
    /// It changes only what belongs to the conversation, such as a list of tasks.
    Conversation,
    /// Nobody knows.
    Unknown,
}

/// A command that would be run, as a shell would read it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandEffect {
    /// The command line.
    pub line: String,
    /// The folder that it would run in; absolute. `None` if that is not known.
    pub folder: Option<PathBuf>,
}

impl CommandEffect {
    /// A command line that runs nobody knows where.
    pub fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            folder: None,
        }
    }

    /// The folder that it would run in.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

impl<T: Into<String>> From<T> for CommandEffect {
    fn from(line: T) -> Self {
        Self::new(line)
    }
}

/// All that one call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolEffects(Vec<ToolEffect>);

impl ToolEffects {
    /// These effects, all of them. An empty list is a call that does nothing to the world.
    pub fn new(effects: impl IntoIterator<Item = ToolEffect>) -> Self {
        Self(effects.into_iter().collect())
    }

    /// It is not known what the call would do: what a tool declares that declares nothing.
    pub fn unknown() -> Self {
        Self(vec![ToolEffect::Unknown])
    }

    /// It reads this.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        Self(vec![ToolEffect::Read(path.into())])
    }

    /// It writes this.
    pub fn write(path: impl Into<PathBuf>) -> Self {
        Self(vec![ToolEffect::Write(path.into())])
    }

    /// It runs this command.
    pub fn run(command: impl Into<CommandEffect>) -> Self {
        Self(vec![ToolEffect::Run(command.into())])
    }

    /// It changes only what belongs to the conversation.
    pub fn conversation() -> Self {
        Self(vec![ToolEffect::Conversation])
    }

    /// The effects.
    pub fn iter(&self) -> std::slice::Iter<'_, ToolEffect> {
        self.0.iter()
    }

    /// Whether it is known what the call would do.
    pub fn is_known(&self) -> bool {
        !self.0.contains(&ToolEffect::Unknown)
    }

    /// Whether nothing outside the conversation would change.
    pub fn is_read_only(&self) -> bool {
        self.0.iter().all(ToolEffect::is_read_only)
    }

    /// The files and folders that it would read or write.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|effect| match effect {
            ToolEffect::Read(path) | ToolEffect::Write(path) => Some(path.as_path()),
            _ => None,
        })
    }
}

impl ToolEffect {
    /// Whether nothing outside the conversation would change.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Read(_) | Self::Conversation => true,
            Self::Write(_) | Self::Run(_) | Self::Network(_) | Self::Unknown => false,
        }
    }
}

impl<'a> IntoIterator for &'a ToolEffects {
    type Item = &'a ToolEffect;
    type IntoIter = std::slice::Iter<'a, ToolEffect>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
