//! What is missing or of the wrong kind is an error that says where; what is right renders as
//! written.

use std::fmt::Write as _;

use harness_prompt::{Error, Parameter, Template, Templates};
use serde_json::{Value, json};

use crate::{render_one, template};

#[track_caller]
fn check(source: &str, values: &Value, expected: Result<&str, &str>) {
    let rendered = render_one(source, values);
    assert_eq!(
        rendered.as_deref().map_err(String::as_str),
        expected,
        "{source}"
    );
}

#[test]
fn text_is_written_as_it_is() {
    check(
        "{{a}}",
        &json!({ "a": "<b> & \"c\" 'd' `e` = f" }),
        Ok("<b> & \"c\" 'd' `e` = f"),
    );
    check("{{{a}}}|{{&a}}", &json!({ "a": "<&>" }), Ok("<&>|<&>"));
    check(
        "{{a}} {{b}} {{c}}",
        &json!({ "a": 1, "b": 1.5, "c": true }),
        Ok("1 1.5 true"),
    );
    check("{{a}}", &json!({ "a": "" }), Ok(""));
    check(r"\{{a}} {{a}}", &json!({ "a": 1 }), Ok("{{a}} 1"));
    check("{a} }} { {{a}}", &json!({ "a": 1 }), Ok("{a} }} { 1"));
    check("日本語 {{a}} 👩‍💻", &json!({ "a": "é" }), Ok("日本語 é 👩‍💻"));
    check("", &json!({}), Ok(""));
    check("\n \n", &json!({}), Ok("\n \n"));
}

#[test]
fn blocks_and_helpers_work() {
    check(
        "{{#if a}}x{{else}}y{{/if}}",
        &json!({ "a": false }),
        Ok("y"),
    );
    check(
        "{{#if a}}x{{else if b}}y{{else}}z{{/if}}",
        &json!({ "a": 0, "b": 1 }),
        Ok("y"),
    );
    check("{{#unless a}}x{{/unless}}", &json!({ "a": [] }), Ok("x"));
    check(
        "{{#each a}}{{@index}}{{this}}{{#unless @last}},{{/unless}}{{/each}}",
        &json!({ "a": ["x", "y"] }),
        Ok("0x,1y"),
    );
    check(
        "{{#each a}}{{@key}}={{this}};{{/each}}",
        &json!({ "a": { "x": 1, "y": 2 } }),
        Ok("x=1;y=2;"),
    );
    check(
        "{{#each a as |item i|}}{{i}}{{item.n}}{{b}}{{/each}}",
        &json!({ "a": [{ "n": 1, "b": 2 }], "b": 3 }),
        Ok("012"),
    );
    check(
        "{{#each a}}{{../b}}{{@root.b}}{{/each}}",
        &json!({ "a": [1, 2], "b": 3 }),
        Ok("3333"),
    );
    check(
        "{{#each a}}x{{else}}none{{/each}}",
        &json!({ "a": [] }),
        Ok("none"),
    );
    check(
        "{{#each a}}x{{else}}none{{/each}}",
        &json!({ "a": null }),
        Ok("none"),
    );
    check(
        "{{#with a}}{{b.c}}{{/with}}",
        &json!({ "a": { "b": { "c": 1 } } }),
        Ok("1"),
    );
    check(
        "{{#if (and a (eq b 2))}}x{{/if}}",
        &json!({ "a": 1, "b": 2 }),
        Ok("x"),
    );
    check(
        "{{#eq a \"it's\"}}x{{/eq}}",
        &json!({ "a": "it's" }),
        Ok("x"),
    );
    check(
        "{{len a}} {{lookup a 1}}",
        &json!({ "a": [1, 2] }),
        Ok("2 2"),
    );
    check(
        "{{#if a includeZero=true}}x{{/if}}",
        &json!({ "a": 0 }),
        Ok("x"),
    );
    check("{{!-- {{#if}} --}}a{{! b }}", &json!({}), Ok("a"));
}

#[test]
fn a_tag_alone_on_its_line_leaves_no_line() {
    let values = json!({ "a": true, "l": ["x", "y"] });
    check("1\n{{#if a}}\n2\n{{/if}}\n3\n", &values, Ok("1\n2\n3\n"));
    check(
        "1\r\n{{#if a}}\r\n2\r\n{{/if}}\r\n3\r\n",
        &values,
        Ok("1\r\n2\r\n3\r\n"),
    );
    check(
        "{{#each l}}\n- {{this}}\n{{/each}}\nend",
        &values,
        Ok("- x\n- y\nend"),
    );
    check("1\n  {{#if a}}\n  2\n  {{/if}}\n", &values, Ok("1\n  2\n"));
    check(
        "1 \n {{~#if a~}} \n 2 \n {{~/if~}} \n 3",
        &values,
        Ok("123"),
    );
    check("{{! note }}\nx", &values, Ok("x"));
}

