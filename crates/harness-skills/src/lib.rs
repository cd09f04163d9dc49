//! Agent Skills.

mod escape;
mod format;
mod full_format;
mod layer;
mod name;
mod skill;

pub use format::{Format, FormatOptions, FormattedSkills, format_skills};
pub use full_format::format_full;
pub use layer::Layer;
pub use name::{Identity, MAX_NAME};
pub use skill::{Digest, Example, Location, Skill, SkillFields};
