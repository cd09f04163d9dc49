//! Templates in templates.

use harness_prompt::{Error, Parameter, Template, Templates};
use serde_json::json;

use crate::{render, template};

#[test]
fn a_partial_sees_the_variables_where_it_stands() {
    let page = (
        "page",
        "{{> head}}{{#each items}}{{> row}}{{/each}}",
        &["items"][..],
    );
    let head = ("head", "{{title}}:", &["title"][..]);
    let row = ("row", "{{n}};", &["n"][..]);
    let values = json!({ "title": "T", "items": [{ "n": 1 }, { "n": 2 }] });
    assert_eq!(render(&[page, head, row], &values).unwrap(), "T:1;2;");

    // What a partial declares is demanded from the rendering, in the partial's name.
    let error = render(&[page, head, row], &json!({ "items": [] })).unwrap_err();
    assert_eq!(
        error.to_string(),
        "template `head`, line 1: there is no value for `title`"
    );
    // In a loop, it is the item that has to have it.
    let error = render(&[page, head, row], &json!({ "title": "", "items": [{}] })).unwrap_err();
    assert_eq!(
        error.to_string(),
        "template `row`, line 1: there is no value for `n`"
    );
}

#[test]
fn a_partial_takes_a_context_and_arguments() {
    let row = ("row", "{{n}}{{#if m}}+{{m}}{{/if}};", &["n", "m"][..]);
    for (source, expected) in [
        ("{{> row a}}", Ok("1+2;")),
        ("{{> row a m=0}}", Ok("1;")),
        ("{{> row n=\"x\" m=b}}", Ok("x+y;")),
        (
            "{{> row n=1}}",
            Err("template `row`, line 1: there is no value for `m`"),
        ),
        (
            "{{> row n=1 m=a.nope}}",
            Err("template `page`, line 1: there is no value for `a.nope`"),
        ),
        (
            "{{> row n=1 o=2}}",
            Err("template `page`, line 1: `row` does not declare `o`"),
        ),
        (
            "\n{{> nope}}",
            Err("template `page`, line 2: there is no template `nope` to include"),
        ),
        (
            "{{> row n=a m=1}}",
            Err(
                "template `row`, line 1: `n` has to be text, a number or a boolean, \
                                   but is an object",
            ),
        ),
    ] {
        let values = json!({ "a": { "n": 1, "m": 2 }, "b": "y" });
        let rendered = render(&[("page", source, &["a", "b"]), row], &values);
        let rendered = rendered.map_err(|error| error.to_string());
        assert_eq!(
            rendered.as_deref().map_err(String::as_str),
            expected,
            "{source}"
        );
    }
}

#[test]
fn defaults_of_a_partial_hold_in_what_includes_it() {
    let mut templates = Templates::empty();
    let greeting = Parameter::optional("greeting", "", "hello");
    templates
        .register(Template::new("p", "{{greeting}}", vec![greeting]).unwrap())
        .unwrap();
    templates
        .register(template("q", "[{{> p}}]", &[]).unwrap())
        .unwrap();
    assert_eq!(templates.render("q", &()).unwrap(), "[hello]");
    assert_eq!(
        templates.render("q", &json!({ "greeting": "hi" })).unwrap(),
        "[hi]"
    );
}

/// As handlebars documents it for `preventIndent`: what stands before a partial stays, its other
/// lines are not moved, and its line break goes.
#[test]
fn a_partial_is_not_indented() {
    let page = ("page", "a\n  {{> p}}\n  b {{> p}} c\n", &["text"][..]);
    let rendered = render(
        &[page, ("p", "1\n{{text}}\n", &["text"])],
        &json!({ "text": "x\n  y" }),
    );
    insta::assert_snapshot!(rendered.unwrap().replace('\n', "$\n"), @r"
    a$
      1$
    x$
      y$
      b 1$
    x$
      y$
     c$
    ");
}

#[test]
fn circles_are_refused_when_they_close() {
    for (members, expected) in [
        (&[("a", "{{> a}}")][..], "a > a"),
        (&[("b", "{{> a}}"), ("a", "{{> b}}")], "a > b > a"),
        (
            &[("c", "{{> a}}"), ("b", "{{> c}}"), ("a", "{{> b}}")],
            "a > b > c > a",
        ),
        (
            &[
                ("b", "{{#if x}}{{else}}{{> a x=x}}{{/if}}"),
                ("a", "{{#each x}}{{> b .}}{{/each}}"),
            ],
            "a > b > a",
        ),
    ] {
        let mut templates = Templates::empty();
        let (last, first) = members.split_last().unwrap();
        for (name, source) in first {
            templates
                .register(template(name, source, &["x"]).unwrap())
                .unwrap();
        }
        let source = last.1.replace("b .", "b this");
        let error = templates
            .register(template(last.0, &source, &["x"]).unwrap())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("templates include each other: {expected}")
        );
        // The registry is as it was.
        assert!(matches!(
            templates.get(last.0),
            Err(Error::UnknownTemplate { .. })
        ));
    }
}

/// Handlebars 6.4 overflows the stack on this, which ends the process.
#[test]
fn mutual_recursion_through_a_builtin_is_refused() {
    let mut templates = Templates::new();
    let error = templates
        .register(template("system-prompt/role", "{{> mine}}", &[]).unwrap())
        .and_then(|()| templates.register(template("mine", "{{> system-prompt}}", &[]).unwrap()))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "templates include each other: mine > system-prompt > system-prompt/role > mine"
    );
    assert!(templates.get("mine").is_err());
}

#[test]
fn a_replaced_template_counts_in_what_includes_it() {
    let mut templates = Templates::empty();
    templates
        .register(template("a", "{{> b}}", &[]).unwrap())
        .unwrap();
    assert!(matches!(
        templates.render("a", &()),
        Err(Error::UnknownPartial { .. })
    ));
    templates
        .register(template("b", "1", &[]).unwrap())
        .unwrap();
    assert_eq!(templates.render("a", &()).unwrap(), "1");
    templates
        .register(template("b", "2", &[]).unwrap())
        .unwrap();
    assert_eq!(templates.render("a", &()).unwrap(), "2");
}
