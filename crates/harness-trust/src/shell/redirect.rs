//! Where a command's input comes from and its output goes.

use std::path::{Path, PathBuf};

use super::word::Word;

/// What a redirection does with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `<`.
    Read,
    /// `>`, `>>`, `>|`, `&>`, `<>`: it is made, emptied or added to.
    Write,
}

/// What a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A file, absolute, links and `..` not followed.
    Path(PathBuf),
    /// A connection: bash makes one for `/dev/tcp/HOST/PORT` and `/dev/udp/HOST/PORT`.
    Host(String),
}

/// A redirection to a literal target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Redirect {
    /// What it opens.
    pub target: Target,
    /// What for.
    pub access: Access,
}

/// Where `word` leads from `folder`.
pub(super) enum Leads {
    /// Nowhere: to nothing, or to what is open already.
    Nowhere,
    To(Target),
    /// The word is no literal text.
    Unknown,
    /// It is relative, and the folder is not known.
    Lost,
}

pub(super) fn leads(word: &Word, folder: Option<&Path>) -> Leads {
    let Some(text) = word.literal().filter(|text| !text.is_empty()) else {
        return Leads::Unknown;
    };
    match text {
        "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" => return Leads::Nowhere,
        _ => {}
    }
    let network = ["/dev/tcp/", "/dev/udp/"];
    if let Some(rest) = network.iter().find_map(|start| text.strip_prefix(start)) {
        let host = match rest.split_once('/') {
            Some((host, port)) => format!("{host}:{port}"),
            None => rest.to_owned(),
        };
        return Leads::To(Target::Host(host));
    }
    match (Path::new(text), folder) {
        (path, _) if path.is_absolute() => Leads::To(Target::Path(path.to_owned())),
        (path, Some(folder)) => Leads::To(Target::Path(folder.join(path))),
        (_, None) => Leads::Lost,
    }
}
