//! What a parser cannot vouch for.

use std::fmt;

use super::invisible::visible;

/// The longest piece of a line that an [`Opaque`] quotes, in characters.
const QUOTED: usize = 60;

/// Why a part of a command line says nothing about what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OpaqueKind {
    /// `$(…)` or backticks.
    Substitution,
    /// `<(…)` or `>(…)`.
    ProcessSubstitution,
    /// `$x`, `${…}`, `$'…'`, `$"…"`.
    Expansion,
    /// `$((…))` or `((…))`.
    Arithmetic,
    /// `{a,b}` or `{1..3}`.
    BraceExpansion,
    /// A glob where the word decides what is run or written.
    Glob,
    /// `~user`, `~+`, a `~` in the middle of a word, or a home that is not known.
    Tilde,
    /// `x=y`, or a command that sets variables.
    Assignment,
    /// A function is defined.
    Function,
    /// An alias is defined.
    Alias,
    /// `eval`.
    Eval,
    /// `source` or `.`.
    Source,
    /// `exec`.
    Exec,
    /// A command that changes how the shell reads or runs what follows.
    ShellState,
    /// `[[ … ]]` or `case`.
    Conditional,
    /// A command that runs another one in a way that is not looked through.
    Wrapper,
    /// An interpreter with code as an argument, or with options that are not known.
    Interpreter,
    /// An interpreter that reads its program from its input.
    Input,
    /// An option that makes a program run another one, or takes it elsewhere.
    Option,
    /// A redirection that is not to a literal path.
    Redirect,
    /// A relative path in a folder that is not known, or a path that cannot be followed.
    Folder,
    /// Characters that cannot be seen, or change how a text looks.
    Invisible,
    /// More than is looked at.
    TooLong,
    /// Nested deeper than is looked at.
    TooDeep,
    /// No sentence of the grammar, or two readers do not agree on it.
    NotUnderstood,
}

impl OpaqueKind {
    /// What it is, in words that follow "because of".
    pub fn words(self) -> &'static str {
        match self {
            Self::Substitution => "a command substitution",
            Self::ProcessSubstitution => "a process substitution",
            Self::Expansion => "an expansion",
            Self::Arithmetic => "arithmetic",
            Self::BraceExpansion => "a brace expansion",
            Self::Glob => "a glob that decides what is run or written",
            Self::Tilde => "a tilde that is not resolved",
            Self::Assignment => "an assignment",
            Self::Function => "a function definition",
            Self::Alias => "an alias",
            Self::Eval => "eval",
            Self::Source => "a script run in the same shell",
            Self::Exec => "exec",
            Self::ShellState => "a command that changes the shell",
            Self::Conditional => "a conditional that is not looked into",
            Self::Wrapper => "a command that runs another one",
            Self::Interpreter => "an interpreter with code",
            Self::Input => "a program read from the input",
            Self::Option => "an option that can run programs",
            Self::Redirect => "a redirection to no literal path",
            Self::Folder => "a path in a folder that is not known",
            Self::Invisible => "invisible characters",
            Self::TooLong => "its length",
            Self::TooDeep => "its nesting",
            Self::NotUnderstood => "text that is not understood",
        }
    }
}

/// A part of a command line that nothing is known about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// Why.
    pub kind: OpaqueKind,
    /// The part, cut after 60 characters.
    pub text: String,
}

impl Opaque {
    pub(crate) fn new(kind: OpaqueKind, text: &str) -> Self {
        let mut cut: String = text.chars().take(QUOTED).collect();
        if cut.len() < text.len() {
            cut.push('…');
        }
        Self { kind, text: cut }
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        if self.text.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", visible(&self.text))
    }
}
