//! Prompts from templates: strict, bounded, the same bytes for the same values.
//!
//! A prompt is code that a model runs, and a template engine made for web pages is a poor compiler
//! for it. It turns `<` into `&lt;`, a missing variable into nothing, an object into `[object]`, and
//! two templates that include each other into a stack overflow. This crate keeps the language,
//! [handlebars](https://handlebarsjs.com), and makes each of these an error that names the template,
//! the line and the variable, as early as it can be known.
//!
//! The main type is [`Templates`], a registry. A [`Template`] declares its [`Parameter`]s; when it is
//! made, each variable in it is held against them, and when it is registered, its partials are
//! followed. Rendering then writes text as it is, never reads a value as a template, and stops at
//! [`Limits`]: output, values and work are bounded, so that a template out of somebody else's
//! repository can be rendered without trusting it. There are no helpers that read files, and no way to
//! add one.
//!
//! A [`Library`] puts templates, and slash commands ([`CommandTemplate`]), into layers: what a user or a
//! project has under the name of a built-in template takes its place, unless it would break what it is a
//! part of.
//!
//! Handlebars does the parsing and the rendering. What it does not check, this crate puts into the
//! parsed template as elements of its own. The price is that some of the language is refused where it
//! could not be checked ([`Template`] lists what), and some work in each rendering (the default system
//! prompt takes about 30 µs). A template is parsed once, and a built-in one when it is first used.
//!
//! ```
//! use harness_prompt::{Error, Parameter, Template, Templates};
//! use serde_json::json;
//!
//! let mut templates = Templates::new();
//! templates.register(Template::new(
//!     "review",
//!     "Review {{branch}}.\n{{#each files}}\n- {{path}}{{#if note}}: {{note}}{{/if}}\n{{/each}}\n",
//!     vec![
//!         Parameter::required("branch", "the branch to look at"),
//!         Parameter::required("files", "the files that changed: a list of `{path, note}`"),
//!     ],
//! )?)?;
//!
//! let files = json!([{ "path": "src/a.rs", "note": "a < b && {{c}}" }]);
//! let prompt = templates.render("review", &json!({ "branch": "main", "files": files }))?;
//! assert_eq!(prompt, "Review main.\n- src/a.rs: a < b && {{c}}\n");
//!
//! let files = json!([{ "path": "src/a.rs" }]);
//! let error = templates.render("review", &json!({ "branch": "main", "files": files })).unwrap_err();
//! assert_eq!(error.to_string(), "template `review`, line 3: there is no value for `note`");
//! # Ok::<(), Error>(())
//! ```
//!
//! The default system prompt of harness is built in, in named sections that a caller can put into a
//! prompt of its own, and that a template of the same name replaces:
//!
//! ```
//! use harness_prompt::{SystemPromptValues, ToolHint, default_sections};
//!
//! let sections = default_sections(&SystemPromptValues {
//!     tools: vec![ToolHint { name: "bash".into(), hint: String::new() }],
//!     working_dir: "/home/ada/project".into(),
//!     platform: std::env::consts::OS.into(),     temporary_folder: String::new(),
//! })?;
//! assert_eq!(&*sections[0].name, "role");
//! # Ok::<(), harness_prompt::Error>(())
//! ```
//!
//! A slash command is Markdown with places for what is typed behind its name:
//!
//! ```
//! use harness_prompt::{CommandTemplate, Layer, Library};
//!
//! let mut library = Library::new();
//! let review = "---\ndescription: Reviews a file\n---\nReview $1. Look at: ${@:2}\n";
//! library.add_command(Layer::User, CommandTemplate::parse("review", review)?, None);
//!
//! let prompt = library.expand("/review 'my file.rs' error handling, tests")?;
//! assert_eq!(prompt.as_deref(), Some("Review my file.rs. Look at: error handling, tests"));
//! assert_eq!(library.expand("/etc/hosts is a file")?, None);
//! # Ok::<(), harness_prompt::Error>(())
//! ```

#[cfg(feature = "templates")]
mod analysis;
#[cfg(feature = "templates")]
mod arguments;
mod budget;
#[cfg(feature = "templates")]
mod builtin;
#[cfg(feature = "templates")]
mod command_template;
mod cut;
#[cfg(feature = "templates")]
mod default_prompt;
#[cfg(feature = "templates")]
mod diagnostic;
#[cfg(feature = "templates")]
mod error;
mod fence;
#[cfg(feature = "templates")]
mod folder;
#[cfg(feature = "templates")]
mod guard;
#[cfg(feature = "templates")]
mod invocation;
#[cfg(feature = "templates")]
mod layer;
#[cfg(feature = "templates")]
mod library;
#[cfg(feature = "templates")]
mod limits;
#[cfg(feature = "templates")]
mod nesting;
mod one_line;
#[cfg(feature = "templates")]
mod parameter;
#[cfg(feature = "templates")]
mod plan;
mod prompt_diff;
#[cfg(feature = "templates")]
mod reach;
mod section;
mod system_prompt;
#[cfg(feature = "templates")]
mod template;
#[cfg(feature = "templates")]
mod template_file;
#[cfg(feature = "templates")]
mod templates;
mod tokens;
#[cfg(feature = "templates")]
mod values;

#[cfg(feature = "templates")]
pub use arguments::Arguments;
pub use budget::{Fitted, SectionCut};
#[cfg(feature = "templates")]
pub use command_template::CommandTemplate;
pub use cut::{Cut, cut_to_tokens};
#[cfg(feature = "templates")]
pub use default_prompt::{SECTIONS, SystemPromptValues, ToolHint, default_sections};
#[cfg(feature = "templates")]
pub use diagnostic::Diagnostic;
#[cfg(feature = "templates")]
pub use error::Error;
pub use fence::Fence;
#[cfg(feature = "templates")]
pub use invocation::parse_invocation;
#[cfg(feature = "templates")]
pub use layer::Layer;
#[cfg(feature = "templates")]
pub use library::{Kind, Library, Listed, Shadow};
#[cfg(feature = "templates")]
pub use limits::{
    Limits, MAX_ARGUMENTS, MAX_DEPTH, MAX_INCLUDES, MAX_NESTING, MAX_PARAMETERS, MAX_PARSE_STEPS,
    MAX_SOURCE_BYTES,
};
pub use one_line::one_line;
#[cfg(feature = "templates")]
pub use parameter::{Parameter, ParameterKind};
pub use prompt_diff::{PromptDiff, SectionChange, SectionDiff};
pub use section::{Keep, Section};
pub use system_prompt::SystemPrompt;
#[cfg(feature = "templates")]
pub use template::Template;
#[cfg(feature = "templates")]
pub use templates::Templates;
pub use tokens::estimate_tokens;
