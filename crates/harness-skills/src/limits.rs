//! What reading skills may cost.

/// What reading skills may cost. On by default, and far above what people have; what is cut off is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Folders below a root that a `SKILL.md` may be in: 1 is `root/a/SKILL.md`. Default: 6.
    pub depth: usize,
    /// Folders that are looked into, for each root. Default: 2,000.
    pub folders: usize,
    /// Entries of folders that are looked at, for each root. Default: 20,000.
    pub entries: usize,
    /// Bytes that are read, for each root. Default: 256 MiB.
    pub bytes: u64,
    /// Bytes of one `SKILL.md`. Default: 1 MiB.
    pub file_bytes: u64,
    /// Bytes of one resource that is read into a conversation. Default: 256 KiB.
    pub resource_bytes: u64,
    /// Resources that are listed for one skill. Default: 200.
    pub resources: usize,
    /// What the frontmatter may cost. Default: that of `harness-frontmatter`, but for 1,024 nodes: what is
    /// read of it is kept in memory, for each skill.
    pub frontmatter: harness_frontmatter::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        let mut frontmatter = harness_frontmatter::Limits::default();
        frontmatter.nodes = 1_024;
        Self {
            depth: 6,
            folders: 2_000,
            entries: 20_000,
            bytes: 256 * 1024 * 1024,
            file_bytes: 1024 * 1024,
            resource_bytes: 256 * 1024,
            resources: 200,
            frontmatter,
        }
    }
}
