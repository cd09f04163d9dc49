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
    ]
}
