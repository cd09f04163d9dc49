//! What holds for any tree, any names and any policy.

use std::fs;

use harness_skills::{
    DiscoverOptions, Identity, Layer, Links, Policy, RefreshOptions, Root, Skill, Skills,
};
use proptest::prelude::*;

use crate::tree::{Tree, agrees, text};

/// Something in a tree.
#[derive(Clone, Debug)]
enum Thing {
    Skill { folder: String, name: String },
    Broken { folder: String },
    Lower { folder: String },
    FolderLink { link: String, target: String },
    FileLink { folder: String, target: String },
    Empty { folder: String },
}

const ROOTS: [&str; 3] = ["one", "two", "three"];

fn folder() -> impl Strategy<Value = String> {
    (0..ROOTS.len(), "(g/)?[abc]").prop_map(|(root, folder)| format!("{}/{folder}", ROOTS[root]))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[abAB]",
        "a[-_ .]b",
        "p:a",
        Just("a@user".to_owned()),
        Just("\u{e9}".to_owned()),
        Just("e\u{301}".to_owned()),
        Just("b\u{200b}".to_owned()),
    ]
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        6 => (folder(), name()).prop_map(|(folder, name)| Thing::Skill { folder, name }),
        1 => folder().prop_map(|folder| Thing::Broken { folder }),
        1 => folder().prop_map(|folder| Thing::Lower { folder }),
        1 => (folder(), folder()).prop_map(|(link, target)| Thing::FolderLink { link, target }),
        1 => (folder(), folder()).prop_map(|(folder, target)| Thing::FileLink { folder, target }),
        1 => folder().prop_map(|folder| Thing::Empty { folder }),
    ]
}

impl Thing {
    /// The path that it is at, of which there can be one.
    fn place(&self) -> String {
        match self {
            Self::Skill { folder, .. }
            | Self::Broken { folder }
            | Self::FileLink { folder, .. } => {
                format!("{folder}/SKILL.md")
            }
            Self::Lower { folder } => format!("{folder}/skill.md"),
            Self::FolderLink { link, .. } => link.clone(),
            Self::Empty { folder } => folder.clone(),
        }
    }

    fn make(&self, tree: &Tree) {
        let place = self.place();
        match self {
            Self::Skill { folder, name } => {
                tree.named(folder, name);
            }
            Self::Broken { folder: _ } => {
                tree.write(&place, "---\nname: a\n");
            }
            Self::Lower { folder } => {
                tree.write(&place, text("a", &format!("Lower of {folder}.")));
            }
            Self::FolderLink { target, .. } => tree.link(tree.path(target), &place),
            Self::FileLink { target, .. } => {
                tree.link(tree.path(target).join("SKILL.md"), &place);
            }
            Self::Empty { .. } => {
                tree.folder(&place);
            }
        }
    }
}

/// Leaves out what cannot stand beside what came before it.
fn possible(things: Vec<Thing>) -> Vec<Thing> {
    let mut kept: Vec<Thing> = Vec::new();
    for thing in things {
        let place = thing.place();
        let is_link = matches!(thing, Thing::FolderLink { .. });
        let is_free = kept.iter().all(|other| {
            let other_place = other.place();
            let other_is_link = matches!(other, Thing::FolderLink { .. });
            let within = |inner: &str, outer: &str| inner.starts_with(&format!("{outer}/"));
            place != other_place
                && !(other_is_link && within(&place, &other_place))
                && !(is_link && within(&other_place, &place))
        });
        if is_free {
            kept.push(thing);
        }
    }
    kept
}

fn layer() -> impl Strategy<Value = Layer> {
    prop_oneof![
        Just(Layer::Explicit),
        Just(Layer::Project),
        Just(Layer::User),
        Just(Layer::Repository),
        Just(Layer::Other("Mine".into())),
    ]
}

/// How a root is looked into; its folder is filled in later.
fn root() -> impl Strategy<Value = Root> {
    let flags = (
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
    );
    (layer(), 0..3_i32, flags).prop_map(|(layer, rank, (locked, held, named, confined))| {
        let mut root = Root::new(layer, "").with_rank(rank);
        root.locked = locked;
        root.held = held.then(|| "not trusted".into());
        root.namespace = named.then(|| "p".into());
        root.links = if confined {
            Links::Inside
        } else {
            Links::Anywhere
        };
        root
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::FirstWins),
        Just(Policy::UserFirst),
        Just(Policy::KeepAll),
        Just(Policy::Ranked),
    ]
}

