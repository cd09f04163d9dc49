//! What may be done in one run.

use clap::Args;

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PermissionFlags {
    /// Allow what a rule speaks of, without a question: 'run(cargo test *)', 'write(src/**)',
    /// 'net(example.com)', 'opaque' (what of a command line cannot be read, and so cannot be denied either). Can be
    /// given more than once.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Refuse what a rule speaks of. Can be given more than once.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Ask about what a rule speaks of. Can be given more than once.
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// Allow everything that no rule denies, and use no sandbox unless --sandbox names one: for a container or a
    /// machine that may be lost.
    #[arg(long)]
    pub(crate) allow_all: bool,
    /// What commands can reach: read-only, workspace-write or off. The tools for files have the rules.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) sandbox: Option<String>,
    /// Let commands in the sandbox use the network.
    #[arg(long)]
    pub(crate) sandbox_network: bool,
}
