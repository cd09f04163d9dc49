//! What handlebars does not check while it renders.
//!
//! The parsed template is rewritten, with elements that write nothing: before each tag stands a
//! guard that fails if a variable of the tag has no value (handlebars takes it for false in `{{#if}}`
//! and for nothing in a partial's arguments), and at the beginning of each body one that counts what
//! is rendered. `{{value}}` becomes `{{text value}}`, which fails on what is not text (handlebars
//! writes `[object]`). The names of both contain a space, so no template can call them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use handlebars::template::{
    HelperTemplate, Parameter as Argument, Subexpression, Template as Parsed, TemplateElement,
    TemplateMapping,
};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, Output, RenderContext, RenderError, RenderErrorReason,
    ScopedJson,
};
use serde_json::Value;

use crate::limits::Limits;
use crate::values::{Weight, weight};

const GUARD: &str = "harness guard";
const TEXT: &str = "harness text";
const LOOKUP: &str = "lookup";
const COMPARISONS: [&str; 6] = ["eq", "ne", "gt", "gte", "lt", "lte"];

/// Why a guard stopped a rendering.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("there is no value for `{0}`")]
    Missing(String),
    #[error("`{variable}` is {found}")]
    NotText {
        variable: String,
        found: &'static str,
    },
    #[error("{what} is limited to {max}")]
    Limit { what: &'static str, max: u64 },
}

impl From<Fault> for RenderError {
    fn from(fault: Fault) -> Self {
        RenderErrorReason::NestedError(Box::new(fault)).into()
    }
}

/// What a guard looks at, besides whether its variables have values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    /// Nothing else.
    Presence,
    /// The context, which a template has been given by the one that includes it.
    Context,
    /// The size of its variables, which are compared.
    Sizes,
}

/// Puts the guards in.
pub(crate) fn install(parsed: &mut Parsed) {
    rewrite(parsed, true, None);
}

/// The name of a kind of value, with its article.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn rewrite(parsed: &mut Parsed, root: bool, outer: Option<&TemplateMapping>) {
    let elements = std::mem::take(&mut parsed.elements);
    let mapping = std::mem::take(&mut parsed.mapping);
    let mut push = |element, place: Option<&TemplateMapping>| {
        parsed.elements.push(element);
        parsed.mapping.extend(place.cloned());
    };
    let watch = if root {
        Watch::Context
    } else {
        Watch::Presence
    };
    let cost = elements.iter().map(steps).sum::<u64>() + 1;
    push(guard(cost, watch, Vec::new()), mapping.first().or(outer));
    for (index, mut element) in elements.into_iter().enumerate() {
        let place = mapping.get(index).or(outer);
        let mut uses = Uses::default();
        match &mut element {
            TemplateElement::Expression(tag) | TemplateElement::HtmlExpression(tag) => {
                uses.call(tag);
                **tag = text(tag);
            }
            TemplateElement::HelperBlock(tag) => {
                uses.call(tag);
                for body in [&mut tag.template, &mut tag.inverse].into_iter().flatten() {
                    rewrite(body, false, place);
                }
            }
            TemplateElement::PartialExpression(tag) => {
                let mut named: Vec<_> = tag.hash.iter().collect();
                named.sort_unstable_by_key(|(name, _)| *name);
                let named = named.into_iter().map(|(_, argument)| argument);
                tag.params
                    .iter()
                    .chain(named)
                    .for_each(|argument| uses.argument(argument));
            }
            _ => {}
        }
        if !uses.all.is_empty() {
            push(guard(0, Watch::Presence, uses.all), place);
        }
        if !uses.compared.is_empty() {
            push(guard(0, Watch::Sizes, uses.compared), place);
        }
        push(element, place);
    }
}

/// How many characters of a path take as long as one argument.
const PATH_PER_STEP: usize = 16;

/// What an element costs each time it is rendered, without the bodies in it: one step, and one for each
/// of its arguments.
fn steps(element: &TemplateElement) -> u64 {
    let (name, listed, named) = match element {
        TemplateElement::Expression(tag)
        | TemplateElement::HtmlExpression(tag)
        | TemplateElement::HelperBlock(tag) => (Some(&tag.name), &tag.params, &tag.hash),
        TemplateElement::PartialExpression(tag) => (None, &tag.params, &tag.hash),
        _ => return 1,
    };
    let all = name.into_iter().chain(listed).chain(named.values());
    1 + all.map(argument_steps).sum::<u64>()
}

fn argument_steps(argument: &Argument) -> u64 {
    match argument {
        Argument::Path(_) => {
            let length = argument.as_name().map_or(0, str::len);
            1 + (length / PATH_PER_STEP) as u64
        }
        Argument::Subexpression(Subexpression { element, .. }) => steps(element),
        _ => 1,
    }
}

/// The variables in the arguments of a tag, those of subexpressions included.
#[derive(Default)]
struct Uses {
    all: Vec<Argument>,
    compared: Vec<Argument>,
}

impl Uses {
    fn call(&mut self, tag: &HelperTemplate) {
        if tag
            .name
            .as_name()
            .is_some_and(|name| COMPARISONS.contains(&name))
        {
            let paths = tag
                .params
                .iter()
                .filter(|argument| matches!(argument, Argument::Path(_)));
            self.compared.extend(paths.cloned());
        }
        tag.params
            .iter()
            .for_each(|argument| self.argument(argument));
    }

    fn argument(&mut self, argument: &Argument) {
        match argument {
            Argument::Path(_) => self.all.push(argument.clone()),
            Argument::Subexpression(Subexpression { element, .. }) => {
                if let TemplateElement::Expression(tag) = &**element {
                    self.call(tag);
                }
            }
            _ => {}
        }
    }
}