#[test]
fn a_missing_value_is_an_error_with_its_place() {
    let values = json!({ "a": {}, "l": [{ "n": 1 }, {}], "t": "text" });
    check(
        "\n{{a.b}}",
        &values,
        Err("template `t`, line 2: there is no value for `a.b`"),
    );
    check(
        "{{#if a.b}}x{{/if}}",
        &values,
        Err("template `t`, line 1: there is no value for `a.b`"),
    );
    check(
        "x\n{{#unless a.b}}x{{/unless}}",
        &values,
        Err("template `t`, line 2: there is no value for `a.b`"),
    );
    check(
        "\n\n{{#if t}}x{{else if a.b}}y{{/if}}",
        &json!({ "a": {}, "t": false }),
        Err("template `t`, line 3: there is no value for `a.b`"),
    );
    check(
        "{{#if (or a.b t)}}x{{/if}}",
        &values,
        Err("template `t`, line 1: there is no value for `a.b`"),
    );
    check(
        "{{#if (not (eq a.b t))}}x{{/if}}",
        &values,
        Err("template `t`, line 1: there is no value for `a.b`"),
    );
    check(
        "{{#each l}}\n{{n}}\n{{/each}}",
        &values,
        Err("template `t`, line 2: there is no value for `n`"),
    );
    check(
        "{{#each l}}\n{{#if n}}x{{/if}}\n{{/each}}",
        &values,
        Err("template `t`, line 2: there is no value for `n`"),
    );
    check(
        "{{#each l as |x|}}\n{{x.n}}\n{{/each}}",
        &values,
        Err("template `t`, line 2: there is no value for `x.n`"),
    );
    check(
        "{{#each a.b}}x{{else}}y{{/each}}",
        &values,
        Err("template `t`, line 1: there is no value for `a.b`"),
    );
    check(
        "{{#with a.b}}x{{else}}y{{/with}}",
        &values,
        Err("template `t`, line 1: there is no value for `a.b`"),
    );
    check(
        "{{t.x}}",
        &values,
        Err("template `t`, line 1: there is no value for `t.x`"),
    );
    check(
        "{{@index}}",
        &values,
        Err("template `t`, line 1: there is no value for `@index`"),
    );
    check(
        "{{len a.b}}",
        &values,
        Err("template `t`, line 1: there is no value for `a.b`"),
    );
    check(
        "{{lookup a \"b\"}}",
        &values,
        Err("template `t`, line 1: there is no value for `(lookup …)`"),
    );
}

#[test]
fn what_is_not_text_is_not_written() {
    let wrong = |name: &str, found: &str| {
        format!(
            "template `t`, line 1: `{name}` has to be text, a number or a boolean, but is {found}"
        )
    };
    let values = json!({ "o": {}, "l": [1], "n": null, "m": { "x": {} } });
    check("{{o}}", &values, Err(&wrong("o", "an object")));
    check("{{{o}}}", &values, Err(&wrong("o", "an object")));
    check("{{l}}", &values, Err(&wrong("l", "a list")));
    check("{{n}}", &values, Err(&wrong("n", "null")));
    check("{{m.x}}", &values, Err(&wrong("m.x", "an object")));
    check("{{this}}", &values, Err(&wrong("this", "an object")));
    check(
        "{{lookup m \"x\"}}",
        &values,
        Err(&wrong("(lookup …)", "an object")),
    );
    check(
        "{{#each m}}{{this}}{{/each}}",
        &values,
        Err(&wrong("this", "an object")),
    );
    check(
        "{{#each (len l)}}x{{/each}}",
        &values,
        Err(
            "template `t`, line 1: `(…)` has to be a list or an object (for `with`: one that is not \
             empty), but is not",
        ),
    );
    check(
        "{{#each a}}x{{/each}}",
        &json!({ "a": "text" }),
        Err(
            "template `t`, line 1: `a` has to be a list or an object (for `with`: one that is not \
             empty), but is not",
        ),
    );
}

