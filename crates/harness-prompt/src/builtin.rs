//! The built-in templates.

use crate::parameter::Parameter;

/// A template that comes with the crate; parsed when it is first used.
#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) parameters: fn() -> Vec<Parameter>,
}

/// Sorted by name.
pub(crate) const BUILTINS: &[Builtin] = &[
    Builtin {
        name: "system-prompt",
        source: include_str!("../templates/system-prompt.hbs"),
        parameters: tools,
    },
    Builtin {
        name: "system-prompt/context-files",
        source: include_str!("../templates/system-prompt/context-files.hbs"),
        parameters: files_with_text,
    },
    Builtin {
        name: "system-prompt/instructions",
        source: include_str!("../templates/system-prompt/instructions.hbs"),
        parameters: files_with_text,
    },
    Builtin {
        name: "system-prompt/knowledge",
        source: include_str!("../templates/system-prompt/knowledge.hbs"),
        parameters: knowledge,
    },
    Builtin {
        name: "system-prompt/memory",
        source: include_str!("../templates/system-prompt/memory.hbs"),
        parameters: file,
    },
    Builtin {
        name: "system-prompt/nested-instructions",
        source: include_str!("../templates/system-prompt/nested-instructions.hbs"),
        parameters: nested,
    },
    Builtin {
        name: "system-prompt/role",
        source: include_str!("../templates/system-prompt/role.hbs"),
        parameters: tools,
    },
    Builtin {
        name: "system-prompt/rules",
        source: include_str!("../templates/system-prompt/rules.hbs"),
        parameters: tools,
    },
    Builtin {
        name: "system-prompt/skills",
        source: include_str!("../templates/system-prompt/skills.hbs"),
        parameters: skills,
    },
    Builtin {
        name: "system-prompt/tools",
        source: include_str!("../templates/system-prompt/tools.hbs"),
        parameters: tools,
    },
    Builtin {
        name: "system-prompt/workspace",
        source: include_str!("../templates/system-prompt/workspace.hbs"),
        parameters: workspace,
    },
];

/// What the sections about tools are given. [`SystemPromptValues`](crate::SystemPromptValues) fills
/// them in.
fn tools() -> Vec<Parameter> {
    vec![
        Parameter::optional(
            "tools",
            "the tools on offer: a list of names",
            Vec::<String>::new(),
        ),
        Parameter::optional("has_bash", "whether `bash` is on offer", false),
        Parameter::optional("has_edit", "whether `edit` is on offer", false),
        Parameter::optional("has_read", "whether `read` is on offer", false),
        Parameter::optional("has_write", "whether `write` is on offer", false),
        Parameter::optional(
            "search",
            "which of `grep`, `find` and `ls` are on offer, as text",
            "",
        ),
        Parameter::optional(
            "hints",
            "what the tools' schemas do not say: a list of `{name, hint}`",
            Vec::<String>::new(),
        ),
    ]
}

fn workspace() -> Vec<Parameter> {
    vec![
        Parameter::required("working_dir", "the folder that the agent works in"),
        Parameter::required(
            "platform",
            "the operating system: `linux`, `macos`, `windows`",
        ),
        Parameter::optional("temporary_folder", "where temporary files go", ""),
    ]
}

fn file() -> Vec<Parameter> {
    vec![
        Parameter::required("path", "the path of the file"),
        Parameter::required("text", "its text, or the part that there is room for"),
    ]
}

fn nested() -> Vec<Parameter> {
    let mut parameters = file();
    parameters.push(Parameter::required(
        "folder",
        "the folder that the file is in",
    ));
    parameters
}

fn files_with_text() -> Vec<Parameter> {
    vec![Parameter::required(
        "files",
        "the files, in order: a list of `{path, text}`",
    )]
}

fn knowledge() -> Vec<Parameter> {
    vec![
        Parameter::optional("path", "the path of KNOWLEDGE.md", ""),
        Parameter::optional("text", "its text, or the part that there is room for", ""),
        Parameter::optional("folder", "the folder `knowledge`", ""),
        Parameter::optional("files", "the paths of the files in it, one a line", ""),
    ]
}

fn skills() -> Vec<Parameter> {
    vec![Parameter::required(
        "skills",
        "the skills: a list of `{name, description, file}`",
    )]
}
