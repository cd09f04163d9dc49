//! What a template may cost.

/// The largest template source, in bytes.
pub const MAX_SOURCE_BYTES: usize = 256 * 1024;

/// How deep blocks, `else` branches and parentheses may nest in one template, counted together.
///
/// The parser and the renderer recurse on nesting, so this is what keeps the stack from overflowing;
/// it is a constant because a larger value would need a larger stack.
pub const MAX_NESTING: usize = 32;

/// How deep a template may nest once its partials are put in; see [`MAX_NESTING`].
pub const MAX_DEPTH: usize = 64;

/// How many arguments one tag may have.
pub const MAX_ARGUMENTS: usize = 16;

/// How many parameters a template may declare.
pub const MAX_PARAMETERS: usize = 64;

/// What parsing a template may take: 8,192 steps for each tag, and one for each byte before it. That is some
/// 2,000 tags, or 290 at the end of 100 KB of text.
pub const MAX_PARSE_STEPS: u64 = 32_000_000;

/// How many partials a template may include.
pub const MAX_INCLUDES: usize = 64;

/// What one rendering, or reading one folder, may cost. The defaults are far above what any prompt needs and far below what
/// hurts a process; a limit that is hit is an [`Error::Limit`](crate::Error::Limit), never a cut-off
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the rendered text. Default: 4 MiB, about the largest context window there is.
    pub output_bytes: usize,
    /// Bytes of the values that are given, with a small charge for each of them. Default: 4 MiB.
    pub value_bytes: usize,
    /// Steps: one for each element that is rendered, one for each of its arguments, again each time around a
    /// loop; more where values are compared, or copied into a partial. Default: 250,000.
    ///
    /// This is what bounds time. No clock is read: the same template and values come to the same end
    /// everywhere. The default ends the worst there is within about a second, even unoptimised.
    pub steps: u64,
    /// Bytes of an expanded slash command. Default: 1 MiB.
    pub expansion_bytes: usize,
    /// How many levels of folders below a folder of prompts are read. Default: 8.
    pub folder_depth: usize,
    /// Files and folders, of whatever kind, that reading a folder of prompts may meet. Default: 4,096.
    pub folder_entries: usize,
    /// Templates and commands that are read from a folder. Default: 256.
    pub folder_files: usize,
    /// Their bytes together; each may have [`MAX_SOURCE_BYTES`]. Default: 2 MiB.
    pub folder_bytes: usize,
    /// What parsing the templates may take together; each may take [`MAX_PARSE_STEPS`]. Default: 64,000,000.
    pub folder_parse_steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 4 * 1024 * 1024,
            value_bytes: 4 * 1024 * 1024,
            steps: 250_000,
            expansion_bytes: 1024 * 1024,
            folder_depth: 8,
            folder_entries: 4096,
            folder_files: 256,
            folder_bytes: 2 * 1024 * 1024,
            folder_parse_steps: 64_000_000,
        }
    }
}
