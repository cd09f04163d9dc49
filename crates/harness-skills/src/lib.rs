//! Agent Skills.

mod folder_source;
mod layer;
mod name;
mod skill;
mod source;

pub use folder_source::FolderSource;
pub use layer::Layer;
pub use name::{Identity, MAX_NAME};
pub use skill::{Digest, Example, Location, Skill, SkillFields};
pub use source::{Checkout, SkillSource, SourceError, Update};
