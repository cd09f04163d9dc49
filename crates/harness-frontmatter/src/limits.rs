//! What a file may cost.

/// What reading a file may cost. The defaults are far above what any real file needs; a limit that is
/// hit is an [`Error::Limit`](crate::Error::Limit), never a cut-off document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the whole text. Default: 1 MiB.
    pub document_bytes: usize,
    /// Bytes between the fences. What an alias repeats counts as if it had been written out.
    /// Default: 64 KiB.
    pub frontmatter_bytes: usize,
    /// Values and keys, those that aliases repeat included. Default: 4,096.
    pub nodes: usize,
    /// How deep lists and mappings may nest. Default: 16.
    pub depth: usize,
    /// How often an alias may be used. Default: 64.
    pub aliases: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_bytes: 1024 * 1024,
            frontmatter_bytes: 64 * 1024,
            nodes: 4096,
            depth: 16,
            aliases: 64,
        }
    }
}