fn look(tree: &Tree, roots: &[Root], policy: Policy) -> Skills {
    let roots: Vec<Root> = roots
        .iter()
        .zip(ROOTS)
        .map(|(root, folder)| {
            let mut root = root.clone();
            root.place = Root::new(Layer::User, tree.path(folder)).place;
            root
        })
        .collect();
    Skills::discover_with(&roots, DiscoverOptions::default().policy(policy))
}

/// All that is told of a tree.
fn told(tree: &Tree, skills: &Skills) -> Vec<String> {
    let catalogue = skills.catalogue();
    let mut told = tree.listing(skills);
    let diagnostics = catalogue
        .entries()
        .iter()
        .flat_map(|entry| &entry.diagnostics);
    let base = tree.path("").display().to_string();
    let all = diagnostics.chain(catalogue.notes());
    told.extend(all.map(|diagnostic| diagnostic.to_string().replace(&base, "")));
    told.extend(catalogue.complete(""));
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_tree_alone_decides(
        things in prop::collection::vec(thing(), 1..12),
        order in any::<prop::sample::Index>(),
        roots in prop::array::uniform3(root()),
        policy in policy(),
    ) {
        let mut things = possible(things);
        let tree = Tree::new();
        for thing in &things {
            thing.make(&tree);
        }
        let skills = look(&tree, &roots, policy);
        agrees(&skills);
        let first = told(&tree, &skills);
        prop_assert_eq!(&first, &told(&tree, &look(&tree, &roots, policy)));
        // Nothing changed, however thoroughly it is looked at.
        let changes = skills.refresh_with(RefreshOptions::default().verify_content());
        prop_assert!(changes.is_empty());
        prop_assert_eq!(&first, &told(&tree, &skills));

        // The same, made in another order.
        let middle = order.index(things.len());
        things.rotate_left(middle);
        things.reverse();
        let other = Tree::new();
        for thing in &things {
            thing.make(&other);
        }
        prop_assert_eq!(&first, &told(&other, &look(&other, &roots, policy)));

        // A refresh comes to what a new look does.
        for thing in &things[..middle] {
            let _ = fs::remove_file(other.path(thing.place()));
        }
        let skills = look(&tree, &roots, policy);
        for thing in &things[..middle] {
            let _ = fs::remove_file(tree.path(thing.place()));
        }
        skills.refresh();
        agrees(&skills);
        prop_assert_eq!(told(&tree, &skills), told(&other, &look(&other, &roots, policy)));
    }

    #[test]
    fn a_name_and_its_command(name in any::<String>(), namespace in any::<Option<String>>()) {
        let identity = Identity::of(&name);
        prop_assert_eq!(&Identity::of(identity.as_str()), &identity);
        let mut skill = Skill::from_text(Layer::BuiltIn, &name, "x", "");
        prop_assert_eq!(skill.identity(), &identity);
        prop_assert_eq!(Identity::of(&skill.fields.name), identity);
        prop_assert!(!skill.fields.name.contains(char::is_control));
        skill.namespace = namespace.map(Into::into);
        if let Some(command) = skill.command() {
            let parts: Vec<&str> = command.split(':').collect();
            prop_assert!(parts.len() == 1 + usize::from(skill.namespace.is_some()));
            for part in parts {
                prop_assert!(!part.is_empty() && part.len() <= 64);
                prop_assert!(part.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-')));
                prop_assert!(!part.starts_with('-') && !part.ends_with('-'));
            }
        }
    }

    #[test]
    fn a_plain_name_is_its_own_command(name in "[a-z0-9]([a-z0-9]|-[a-z0-9]){0,31}") {
        let skill = Skill::from_text(Layer::BuiltIn, &name, "x", "");
        prop_assert_eq!(skill.identity().as_str(), name.as_str());
        prop_assert_eq!(skill.command(), Some(name));
    }
}
