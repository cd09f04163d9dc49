//! The built-in templates.

use crate::parameter::{Parameter, ParameterKind};

/// A template that comes with the crate; parsed when it is first used.
#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) source: &'static str,
    pub(crate) parameters: fn() -> Vec<Parameter>,
}

/// Sorted by name.
pub(crate) const BUILTINS: &[Builtin] = &[
    Builtin {
        name: "branch-summary",
        description: "Asks for what is worth knowing about a branch that is being left",
        source: include_str!("../templates/branch-summary.hbs"),
        parameters: branch_summary,
    },
    Builtin {
        name: "compact-summary",
        description: "Asks for a summary of a conversation, for going on with it from there",
        source: include_str!("../templates/compact-summary.hbs"),
        parameters: compact_summary,
    },
    Builtin {
        name: "compact-turn-summary",
        description: "Asks for a summary of the beginning of a task whose later part is kept",
        source: include_str!("../templates/compact-turn-summary.hbs"),
        parameters: compact_turn_summary,
    },
    Builtin {
        name: "session-title",
        description: "Asks for a title of a conversation, in one line",
        source: include_str!("../templates/session-title.hbs"),
        parameters: session_title,
    },
    Builtin {
        name: "system-prompt",
        description: "The default system prompt, with all of its sections",
        source: include_str!("../templates/system-prompt.hbs"),
        parameters: tools,
    },
    Builtin {
        name: "system-prompt/context-files",
        description: "The system prompt: other files that the user named",
        source: include_str!("../templates/system-prompt/context-files.hbs"),
        parameters: files_with_text,
    },
    Builtin {
        name: "system-prompt/instructions",
        description: "The system prompt: instructions of the user and the project",
        source: include_str!("../templates/system-prompt/instructions.hbs"),
        parameters: files_with_text,
    },
    Builtin {
        name: "system-prompt/knowledge",
        description: "The system prompt: KNOWLEDGE.md and the files beside it",
        source: include_str!("../templates/system-prompt/knowledge.hbs"),
        parameters: knowledge,
    },
    Builtin {
        name: "system-prompt/memory",
        description: "The system prompt: MEMORY.md",
        source: include_str!("../templates/system-prompt/memory.hbs"),
        parameters: file,
    },
    Builtin {
        name: "system-prompt/nested-instructions",
        description: "A note behind a message: instructions of a folder that a tool touched",
        source: include_str!("../templates/system-prompt/nested-instructions.hbs"),
        parameters: nested,
    },
    Builtin {
        name: "system-prompt/role",
        description: "The default system prompt: what the agent is",
        source: include_str!("../templates/system-prompt/role.hbs"),
        parameters: tools,
    },
    Builtin {
        name: "system-prompt/rules",
        description: "The default system prompt: how to work and to answer",
        source: include_str!("../templates/system-prompt/rules.hbs"),
        parameters: tools,
    },
    Builtin {
        name: "system-prompt/skills",
        description: "The system prompt: the skills that there are",
        source: include_str!("../templates/system-prompt/skills.hbs"),
        parameters: skills,
    },
    Builtin {
        name: "system-prompt/tools",
        description: "The default system prompt: what the schemas of the tools do not say",
        source: include_str!("../templates/system-prompt/tools.hbs"),
        parameters: tools,
    },
    Builtin {
        name: "system-prompt/workspace",
        description: "The default system prompt: where the agent works",
        source: include_str!("../templates/system-prompt/workspace.hbs"),
        parameters: workspace,
    },
];

/// What the sections about tools are given. [`SystemPromptValues`](crate::SystemPromptValues) fills
/// them in.
fn tools() -> Vec<Parameter> {
    vec![
        list("tools", "the tools on offer: a list of names"),
        flag("has_bash", "whether `bash` is on offer"),
        flag("has_edit", "whether `edit` is on offer"),
        flag("has_read", "whether `read` is on offer"),
        flag("has_write", "whether `write` is on offer"),
        text(
            "search",
            "which of `grep`, `find` and `ls` are on offer, as text",
        ),
        list(
            "hints",
            "what the tools' schemas do not say: a list of `{name, hint}`",
        ),
    ]
}

fn workspace() -> Vec<Parameter> {
    vec![
        Parameter::required("working_dir", "the folder that the agent works in")
            .of_kind(ParameterKind::Text),
        Parameter::required(
            "platform",
            "the operating system: `linux`, `macos`, `windows`",
        )
        .of_kind(ParameterKind::Text),
        text("temporary_folder", "where temporary files go"),
    ]
}

fn file() -> Vec<Parameter> {
    vec![
        needed("path", "the path of the file"),
        needed(
            "from",
            "whose word it is: `user`, `project`, or `project, not trusted`",
        ),
        needed("text", "its text, or the part that there is room for"),
    ]
}

fn nested() -> Vec<Parameter> {
    let mut parameters = file();
    parameters.push(needed("folder", "the folder that the file is in"));
    parameters
}

fn files_with_text() -> Vec<Parameter> {
    let files = Parameter::required(
        "files",
        "the files, in order: a list of `{path, from, text}`",
    );
    vec![files.of_kind(ParameterKind::List)]
}

fn knowledge() -> Vec<Parameter> {
    vec![
        text("path", "the path of KNOWLEDGE.md"),
        text(
            "from",
            "whose word it is: `project`, or `project, not trusted`",
        ),
        text("text", "its text, or the part that there is room for"),
        text("folder", "the folder `knowledge`"),
        text("files", "the paths of the files in it, one a line"),
    ]
}

fn skills() -> Vec<Parameter> {
    vec![
        text("block", "name, description and file of each skill, as XML"),
        text(
            "tool",
            "the name of the tool that loads one; blank if there is none",
        ),
    ]
}

fn compact_summary() -> Vec<Parameter> {
    let mut parameters = branch_summary();
    parameters.push(text(
        "previous_summary",
        "the summary that the conversation began with, to be brought up to date",
    ));
    parameters
}

fn compact_turn_summary() -> Vec<Parameter> {
    vec![
        Parameter::required("conversation", "what is to be summarised, as text")
            .of_kind(ParameterKind::Text),
        text("focus", "what the user wants to be kept above all"),
    ]
}

fn branch_summary() -> Vec<Parameter> {
    let mut parameters = compact_turn_summary();
    parameters.push(list("read_files", "paths of files that were read in it"));
    parameters.push(list(
        "changed_files",
        "paths of files that were changed in it",
    ));
    parameters
}

fn session_title() -> Vec<Parameter> {
    vec![
        Parameter::required("first_message", "the user's first message")
            .of_kind(ParameterKind::Text),
    ]
}

fn needed(name: &str, description: &str) -> Parameter {
    Parameter::required(name, description).of_kind(ParameterKind::Text)
}

fn text(name: &str, description: &str) -> Parameter {
    Parameter::optional(name, description, "").of_kind(ParameterKind::Text)
}

fn flag(name: &str, description: &str) -> Parameter {
    Parameter::optional(name, description, false).of_kind(ParameterKind::Boolean)
}

fn list(name: &str, description: &str) -> Parameter {
    Parameter::optional(name, description, Vec::<String>::new()).of_kind(ParameterKind::List)
}
