//! Agent Skills.

mod layer;
mod name;
mod skill;

pub use layer::Layer;
pub use name::{Identity, MAX_NAME};
pub use skill::{Digest, Example, Location, Skill, SkillFields};
