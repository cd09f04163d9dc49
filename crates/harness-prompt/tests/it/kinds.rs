//! The kinds of parameters.

use harness_prompt::{Error, Parameter, ParameterKind, Template, Templates};
use serde_json::{Value, json};

const KINDS: [(&str, ParameterKind); 6] = [
    ("text", ParameterKind::Text),
    ("number", ParameterKind::Number),
    ("boolean", ParameterKind::Boolean),
    ("list", ParameterKind::List),
    ("object", ParameterKind::Object),
    ("any", ParameterKind::Any),
];

fn registry(parameter: Parameter) -> Templates {
    let mut templates = Templates::empty();
    let template = Template::new("t", "\n{{#if p}}x{{/if}}", vec![parameter]).unwrap();
    templates.register(template).unwrap();
    templates
}

#[test]
fn each_kind_takes_its_own_values() {
    let values = [
        json!("a"),
        json!(1.5),
        json!(true),
        json!([1]),
        json!({ "a": 1 }),
    ];
    for (name, kind) in KINDS {
        assert_eq!(ParameterKind::from_name(name), Some(kind));
        let templates = registry(Parameter::required("p", "").of_kind(kind));
        let takes: Vec<_> = values
            .iter()
            .map(|value| templates.render("t", &json!({ "p": value })).is_ok())
            .collect();
        let own: Vec<_> = values.iter().map(|value| kind.accepts(value)).collect();
        assert_eq!(takes, own, "{name}");
        let expected = if kind == ParameterKind::Any { 5 } else { 1 };
        assert_eq!(takes.iter().filter(|&&ok| ok).count(), expected, "{name}");
    }
    assert_eq!(ParameterKind::from_name("texts"), None);
}

#[test]
fn another_kind_is_an_error_that_names_all() {
    let templates = registry(Parameter::required("p", "").of_kind(ParameterKind::List));
    insta::assert_snapshot!(
        templates.render("t", &json!({ "p": "a" })).unwrap_err(),
        @"template `t`, line 2: `p` has to be a list, but is text"
    );
    insta::assert_snapshot!(
        templates.render("t", &json!({ "p": null })).unwrap_err(),
        @"template `t`, line 2: `p` has to be a list, but is null"
    );
    let error = Template::new(
        "t",
        "",
        vec![Parameter::optional("p", "", 1).of_kind(ParameterKind::Text)],
    )
    .unwrap_err();
    insta::assert_snapshot!(error, @"template `t`: `p` has to be text, but is a number");
}

#[test]
fn what_may_be_left_out_may_be_null() {
    for (_, kind) in KINDS {
        let mut parameter = Parameter::optional("p", "", Value::Null).of_kind(kind);
        for default in [Some(Value::Null), None] {
            parameter.default = default;
            let templates = registry(parameter.clone());
            assert_eq!(templates.render("t", &json!({ "p": null })).unwrap(), "\n");
            assert_eq!(templates.render("t", &json!({})).unwrap(), "\n");
        }
    }
}

/// A partial may ask for more than the template that includes it.
#[test]
fn the_kinds_of_partials_count_as_well() {
    let mut templates = Templates::empty();
    let parameter = |kind| vec![Parameter::required("p", "").of_kind(kind)];
    for (name, source, kind) in [
        ("inner", "{{#each p}}{{this}}{{/each}}", ParameterKind::List),
        ("outer", "{{> inner}}", ParameterKind::Any),
        ("given", "{{> inner p=p}}", ParameterKind::Any),
    ] {
        templates
            .register(Template::new(name, source, parameter(kind)).unwrap())
            .unwrap();
    }
    assert_eq!(
        templates.render("outer", &json!({ "p": ["a"] })).unwrap(),
        "a"
    );
    let error = templates
        .render("outer", &json!({ "p": { "k": "v" } }))
        .unwrap_err();
    assert!(matches!(error, Error::WrongKind { template, .. } if template == "inner"));
    assert_eq!(
        templates
            .render("given", &json!({ "p": { "k": "v" } }))
            .unwrap(),
        "v"
    );
}
