//! Which of two skills of one name wins.

use crate::layer::Layer;
use crate::root::Root;

/// Which of several skills of one name wins. A locked root comes before all others, whatever the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// That of the root that comes first. With the default roots, a project's before a user's, as in pi,
    /// Gemini CLI, goose and opencode.
    #[default]
    FirstWins,
    /// The same, but a user's own before a project's, as in Claude Code.
    UserFirst,
    /// All of them, as in Codex. A name that several have is ambiguous, and has to be given with its layer.
    KeepAll,
    /// That of the root with the highest [rank](Root::rank); at equal ranks, the first.
    Ranked,
}

impl Policy {
    /// Puts roots into the order in which their skills win.
    pub(crate) fn order(self, roots: &mut [Root]) {
        match self {
            Self::FirstWins | Self::KeepAll => {}
            Self::UserFirst => user_first(roots),
            Self::Ranked => roots.sort_by_key(|root| std::cmp::Reverse(root.rank)),
        }
        roots.sort_by_key(|root| !root.locked);
    }
}

/// Moves the user's roots before those of the project, and leaves all others where they are.
fn user_first(roots: &mut [Root]) {
    let is_user = |root: &Root| matches!(root.layer, Layer::User | Layer::IsolatedUser);
    let places: Vec<usize> = (0..roots.len())
        .filter(|place| is_user(&roots[*place]) || roots[*place].layer == Layer::Project)
        .collect();
    let mut moved: Vec<Root> = places.iter().map(|place| roots[*place].clone()).collect();
    moved.sort_by_key(|root| !is_user(root));
    for (place, root) in places.into_iter().zip(moved) {
        roots[place] = root;
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::FirstWins => "first-wins",
            Self::UserFirst => "user-first",
            Self::KeepAll => "keep-all",
            Self::Ranked => "ranked",
        })
    }
}
