//! Markdown with YAML frontmatter, read safely.
//!
//! Skills, prompts and agents are Markdown files that begin with a few fields between two lines of
//! `---`. They come out of other people's repositories, and what usually reads them was made for a
//! blog's own posts: a few hundred bytes of aliases fill the memory, a few kilobytes of dashes
//! overflow the stack, `version: 1.10` becomes `1.1`, and a byte order mark or a forgotten `---`
//! makes the fields vanish without a word. This crate makes each of these an error with a line and a
//! column, or the right answer.
//!
//! The main type is [`Document`]. Encoding, byte order mark, line endings, control characters, size
//! and fences are settled first. [`gray_matter`](https://docs.rs/gray_matter) then splits the file, so
//! that what counts as frontmatter is what it counts as elsewhere; it hands the block on as text. A
//! YAML 1.2 parser reads it under budgets for nodes, depth and aliases ([`Limits`]). The body is a
//! slice of the text that was given, byte for byte.
//!
//! There are two ways to read. [`Document::parse`] takes YAML and nothing else. What people write is
//! often not quite that: `description: Use when: …` lacks quotes. [`Document::recover`] reads it where
//! it can be told what was meant, and lists each [`Repair`]. It makes nothing up: a text stands in the
//! file, a field begins a line of its own, and what costs too much is not tried twice.
//!
//! Scalars stay the text that they are. Nothing is guessed: who reads a field says what it should be,
//! as in [`Mapping::text`] or [`Mapping::flag`], and an error names the key and its place. The price is
//! that there is no `serde` here: the order of keys and their positions would be lost on that way.
//!
//! ```
//! use harness_frontmatter::Document;
//!
//! let document = Document::parse(
//!     "---\ndescription: Reviews a change\nversion: 1.10\nstrict: maybe\n---\nReview $1.\n",
//! )?;
//! let fields = &document.fields;
//! assert_eq!(fields.text("description")?, Some("Reviews a change"));
//! assert_eq!(fields.text("version")?, Some("1.10"));
//! assert_eq!(fields.text("license")?, None);
//! assert_eq!(document.body, "Review $1.\n");
//!
//! let error = fields.flag("strict").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "line 4, column 9: `strict` has to be true or false, but is the text `maybe`"
//! );
//! let unknown = fields.unknown_keys(&["description", "strict"]);
//! assert_eq!(unknown[0].text, "version");
//!
//! use harness_frontmatter::{FieldKinds, Limits};
//!
//! let text = "---\ndescription: Use when: asked\ntags: - a\n---\n";
//! let kinds = FieldKinds { texts: &["description"], structures: &["tags"], ..Default::default() };
//! let recovered = Document::recover(text, &Limits::default(), &kinds)?;
//! let fields = &recovered.document.fields;
//! assert_eq!(fields.text("description")?, Some("Use when: asked"));
//! assert_eq!(fields.get("tags"), None);
//! let told: Vec<_> = recovered.repairs.iter().map(|repair| repair.diagnostic().to_string()).collect();
//! assert_eq!(
//!     told,
//!     [
//!         "2:14: W-REPAIRED: `description` was read as if it were quoted",
//!         "3:1: W-FIELD-DROPPED: `tags` is no YAML, and was left out",
//!     ]
//! );
//! # Ok::<(), harness_frontmatter::Error>(())
//! ```

mod blocks;
mod cleaned;
mod code;
mod diagnostic;
mod document;
mod error;
mod fences;
mod limits;
mod mapping;
mod node;
mod position;
mod quoting;
mod recover;
mod repair;
mod singly;
#[cfg(feature = "test-support")]
pub mod test_support;
mod tree;

pub use code::{Code, codes};
pub use diagnostic::{Diagnostic, Severity};
pub use document::{Document, Oddity, OddityKind};
pub use error::Error;
pub use limits::Limits;
pub use mapping::{Entry, Key, Mapping};
pub use node::{List, Node, Resolved, Scalar, Style};
pub use position::Position;
pub use repair::{FieldKinds, Recovered, Repair, RepairKind};
