//! The registry of templates.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::builtin::{BUILTINS, Builtin};
use crate::error::Error;
use crate::limits::Limits;
use crate::plan::Plan;
use crate::reach::{Reach, Unknown};
use crate::template::Template;

/// Templates by name, and what renders them.
///
/// The built-in ones are there from the start and are parsed when they are first used. Registering a
/// template of the same name replaces one, in everything that includes it as well.
///
/// Rendering takes `&self`, does no I/O, and depends on nothing but the templates and the values: the
/// same values give the same bytes.
#[derive(Clone, Debug)]
pub struct Templates {
    entries: BTreeMap<String, Entry>,
    limits: Limits,
}

#[derive(Clone, Debug)]
struct Entry {
    origin: Origin,
    /// How to render it; made on first use, void when a template is registered.
    plan: OnceLock<Arc<Plan>>,
}

#[derive(Clone, Debug)]
enum Origin {
    Builtin(&'static Builtin, OnceLock<Box<Template>>),
    Registered(Box<Template>),
}

impl Entry {
    fn new(origin: Origin) -> Self {
        Self {
            origin,
            plan: OnceLock::new(),
        }
    }

    fn template(&self) -> Result<&Template, Error> {
        match &self.origin {
            Origin::Registered(template) => Ok(template),
            Origin::Builtin(builtin, parsed) => {
                if let Some(template) = parsed.get() {
                    return Ok(template);
                }
                let template = builtin.parse()?;
                Ok(parsed.get_or_init(|| Box::new(template)))
            }
        }
    }
}

impl Default for Templates {
    fn default() -> Self {
        Self::new()
    }
}

impl Templates {
    /// The built-in templates.
    pub fn new() -> Self {
        let mut templates = Self::empty();
        for builtin in BUILTINS {
            let entry = Entry::new(Origin::Builtin(builtin, OnceLock::new()));
            templates.entries.insert(builtin.name.to_owned(), entry);
        }
        templates
    }

    /// No templates, not even the built-in ones.
    pub fn empty() -> Self {
        Self {
            entries: BTreeMap::new(),
            limits: Limits::default(),
        }
    }

    /// Sets what a rendering may cost.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a template, or replaces the one of its name.
    ///
    /// Partials that are not there yet are no error: they may come later. Refused, with the registry
    /// left as it was, if templates would include each other in a circle or nest too deep.
    pub fn register(&mut self, template: Template) -> Result<(), Error> {
        let name = template.name().to_owned();
        let entry = Entry::new(Origin::Registered(Box::new(template)));
        let replaced = self.entries.insert(name.clone(), entry);
        // A new circle runs through the new template.
        if let Err(error) = Reach::of(&name, Unknown::Allowed, |name| self.get(name)) {
            match replaced {
                Some(entry) => self.entries.insert(name, entry),
                None => self.entries.remove(&name),
            };
            return Err(error);
        }
        for entry in self.entries.values_mut() {
            entry.plan = OnceLock::new();
        }
        Ok(())
    }

    /// Puts a template in that is known to go together with the others.
    pub(crate) fn put(&mut self, template: Template) {
        let name = template.name().to_owned();
        let entry = Entry::new(Origin::Registered(Box::new(template)));
        self.entries.insert(name, entry);
    }

    /// The names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The template of that name.
    pub fn get(&self, name: &str) -> Result<&Template, Error> {
        match self.entries.get(name) {
            Some(entry) => entry.template(),
            None => Err(Error::UnknownTemplate {
                name: name.to_owned(),
            }),
        }
    }

    /// Renders the template of that name.
    ///
    /// `values` has to serialise to named values: a struct, a map, or `()` for none. Values that the
    /// template does not declare are passed over, so that several templates can be given the same
    /// struct. What a value holds is text, never a template: `{{…}}` in it stays as it is.
    pub fn render<V: Serialize + ?Sized>(&self, name: &str, values: &V) -> Result<String, Error> {
        self.plan(name)?.render(values, &self.limits)
    }

    fn plan(&self, name: &str) -> Result<Arc<Plan>, Error> {
        let Some(entry) = self.entries.get(name) else {
            return Err(Error::UnknownTemplate {
                name: name.to_owned(),
            });
        };
        if let Some(plan) = entry.plan.get() {
            return Ok(Arc::clone(plan));
        }
        let reach = Reach::of(name, Unknown::Refused, |name| self.get(name))?;
        let plan = Arc::new(Plan::new(name, reach));
        Ok(Arc::clone(entry.plan.get_or_init(|| plan)))
    }
}

impl Builtin {
    fn parse(&self) -> Result<Template, Error> {
        let template = Template::new(self.name, Cow::Borrowed(self.source), (self.parameters)())?;
        Ok(template.described(self.description))
    }
}