#[test]
fn variables_have_to_be_declared() {
    for source in [
        "\n{{b}}",
        "\n{{#if b}}{{/if}}",
        "\n{{#unless b}}{{/unless}}",
        "\n{{#if (and a b)}}{{/if}}",
        "\n{{#each b}}{{/each}}",
        "\n{{#each a}}{{../b}}{{/each}}",
        "\n{{#each a}}{{@root.b}}{{/each}}",
        "\n{{#each a}}x{{else}}{{b}}{{/each}}",
        "\n{{#if a}}x{{else if b}}y{{/if}}",
        "\n{{> p x=b}}",
        "\n{{> p b}}",
        "\n{{b.a}}",
        "\n{{this.b}}",
        "\n{{#if a}}{{else}}{{b}}{{/if}}",
        "\n{{./b}}",
        "\n{{#with a as |x|}}{{../b}}{{/with}}",
        "\n{{lookup a b}}",
        "\n{{else_b}}{{b}}",
    ] {
        let error = template("t", source, &["a"]).unwrap_err();
        if source.contains("else_b") {
            // Handlebars reads any tag that begins with `else` as one.
            assert!(matches!(error, Error::Syntax { .. }), "{source}: {error}");
            continue;
        }
        assert_eq!(
            error.to_string(),
            "template `t`, line 2: the variable `b` is not declared",
            "{source}"
        );
    }
    for source in [
        "{{#each a}}{{b}}{{/each}}",
        "{{#each a as |b|}}{{b}}{{/each}}",
        "{{#with a}}{{b}}{{/with}}",
        "{{#each a as |c b|}}{{#if b}}{{../b}}{{/if}}{{/each}}",
    ] {
        template("t", source, &["a"]).unwrap();
    }
}

#[test]
fn parameters_have_to_be_given_or_have_a_default() {
    let parameters = vec![
        Parameter::required("a", ""),
        Parameter::optional("b", "", "default"),
        Parameter::required("unused", ""),
    ];
    let mut templates = Templates::empty();
    templates
        .register(Template::new("t", "\n{{#if a}}{{a}}{{/if}} {{b}}", parameters).unwrap())
        .unwrap();
    for (values, expected) in [
        (json!({ "a": 1, "unused": 0 }), Ok("\n1 default")),
        (json!({ "a": 1, "b": null, "unused": 0 }), Ok("\n1 default")),
        (
            json!({ "a": null, "b": "x", "unused": null, "stray": {} }),
            Ok("\n x"),
        ),
        (
            json!({ "unused": 0 }),
            Err("template `t`, line 2: there is no value for `a`"),
        ),
        (
            json!({ "a": 0 }),
            Err("template `t`: there is no value for `unused`"),
        ),
        (
            json!(null),
            Err("template `t`, line 2: there is no value for `a`"),
        ),
        (
            json!([1]),
            Err("template `t`: the values cannot be used: they are not a struct or a map"),
        ),
    ] {
        let rendered = templates
            .render("t", &values)
            .map_err(|error| error.to_string());
        assert_eq!(
            rendered.as_deref().map_err(String::as_str),
            expected,
            "{values}"
        );
    }
    let twice = vec![Parameter::required("a", ""), Parameter::required("a", "")];
    assert!(matches!(
        Template::new("t", "", twice),
        Err(Error::Refused { .. })
    ));
}

#[test]
fn mistakes_are_found_when_the_template_is_made() {
    let mut all = String::new();
    for source in [
        "\n{{#if a}}\n\n",
        "x\n{{#if a}}\n{{/each}}",
        "\n{{a\n",
        "\n{{a",
        "\n{{/if}}",
        "{{}}",
        "{{a b=}}",
        "{{nope a}}",
        "{{#nope a}}{{/nope}}",
        "{{#a}}{{/a}}",
        "{{#if}}x{{/if}}",
        "{{#if a a}}x{{/if}}",
        "{{#each a b=1}}x{{/each}}",
        "{{#if (nope a)}}x{{/if}}",
        "{{log a}}",
        "{{#len a}}x{{/len}}",
        "{{if a}}",
        "{{> (lookup a 1)}}",
        "{{#> p}}x{{/p}}",
        "{{#*inline \"p\"}}x{{/inline}}",
        "{{* nope a}}",
        "{{> @partial-block}}",
        "{{> 'p'}}",
        "{{> p a a}}",
        "{{{{raw}}}}x{{{{/raw}}}}",
        "{{../a}}",
        "{{#each a}}{{../../a}}{{/each}}",
        "{{a.[0]}}",
        "{{#if (eq a \"\\\"\")}}x{{/if}}",
        "{{eq a {\"b\": 1}}}",
        "{{#if a as |b|}}x{{/if}}",
        "{{(a)}}",
    ] {
        let error = template("t", source, &["a"]).unwrap_err();
        writeln!(all, "{source:?}\n    {error}").unwrap();
    }
    insta::assert_snapshot!(all);
}
