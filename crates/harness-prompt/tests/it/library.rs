//! Layers: who shadows whom, and what happens when a replacement does not fit.

use harness_prompt::{
    Error, Kind, Layer, Library, Parameter, SystemPromptValues, Template, Templates,
};
use serde_json::json;

use crate::template;

fn values() -> serde_json::Value {
    SystemPromptValues {
        working_dir: "/w".into(),
        platform: "linux".into(),
        ..SystemPromptValues::default()
    }
    .to_value()
}

fn add(library: &mut Library, layer: Layer, name: &str, source: &str) -> Result<(), Error> {
    library.add_template(layer, template(name, source, &[]).unwrap(), None)
}

#[test]
fn the_built_in_templates_are_there() {
    let library = Library::new();
    let builtin: Vec<_> = library
        .list()
        .iter()
        .map(|listed| listed.name.to_owned())
        .collect();
    assert_eq!(builtin, Templates::new().names().collect::<Vec<_>>());
    assert_eq!(
        library
            .templates()
            .render("system-prompt", &values())
            .unwrap(),
        Templates::new().render("system-prompt", &values()).unwrap()
    );
}

#[test]
fn any_built_in_template_can_be_replaced() {
    for name in Templates::new().names() {
        for layer in [Layer::BuiltIn, Layer::User, Layer::Project] {
            let mut library = Library::new();
            add(&mut library, layer, name, "mine").unwrap();
            assert_eq!(library.templates().render(name, &()).unwrap(), "mine");
        }
    }
}

#[test]
fn a_higher_layer_shadows_a_lower_one_in_any_order() {
    let name = "system-prompt/role";
    let mut library = Library::new();
    for (layer, source) in [
        (Layer::Project, "first of project"),
        (Layer::User, "user"),
        (Layer::Project, "project"),
        (Layer::BuiltIn, "built in"),
    ] {
        add(&mut library, layer, name, source).unwrap();
    }
    assert_eq!(library.templates().render(name, &()).unwrap(), "project");
    let prompt = library
        .templates()
        .render("system-prompt", &values())
        .unwrap();
    assert!(prompt.starts_with("project\n"), "{prompt}");
    let listed: Vec<_> = library
        .list()
        .into_iter()
        .filter(|listed| listed.name == name)
        .map(|listed| {
            assert_eq!(listed.kind, Kind::Template);
            let shadow = listed.shadowed_by.map(|shadow| shadow.layer.to_string());
            format!("{} < {}", listed.layer, shadow.unwrap_or_default())
        })
        .collect();
    assert_eq!(
        listed,
        [
            "project < ",
            "project < project",
            "user < project",
            "built-in < project",
            "built-in < project"
        ]
    );
}

#[test]
fn a_circle_over_layers_is_refused() {
    let mut library = Library::new();
    let error = add(
        &mut library,
        Layer::Project,
        "system-prompt/role",
        "{{> system-prompt}}",
    );
    assert!(matches!(error, Err(Error::Cycle { .. })), "{error:?}");
    assert!(
        library
            .templates()
            .render("system-prompt", &values())
            .is_ok()
    );
    assert_eq!(library.list().len(), Templates::new().names().count());
    // Both halves are sound; together they are a circle, and the higher layer yields.
    add(&mut library, Layer::User, "a", "user").unwrap();
    add(&mut library, Layer::User, "b", "b{{> a}}").unwrap();
    let error = add(&mut library, Layer::Project, "a", "a{{> b}}");
    assert!(matches!(error, Err(Error::Cycle { .. })), "{error:?}");
    assert_eq!(library.templates().render("b", &()).unwrap(), "buser");
    // Also if the higher layer was there first.
    let mut library = Library::new();
    add(&mut library, Layer::User, "b", "b").unwrap();
    add(&mut library, Layer::Project, "a", "a{{> b}}").unwrap();
    add(&mut library, Layer::User, "b", "b{{> a}}").unwrap();
    let left_out: Vec<_> = library
        .list()
        .iter()
        .filter(|listed| listed.problem.is_some())
        .map(|listed| (listed.layer, listed.name.to_owned()))
        .collect();
    assert_eq!(
        left_out,
        [
            (Layer::Project, "a".to_owned()),
            (Layer::User, "b".to_owned())
        ]
    );
    assert_eq!(library.templates().render("b", &()).unwrap(), "b");
}

#[test]
fn a_partial_that_comes_later_completes_a_template() {
    let mut library = Library::new();
    add(&mut library, Layer::User, "a", "a{{> b}}").unwrap();
    assert!(library.templates().render("a", &()).is_err());
    add(&mut library, Layer::User, "b", "b").unwrap();
    assert_eq!(library.templates().render("a", &()).unwrap(), "ab");
    // A replacement that waits leaves what it would replace in its place.
    add(&mut library, Layer::Project, "b", "{{> c}}").unwrap();
    assert_eq!(library.templates().render("a", &()).unwrap(), "ab");
    add(&mut library, Layer::Project, "c", "c").unwrap();
    assert_eq!(library.templates().render("a", &()).unwrap(), "ac");
}

#[test]
fn a_replacement_must_take_what_it_is_given() {
    let mut library = Library::new();
    let takes = |name: &str| {
        let parameters = vec![Parameter::required(name.to_owned(), "")];
        Template::new("p", format!("{{{{{name}}}}}"), parameters).unwrap()
    };
    library.add_template(Layer::User, takes("x"), None).unwrap();
    add(&mut library, Layer::User, "t", "{{> p x=1}}").unwrap();
    let refused = library.add_template(Layer::Project, takes("y"), None);
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    assert_eq!(library.templates().render("t", &json!({})).unwrap(), "1");
    // The one who gives is to blame if both are of one layer.
    let refused = add(&mut library, Layer::User, "u", "{{> p z=1}}");
    assert!(refused.is_err());
    assert_eq!(library.templates().render("t", &json!({})).unwrap(), "1");
}

/// Deep alone is sound; deep below what includes it is not.
#[test]
fn a_replacement_that_nests_too_deep_is_left_out() {
    let mut library = Library::new();
    add(&mut library, Layer::User, "t0", "end").unwrap();
    for level in 1..60 {
        let source = format!("{{{{> t{}}}}}", level - 1);
        add(&mut library, Layer::User, &format!("t{level}"), &source).unwrap();
    }
    let deep = format!("{}x{}", "{{#if true}}".repeat(20), "{{/if}}".repeat(20));
    let refused = add(&mut library, Layer::Project, "t0", &deep);
    assert!(matches!(refused, Err(Error::Limit { .. })), "{refused:?}");
    assert_eq!(library.templates().render("t59", &()).unwrap(), "end");
}

#[test]
fn a_section_that_cannot_be_rendered_gives_way_to_the_built_in_one() {
    let mut library = Library::new();
    let values = SystemPromptValues::default();
    let (usual, errors) = library.system_prompt(&values).unwrap();
    assert_eq!(errors, []);
    let broken = "{{#each search}}x{{/each}}";
    let parameters = library
        .templates()
        .get("system-prompt/role")
        .unwrap()
        .parameters()
        .to_vec();
    let template = Template::new("system-prompt/role", broken, parameters).unwrap();
    library
        .add_template(Layer::Project, template, None)
        .unwrap();
    let (sections, errors) = library.system_prompt(&values).unwrap();
    assert_eq!(sections, usual);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].to_string().contains("`search` has to be a list"),
        "{}",
        errors[0]
    );
}
