//! Where to look for skills.

use std::path::PathBuf;
use std::sync::Arc;

use crate::layer::Layer;
use crate::source::SkillSource;

/// A place to look for skills: one of an ordered list, highest first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Root {
    /// The layer that its skills belong to.
    pub layer: Layer,
    /// Where they are.
    pub place: Place,
    /// How high it stands, for [`Policy::Ranked`](crate::Policy::Ranked): higher wins. 0 if none is given.
    pub rank: i32,
    /// What its skills are called by: `namespace:name`. They never shadow others.
    pub namespace: Option<Arc<str>>,
    /// Whether nothing may shadow its skills, wherever it stands in the list.
    pub locked: bool,
    /// Why its skills are not loaded, if they are not. They are listed all the same.
    pub held: Option<Arc<str>>,
    /// Where it was fetched from.
    pub origin: Option<Arc<str>>,
    /// Whether links may lead out of it. Default: yes, unless it is held.
    pub links: Links,
    /// The project that it belongs to: while it is held, it may not be a link out of that.
    pub(crate) project: Option<PathBuf>,
}

/// Where skills are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Place {
    /// A folder: of skills, or of one skill if it has a `SKILL.md`; or a `SKILL.md` itself.
    Path(PathBuf),
    /// What was fetched from elsewhere. Looking for skills never fetches: see
    /// [`SkillSource::update`](crate::SkillSource::update).
    Source(Arc<dyn SkillSource>),
    /// Texts that are part of the program.
    Texts(Arc<[BuiltIn]>),
}

/// A skill that is part of the program: the text of its `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuiltIn {
    /// What its folder would be called.
    pub folder: Arc<str>,
    /// The text, frontmatter included.
    pub text: Arc<str>,
}

/// Whether links may lead out of a root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// They may: people keep skills elsewhere and link to them.
    #[default]
    Anywhere,
    /// They may not: for what strangers have written.
    Inside,
}

impl Root {
    /// A folder of skills, or the path of one.
    pub fn new(layer: Layer, path: impl Into<PathBuf>) -> Self {
        Self::at(layer, Place::Path(path.into()))
    }

    /// What a source has fetched. Links do not lead out of it, and its skills are held back until somebody
    /// [trusts](Self::trusted) them: that they were fetched is no reason to.
    pub fn source(source: Arc<dyn SkillSource>) -> Self {
        let held = "it was fetched from elsewhere, and is not trusted";
        Self::at(Layer::Repository, Place::Source(source))
            .confined()
            .held(held)
    }

    /// Skills that are part of the program.
    pub fn built_in(skills: impl IntoIterator<Item = BuiltIn>) -> Self {
        Self::at(Layer::BuiltIn, Place::Texts(skills.into_iter().collect()))
    }

    fn at(layer: Layer, place: Place) -> Self {
        Self {
            layer,
            place,
            rank: 0,
            namespace: None,
            locked: false,
            held: None,
            origin: None,
            links: Links::default(),
            project: None,
        }
    }

    /// Of a project's folder.
    pub(crate) fn of_project(mut self, folder: impl Into<PathBuf>) -> Self {
        self.project = Some(folder.into());
        self
    }

    /// With a rank, for [`Policy::Ranked`](crate::Policy::Ranked).
    pub fn with_rank(mut self, rank: i32) -> Self {
        self.rank = rank;
        self
    }

    /// In a namespace: its skills are called `namespace:name`.
    pub fn in_namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Nothing shadows its skills.
    pub fn locked(mut self) -> Self {
        self.locked = true;
        self
    }

    /// Its skills are listed and not loaded, for the reason given: `the project is not trusted`. Nor are links
    /// followed that lead out of it.
    pub fn held(mut self, reason: impl Into<Arc<str>>) -> Self {
        self.held = Some(reason.into());
        self
    }

    /// Its skills are loaded.
    pub fn trusted(mut self) -> Self {
        self.held = None;
        self
    }

    /// Where it was fetched from, in words.
    pub fn from_origin(mut self, origin: impl Into<Arc<str>>) -> Self {
        self.origin = Some(origin.into());
        self
    }

    /// Where its skills were fetched from: what its source says, unless something else was given.
    pub(crate) fn origin_now(&self) -> Option<Arc<str>> {
        match (&self.origin, &self.place) {
            (None, Place::Source(source)) => Some(source.origin().into()),
            (origin, _) => origin.clone(),
        }
    }

    /// Links do not lead out of it.
    pub fn confined(mut self) -> Self {
        self.links = Links::Inside;
        self
    }
}

impl BuiltIn {
    /// The text of a `SKILL.md` whose folder would be called `folder`.
    pub fn new(folder: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self {
            folder: folder.into(),
            text: text.into(),
        }
    }
}
