//! Agent Skills.

mod folder_source;
mod git;
mod git_cache;
mod git_fetch;
mod git_source;
mod git_url;
mod layer;
mod name;
mod skill;
mod source;

pub use folder_source::FolderSource;
pub use git_source::GitSource;
pub use layer::Layer;
pub use name::{Identity, MAX_NAME};
pub use skill::{Digest, Example, Location, Skill, SkillFields};
pub use source::{Checkout, SkillSource, SourceError, Update};
