//! What can go wrong.

/// Why a template or command was refused, or could not be rendered.
///
/// Each names the template, and the line in it where that is known (counted from 1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source is not handlebars.
    #[error("template `{template}`{}: {message}", at(*.line))]
    Syntax {
        /// The template.
        template: String,
        /// The line.
        line: Option<usize>,
        /// What the parser said.
        message: String,
    },
    /// The source is handlebars, but uses what this crate refuses, or uses it wrongly.
    #[error("template `{template}`{}: {message}", at(*.line))]
    Refused {
        /// The template.
        template: String,
        /// The line.
        line: Option<usize>,
        /// What, and what to write instead.
        message: String,
    },
    /// The template uses a variable that is not among its declared parameters.
    #[error("template `{template}`{}: the variable `{variable}` is not declared", at(*.line))]
    Undeclared {
        /// The template.
        template: String,
        /// The line.
        line: Option<usize>,
        /// The variable.
        variable: String,
    },
    /// No value was given for a variable.
    #[error("template `{template}`{}: there is no value for `{variable}`", at(*.line))]
    Missing {
        /// The template.
        template: String,
        /// The line; `None` if the template declares the parameter and does not use it.
        line: Option<usize>,
        /// The variable, as written in the template.
        variable: String,
    },
    /// A value is of the wrong kind for its place: an object where text is wanted, text in an
    /// `{{#each}}`.
    #[error("template `{template}`{}: `{variable}` has to be {wanted}, but is {found}", at(*.line))]
    WrongKind {
        /// The template.
        template: String,
        /// The line.
        line: Option<usize>,
        /// The variable, as written in the template.
        variable: String,
        /// What the place needs.
        wanted: &'static str,
        /// What was given.
        found: &'static str,
    },
    /// There is no template of this name.
    #[error("there is no template `{name}`")]
    UnknownTemplate {
        /// The name.
        name: String,
    },
    /// There is no template of the name that a partial asks for.
    #[error("template `{template}`{}: there is no template `{partial}` to include", at(*.line))]
    UnknownPartial {
        /// The template that includes.
        template: String,
        /// The line.
        line: Option<usize>,
        /// The template that is not there.
        partial: String,
    },
    /// Templates include each other in a circle.
    #[error("templates include each other: {}", .path.join(" > "))]
    Cycle {
        /// The names along the circle; the first one is the last one as well.
        path: Vec<String>,
    },
    /// A bound was reached; see [`Limits`](crate::Limits) and the constants beside it.
    #[error("template `{template}`{}: {what} is limited to {max}", at(*.line))]
    Limit {
        /// The template.
        template: String,
        /// The line.
        line: Option<usize>,
        /// What is bounded.
        what: &'static str,
        /// The bound.
        max: u64,
    },
    /// The values cannot be used: they do not serialise, or not to named values.
    #[error("template `{template}`: the values cannot be used: {message}")]
    Values {
        /// The template.
        template: String,
        /// Why.
        message: String,
    },
    /// Anything else that handlebars reports while it renders.
    #[error("template `{template}`{}: {message}", at(*.line))]
    Render {
        /// The template.
        template: String,
        /// The line.
        line: Option<usize>,
        /// What handlebars said.
        message: String,
    },
    /// A name that a template or command cannot have.
    #[error("`{}` is no name: {rule}", .name.escape_debug())]
    Name {
        /// The name.
        name: String,
        /// What names have to be like.
        rule: &'static str,
    },
    /// The frontmatter of a template or command cannot be read.
    #[error("`{name}`, line {line}: {message}")]
    Frontmatter {
        /// The template or command.
        name: String,
        /// The line in its file.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A slash command would become longer than [`Limits::expansion_bytes`](crate::Limits).
    #[error("`/{command}`: the expanded text is limited to {max} bytes")]
    Expansion {
        /// The command, without the slash.
        command: String,
        /// The bound, in bytes.
        max: usize,
    },
}

impl Error {
    /// The line that it is about, counted from 1, where it is known.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Syntax { line, .. }
            | Self::Refused { line, .. }
            | Self::Undeclared { line, .. }
            | Self::Missing { line, .. }
            | Self::WrongKind { line, .. }
            | Self::UnknownPartial { line, .. }
            | Self::Limit { line, .. }
            | Self::Render { line, .. } => *line,
            Self::Frontmatter { line, .. } => Some(*line),
            Self::UnknownTemplate { .. }
            | Self::Cycle { .. }
            | Self::Values { .. }
            | Self::Name { .. }
            | Self::Expansion { .. } => None,
        }
    }

    /// The same error, so many lines further down.
    pub(crate) fn moved_down(mut self, lines: usize) -> Self {
        if let Self::Syntax { line, .. } | Self::Refused { line, .. } | Self::Limit { line, .. } =
            &mut self
        {
            *line = line.map(|line| line + lines);
        }
        self
    }

    pub(crate) fn frontmatter(name: &str, error: &harness_frontmatter::Error) -> Self {
        Self::Frontmatter {
            name: name.to_owned(),
            line: error.line(),
            message: error.message(),
        }
    }
}

fn at(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}