fn guard(cost: u64, watch: Watch, used: Vec<Argument>) -> TemplateElement {
    let mut arguments = vec![
        Argument::Literal(cost.into()),
        Argument::Literal((watch as u8).into()),
    ];
    arguments.extend(used);
    *Subexpression::new(Argument::Name(GUARD.to_owned()), arguments, HashMap::new()).element
}

/// `{{tag}}` as `{{text tag "tag"}}`.
fn text(tag: &HelperTemplate) -> HelperTemplate {
    let name = tag.name.as_name().unwrap_or("(…)").to_owned();
    let (value, label) = if tag.params.is_empty() && tag.hash.is_empty() {
        (tag.name.clone(), name)
    } else {
        let call = Subexpression::new(tag.name.clone(), tag.params.clone(), tag.hash.clone());
        (Argument::Subexpression(call), format!("({name} …)"))
    };
    let mut wrapped = tag.clone();
    wrapped.name = Argument::Name(TEXT.to_owned());
    wrapped.params = vec![value, Argument::Literal(label.into())];
    wrapped.hash = HashMap::new();
    wrapped
}

/// What a rendering has spent so far.
pub(crate) struct Meter<'l> {
    limits: &'l Limits,
    steps: AtomicU64,
    /// The cost of the largest value that handlebars has copied: a partial's context, or what
    /// `lookup` found. From there on it copies what each path leads to, so each element may cost
    /// as much again.
    heaviest: AtomicU64,
}

impl<'l> Meter<'l> {
    pub(crate) fn new(limits: &'l Limits) -> Self {
        Self {
            limits,
            steps: AtomicU64::new(0),
            heaviest: AtomicU64::new(0),
        }
    }

    /// Makes the helpers known to a rendering.
    pub(crate) fn attach<'reg: 'rc, 'rc>(&'rc self, rc: &mut RenderContext<'reg, 'rc>) {
        rc.register_local_helper(GUARD, Box::new(Guard(self)));
        rc.register_local_helper(TEXT, Box::new(Text));
        rc.register_local_helper(LOOKUP, Box::new(Lookup(self)));
    }

    /// What it costs to handle `value` as a whole.
    fn weigh(&self, value: &Value) -> Result<u64, Fault> {
        let max = self.limits.value_bytes;
        weight(value, max).map(Weight::steps).ok_or(Fault::Limit {
            what: "the size of the values, in bytes,",
            max: max as u64,
        })
    }

    /// `value` is copied.
    fn copy(&self, value: &Value) -> Result<(), Fault> {
        self.heaviest
            .fetch_max(self.weigh(value)?, Ordering::Relaxed);
        self.elements(1)
    }

    /// `value` is compared.
    fn compare(&self, value: &Value) -> Result<(), Fault> {
        self.spend(self.weigh(value)?)
    }

    /// So many elements are rendered.
    fn elements(&self, count: u64) -> Result<(), Fault> {
        let each = 1 + self.heaviest.load(Ordering::Relaxed);
        self.spend(count.saturating_mul(each))
    }

    fn spend(&self, steps: u64) -> Result<(), Fault> {
        let before = self.steps.fetch_add(steps, Ordering::Relaxed);
        if before.saturating_add(steps) > self.limits.steps {
            return Err(Fault::Limit {
                what: "the number of steps",
                max: self.limits.steps,
            });
        }
        Ok(())
    }
}

struct Guard<'m>(&'m Meter<'m>);

impl HelperDef for Guard<'_> {
    fn call<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        rc: &mut RenderContext<'reg, 'rc>,
        _: &mut dyn Output,
    ) -> Result<(), RenderError> {
        let [cost, watch, used @ ..] = call.params().as_slice() else {
            return Ok(());
        };
        let watch = watch.value().as_u64();
        if watch == Some(Watch::Context as u64)
            && let Some(context) = rc.block().and_then(|block| block.base_value())
        {
            self.0.copy(context)?;
        }
        self.0.elements(cost.value().as_u64().unwrap_or(1))?;
        for variable in used {
            if variable.is_value_missing() {
                let name = variable.relative_path().cloned().unwrap_or_default();
                return Err(Fault::Missing(name).into());
            }
            if watch == Some(Watch::Sizes as u64) {
                self.0.compare(variable.value())?;
            }
        }
        Ok(())
    }
}

/// `lookup`, as handlebars has it, but counted.
struct Lookup<'m>(&'m Meter<'m>);

impl HelperDef for Lookup<'_> {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let [collection, key] = call.params().as_slice() else {
            return Err(RenderErrorReason::ParamNotFoundForIndex("lookup", 1).into());
        };
        let found = match (collection.value(), key.value()) {
            (Value::Array(items), Value::Number(index)) => index
                .as_u64()
                .and_then(|index| items.get(usize::try_from(index).ok()?)),
            (Value::Object(fields), Value::String(name)) => fields.get(name),
            _ => None,
        };
        match found {
            Some(value) => {
                self.0.copy(value)?;
                Ok(ScopedJson::Derived(value.clone()))
            }
            None => Err(Fault::Missing("(lookup …)".to_owned()).into()),
        }
    }
}

struct Text;

impl HelperDef for Text {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let [argument, label] = call.params().as_slice() else {
            return Err(RenderErrorReason::ParamNotFoundForIndex("text", 0).into());
        };
        let variable = || label.value().as_str().unwrap_or_default().to_owned();
        if argument.is_value_missing() {
            return Err(Fault::Missing(variable()).into());
        }
        match argument.value() {
            value @ (Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                Ok(ScopedJson::Derived(value.clone()))
            }
            other => Err(Fault::NotText {
                variable: variable(),
                found: kind(other),
            }
            .into()),
        }
    }
}
