//! Files that usually hold secrets.

use std::path::Path;
use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// They are not read without a rule or a yes, wherever they are.
///
/// A file is known by its name and place alone: a search over a folder (`grep -r`, a tool that searches)
/// declares the folder, and what it meets there is for the tool to leave out.
pub(crate) const SECRET_FILES: &[&str] = &[
    "/**/.env",
    "/**/.env.*",
    "/**/.envrc",
    "/**/*.pem",
    "/**/*.key",
    "/**/*.p12",
    "/**/*.pfx",
    "/**/*.jks",
    "/**/*.keystore",
    "/**/*.kdbx",
    "/**/*.ppk",
    "/**/*.ovpn",
    "/**/*.asc",
    "/**/*.gpg",
    "/**/id_rsa*",
    "/**/id_dsa*",
    "/**/id_ecdsa*",
    "/**/id_ed25519*",
    "/**/.netrc",
    "/**/_netrc",
    "/**/.npmrc",
    "/**/.yarnrc",
    "/**/.yarnrc.yml",
    "/**/.pypirc",
    "/**/.pgpass",
    "/**/.my.cnf",
    "/**/.git-credentials",
    "/**/.htpasswd",
    "/**/.dockercfg",
    "/**/.vault-token",
    "/**/credentials",
    "/**/credentials.json",
    "/**/credentials.toml",
    "/**/service-account*.json",
    "/**/service_account*.json",
    "/**/client_secret*.json",
    "/**/terraform.tfstate*",
    "/**/*.tfvars",
    "/**/secrets.yml",
    "/**/secrets.yaml",
    "/**/secrets.json",
    "/**/secrets.toml",
    "/**/.bash_history",
    "/**/.zsh_history",
    "/**/.python_history",
    "/**/.psql_history",
    "/**/.mysql_history",
    "/**/.ssh/**",
    "/**/.aws/**",
    "/**/.azure/**",
    "/**/.gnupg/**",
    "/**/.kube/**",
    "/**/.docker/config.json",
    "/**/.config/gcloud/**",
    "/**/.config/gh/**",
    "/**/.config/hub",
    "/**/.config/git/credentials",
    "/**/.config/rclone/**",
    "/**/.config/op/**",
    "/**/.password-store/**",
    "/**/.local/share/keyrings/**",
    "/**/.local/share/kwalletd/**",
    "/**/Library/Keychains/**",
    "/**/.mozilla/**",
    "/**/.thunderbird/**",
    "/**/.config/google-chrome/**",
    "/**/.config/chromium/**",
    "/**/.config/BraveSoftware/**",
    "/**/.config/microsoft-edge/**",
    "/**/Library/Application Support/Google/Chrome/**",
    "/**/Library/Application Support/Firefox/**",
    "/**/.cargo/credentials*",
    "/**/.gem/credentials",
    "/**/.m2/settings.xml",
    "/**/.gradle/gradle.properties",
    "/**/.composer/auth.json",
    "/**/.terraform.d/credentials.tfrc.json",
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers",
    "/etc/sudoers.d/**",
    "/etc/ssl/private/**",
    "/etc/ssh/*_key",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/task/*/environ",
    "/proc/*/task/*/mem",
    "/proc/kcore",
    "/dev/mem",
    "/var/run/secrets/**",
    "/run/secrets/**",
];

/// Templates of such files, which are there to be read.
pub(crate) const TEMPLATES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist"];

static SET: LazyLock<GlobSet> = LazyLock::new(|| {
    let mut set = GlobSetBuilder::new();
    for pattern in SECRET_FILES {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        if let Ok(glob) = glob {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
});

/// Whether a file has the name or the place of one that holds secrets. A real path.
pub(crate) fn is_secret(path: &Path) -> bool {
    SET.is_match(path)
}
