//! Agent Skills: found, read, told apart, listed for a model, and loaded when it asks.
//!
//! A skill is a folder with a `SKILL.md` ([agentskills.io](https://agentskills.io)). Reading one looks easy,
//! and what people complain of in agents is all that is around it: skills that vanish because of a colon or
//! a link, that lose to the wrong twin, or that differ between the list and the use.
//!
//! The main type is [`Skills`]: an ordered list of [`Root`]s, and the [`Catalogue`] of what was found there.
//! A catalogue never changes, and has everything: who has a name, whom it shadows, what is held back, what
//! is broken and why. Every question that begins with a name goes through [`Catalogue::find`], so a list, a
//! command and an activation cannot disagree. [`Skills::refresh`] makes a new catalogue when the tree
//! changed, and costs a `stat` for each skill when it did not.
//!
//! There are two readings of a file, and one table of [`RULES`] for both: [`examine`] holds it against the letter
//! of the standard (less than half of the real files pass) and says whether it can be loaded without
//! misleading anybody (nearly all can).
//!
//! Whole files are read when skills are looked for, though a list needs only their beginnings: what is
//! listed is then known to load. The price is some megabytes that are read once.
//!
//! ```
//! use harness_skills::{FormatOptions, Layer, Root, Skills, format_skills};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let skill = folder.path().join("release-notes");
//! # std::fs::create_dir(&skill)?;
//! # std::fs::write(
//! #     skill.join("SKILL.md"),
//! #     "---\nname: release-notes\ndescription: Use when: somebody asks what changed.\n---\nRead the log.\n",
//! # )?;
//! let skills = Skills::discover(&[Root::new(Layer::User, folder.path())]);
//! let catalogue = skills.catalogue();
//!
//! let entry = &catalogue.entries()[0];
//! assert_eq!(entry.status.word(), "active");
//! // The colon is not YAML; the file is read all the same, and says so.
//! assert_eq!(entry.diagnostics[0].id(), "W-REPAIRED");
//!
//! let skills_for_models = catalogue.for_models().map(|skill| &**skill);
//! let list = format_skills(skills_for_models, &FormatOptions::default());
//! assert!(list.text.contains("<name>release-notes</name>"));
//!
//! let activation = catalogue.activate("Release-Notes", skills.limits())?;
//! assert_eq!(activation.instructions, "Read the log.");
//! # Ok(())
//! # }
//! ```

mod activation;
mod agent_fields;
mod allowed_tools;
mod catalogue;
mod confinement;
mod default_roots;
mod escape;
mod examination;
mod field_name;
mod fields;
mod finding;
mod folder_source;
mod form;
mod format;
mod full_format;
mod git;
mod git_cache;
mod git_fetch;
mod git_source;
mod git_url;
mod instructions;
mod invocation_flag;
mod layer;
mod limits;
mod lookup;
mod name;
mod notes;
mod policy;
mod resolution;
mod resource;
mod root;
mod rule;
mod scan;
mod skill;
mod skill_file;
mod skills;
mod source;
mod stamp;
mod surroundings;
#[cfg(feature = "test-support")]
pub mod test_support;
mod walk;

pub use activation::{Activation, ActivationError, SKILL_CONTENT};
pub use catalogue::{Catalogue, Entry, RootReport, Status};
pub use default_roots::{DefaultRoots, LOCK_FILE, MANAGED_FOLDER};
pub use examination::{Examination, FilePlace, SKILL_FILE, examine, examine_file};
pub use finding::Finding;
pub use folder_source::FolderSource;
pub use form::{FieldCheck, Form};
pub use format::{Format, FormatOptions, FormattedSkills, format_skills};
pub use full_format::format_full;
pub use git_source::GitSource;
pub use harness_frontmatter::{Code, Diagnostic, Mapping, Node, Position, Severity};
pub use layer::Layer;
pub use limits::Limits;
pub use lookup::LookupError;
pub use name::{Identity, MAX_NAME};
pub use policy::Policy;
pub use resource::{Resource, ResourceError, Resources, read_resource};
pub use root::{BuiltIn, Links, Place, Root};
pub use rule::{RULES, Rule};
pub use scan::RefreshOptions;
pub use skill::{Digest, Example, Location, Skill, SkillFields};
pub use skills::{Changes, DiscoverOptions, Skills};
pub use source::{Checkout, SkillSource, SourceError, Update};
