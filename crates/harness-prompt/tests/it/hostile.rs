//! Templates and values that mean harm.

use harness_prompt::{Error, Limits, MAX_NESTING, MAX_SOURCE_BYTES, Templates};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{render, render_one, template};

fn is_limit(error: &Error) -> bool {
    matches!(error, Error::Limit { .. })
}

/// A template from a project can neither read files nor run for long.
#[test]
fn prompt_10_a_template_has_no_way_out() {
    let folder = std::env::temp_dir().join(format!("harness-prompt-10-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let secret = folder.join("secret.hbs");
    std::fs::write(&secret, "CANARY").unwrap();
    let path = secret.display().to_string();
    for source in [
        "{{> PATH}}",
        "{{> ../../../../../../etc/passwd}}",
        "{{include \"PATH\"}}",
        "{{import \"PATH\"}}",
        "{{file \"PATH\"}}",
        "{{> 'PATH'}}",
        "{{#> PATH}}x{{/PATH}}",
        "{{lookup this \"constructor\"}}",
        "{{this.constructor}}",
        "{{@root.__proto__}}",
        "{{env.HOME}}",
        "{{log this}}",
    ] {
        let source = source.replace("PATH", &path);
        let rendered = render_one(&source, &json!({}));
        assert!(rendered.is_err(), "{source}: {rendered:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn prompt_10_a_template_cannot_run_for_long() {
    let list: Vec<u32> = (0..2000).collect();
    let text = "x".repeat(1000);
    let nested = |body: &str| {
        format!(
            "{{{{#each l}}}}{{{{#each ../l}}}}{{{{#each ../../l}}}}{body}{{{{/each}}}}{{{{/each}}}}{{{{/each}}}}"
        )
    };
    let values = json!({ "l": list, "t": text });
    let mut limits = Limits::default();
    limits.steps /= 10;
    for body in ["", "x", "{{@root.t}}", "{{#if @root.t}}{{/if}}", "{{> p}}"] {
        let mut templates = Templates::empty().with_limits(limits.clone());
        templates.register(template("p", "", &[]).unwrap()).unwrap();
        templates
            .register(template("t", &nested(body), &["l", "t"]).unwrap())
            .unwrap();
        let error = templates.render("t", &values).unwrap_err();
        assert!(is_limit(&error), "{body}: {error}");
    }
    // Each template includes the next one twice, and writes nothing.
    let mut templates = Templates::empty();
    for level in 0..60 {
        let source = format!("{{{{> t{0}}}}}{{{{> t{0}}}}}", level + 1);
        templates
            .register(template(&format!("t{level}"), &source, &[]).unwrap())
            .unwrap();
    }
    templates
        .register(template("t60", "", &[]).unwrap())
        .unwrap();
    assert!(is_limit(&templates.render("t0", &()).unwrap_err()));
    // Each template gives the next one the values several times over.
    let mut templates = Templates::empty();
    for level in 0..30 {
        let source = format!("{{{{> t{} a=this b=this c=this}}}}", level + 1);
        templates
            .register(template(&format!("t{level}"), &source, &["a", "b", "c"]).unwrap())
            .unwrap();
    }
    templates
        .register(template("t30", "", &["a", "b", "c"]).unwrap())
        .unwrap();
    let values = json!({ "a": text, "b": 0, "c": 0 });
    assert!(is_limit(&templates.render("t0", &values).unwrap_err()));
    // Large values, handled again and again.
    let values =
        json!({ "l": list, "t": "x".repeat(1_500_000), "o": { "t": "x".repeat(1_500_000) } });
    for body in [
        "{{> p b=@root.t}}",
        "{{#if (eq @root.t @root.t)}}{{/if}}",
        "{{#gte @root.t @root.t}}{{/gte}}",
        "{{#if (lookup @root.o \"t\")}}{{/if}}",
        "{{#with (lookup @root.o \"t\")}}{{#if this}}{{/if}}{{/with}}",
    ] {
        let mut templates = Templates::empty();
        templates
            .register(template("p", "{{#if b}}{{/if}}", &["b"]).unwrap())
            .unwrap();
        templates
            .register(template("t", &nested(body), &["l", "t", "o"]).unwrap())
            .unwrap();
        let error = templates.render("t", &values).unwrap_err();
        assert!(is_limit(&error), "{body}: {error}");
    }
}

/// What makes the parser slow: each of these took it from ten seconds to hours.
#[test]
fn prompt_10_a_source_that_takes_long_to_parse_is_refused() {
    let bytes = MAX_SOURCE_BYTES - 10;
    for source in [
        "\\".repeat(bytes),
        "x\\\\".repeat(10) + &"\\".repeat(20) + "{{a}}",
        "x".repeat(bytes / 2) + &"{{a}}".repeat(bytes / 10),
        "{{a}}".repeat(bytes / 5),
        " \n{{!}}\n".repeat(bytes / 8),
    ] {
        let refused = template("t", &source, &["a"]).is_err();
        assert!(refused, "{source:.40}");
    }
    for source in [
        "\\".repeat(16) + " x\\y",
        "x".repeat(bytes - 500) + &"{{a}}".repeat(100),
        "{{a}}".repeat(2_000),
        "line of text\n".repeat(bytes / 13),
    ] {
        let made = template("t", &source, &["a"]);
        assert!(made.is_ok(), "{made:?}");
    }
}

/// The dearest templates there are, at the default limits: each ends within about a second in a debug
/// build, by the count of steps.
#[test]
fn prompt_10_the_worst_template_ends_in_time() {
    let values = json!({
        "l": (0..2000).collect::<Vec<u32>>(),
        "o": { "a": { "b": { "c": { "d": 1 } } } },
        "m": "x".repeat(4000),
        "big": "x".repeat(1_500_000),
    });
    let many = "@root.o ".repeat(16);
    let deep = format!("{}1{}", "(not ".repeat(28), ")".repeat(28));
    for body in [
        "",
        "{{> p b=@root.o}}",
        "{{> p b=@root.m}}",
        "{{@root.o.a.b.c.d}}",
        "{{#with @root.o as |a|}}{{a.a.b.c.d}}{{/with}}",
        "{{#each @root.o}}{{/each}}",
        "{{#if (lookup @root.l 3)}}{{/if}}",
        "{{#if (eq @root.l @root.l)}}{{/if}}",
        "{{#if (eq @root.big @root.big)}}{{/if}}",
        "{{len @root.l}}",
        &format!("{{{{#if (and {many})}}}}{{{{/if}}}}"),
        &format!("{{{{#if {deep}}}}}{{{{/if}}}}"),
    ] {
        let source =
            format!("{{{{#each l}}}}{{{{#each @root.l}}}}{body}{{{{/each}}}}{{{{/each}}}}");
        let mut templates = Templates::empty();
        templates
            .register(template("p", "{{#if b}}{{/if}}", &["b"]).unwrap())
            .unwrap();
        templates
            .register(template("t", &source, &["l", "o", "m", "big"]).unwrap())
            .unwrap();
        let error = templates.render("t", &values).unwrap_err();
        assert!(is_limit(&error), "{body}: {error}");
    }
}

#[test]
fn data_is_never_rendered_again() {
    let hostile = "{{b}} {{> p}} {{#each l}}x{{/each}} {{{b}}} \\{{b}} {{nope";
    let values = json!({ "a": hostile, "b": "SECRET", "l": [hostile] });
    let page = "{{a}}|{{> p b=a}}|{{#each l}}{{this}}{{/each}}|{{lookup l 0}}";
    let templates = [("t", page, &["a", "b", "l"][..]), ("p", "{{b}}", &["b"])];
    let rendered = render(&templates, &values).unwrap();
    assert_eq!(rendered, [hostile; 4].join("|"));
    // Nor is a value's name, nor what stands where a template is named.
    assert_eq!(
        render_one(
            "{{#each a}}{{@key}}{{/each}}",
            &json!({ "a": { "{{b}}": 1 } })
        )
        .unwrap(),
        "{{b}}"
    );
}

#[test]
fn the_output_is_bounded_not_cut() {
    let mut limits = Limits::default();
    limits.output_bytes = 10;
    let mut templates = Templates::empty().with_limits(limits);
    templates
        .register(template("t", "{{#each l}}{{this}}{{/each}}", &["l"]).unwrap())
        .unwrap();
    let values = |count: usize| json!({ "l": vec!["ab"; count] });
    assert_eq!(templates.render("t", &values(5)).unwrap(), "ababababab");
    insta::assert_snapshot!(
        templates.render("t", &values(6)).unwrap_err(),
        @"template `t`, line 1: the size of the rendered text, in bytes, is limited to 10"
    );
}

#[test]
fn values_are_bounded() {
    let mut limits = Limits::default();
    limits.value_bytes = 1000;
    let mut templates = Templates::empty().with_limits(limits);
    templates
        .register(template("t", "{{#if v}}ok{{/if}}", &["v"]).unwrap())
        .unwrap();
    assert_eq!(
        templates
            .render("t", &json!({ "v": "x".repeat(900) }))
            .unwrap(),
        "ok"
    );
    assert!(is_limit(
        &templates
            .render("t", &json!({ "v": "x".repeat(1000) }))
            .unwrap_err()
    ));
    assert!(is_limit(
        &templates
            .render("t", &json!({ "v": vec![0; 100] }))
            .unwrap_err()
    ));
    let deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
    let mut templates = Templates::empty();
    templates
        .register(template("t", "{{#if v}}ok{{/if}}", &["v"]).unwrap())
        .unwrap();
    assert!(is_limit(
        &templates.render("t", &json!({ "v": deep })).unwrap_err()
    ));
}

/// Each of these overflows the stack of handlebars' parser, or of what walks its result.
#[test]
fn deep_nesting_is_refused_before_it_is_parsed() {
    let times = 10_000;
    for (open, close) in [
        ("{{#if a}}", "{{/if}}"),
        ("{{~ #if a}}", "{{/if}}"),
        ("{{#if a}}{{!-- {{/if}} --}}", "{{/if}}"),
        ("{{#if a}}{{! {{/if}}", "{{/if}}"),
        ("{{#if a}}\\{{/if}}", "{{/if}}"),
        ("{{#if \"{{/if}}\"}}", "{{/if}}"),
        ("{{#if '}} {{/if}}'}}", "{{/if}}"),
        ("{{#if a}}{{else}}", "{{/if}}"),
        ("{{#*inline \"a\"}}", "{{/inline}}"),
        ("{{#> a}}", "{{/a}}"),
        ("{{{{raw}}}}{{/if}}{{{{/raw}}}}{{#if a}}", "{{/if}}"),
    ] {
        let source = format!("{}{}", open.repeat(times), close.repeat(times));
        let error = template("t", &source, &["a"]).unwrap_err();
        assert!(
            matches!(error, Error::Limit { .. } | Error::Refused { .. }),
            "{open}: {error}"
        );
    }
    for source in [
        format!("{{{{#if a}}}}{}{{{{/if}}}}", "{{else if a}}".repeat(times)),
        format!(
            "{{{{#if {}a{}}}}}{{{{/if}}}}",
            "(not ".repeat(times),
            ")".repeat(times)
        ),
        format!("{{{{#if {}a", "(".repeat(times)),
        format!("{{{{eq a {}", "[".repeat(times)),
        format!("{{{{eq a {}", "{\"a\":".repeat(times)),
        format!("{{{{eq a {}", "\"{{/if}}\" (".repeat(times)),
    ] {
        let error = template("t", &source, &["a"]).unwrap_err();
        assert!(
            matches!(error, Error::Limit { .. } | Error::Refused { .. }),
            "{error}"
        );
    }
    let deepest = format!(
        "{}x{}",
        "{{#if a}}".repeat(MAX_NESTING),
        "{{/if}}".repeat(MAX_NESTING)
    );
    assert_eq!(render_one(&deepest, &json!({ "a": 1 })).unwrap(), "x");
    // Long is not deep.
    let long = "{{#if a}}x{{else}}y{{/if}} (((({{a}} ".repeat(400);
    assert!(render_one(&long, &json!({ "a": 1 })).is_ok());
    let parts = "{{#if a}}x{{else if a}}y{{/if}}".repeat(400);
    assert!(render_one(&parts, &json!({ "a": 1 })).is_ok());
    assert!(is_limit(
        &template("t", &"x".repeat(MAX_SOURCE_BYTES + 1), &[]).unwrap_err()
    ));
}

/// Blocks around a partial nest with those in it: the deepest that is allowed has to render within a
/// test thread's 2 MiB of stack.
#[test]
fn deep_partials_are_refused() {
    let around = |inner: &str, levels: usize| {
        format!(
            "{}{inner}{}",
            "{{#if a}}".repeat(levels),
            "{{/if}}".repeat(levels)
        )
    };
    let mut deepest = 0;
    for levels in 0..=MAX_NESTING {
        let mut templates = Templates::empty();
        templates
            .register(template("t2", &around("x", levels), &["a"]).unwrap())
            .unwrap();
        for (name, next) in [("t1", "{{> t2}}"), ("t0", "{{> t1}}")] {
            let registered =
                templates.register(template(name, &around(next, levels), &["a"]).unwrap());
            if registered.is_err() {
                break;
            }
        }
        match templates.render("t0", &json!({ "a": 1 })) {
            Ok(rendered) => {
                assert_eq!(rendered, "x");
                deepest = levels;
            }
            Err(error) => {
                assert!(is_limit(&error) || matches!(error, Error::UnknownTemplate { .. }));
            }
        }
    }
    assert_eq!(deepest, 20);
    let mut templates = Templates::empty();
    for level in (0..1000).rev() {
        let source = format!("{{{{> t{}}}}}", level + 1);
        if let Err(error) =
            templates.register(template(&format!("t{level}"), &source, &[]).unwrap())
        {
            assert!(is_limit(&error));
        }
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "{{",
        "}}",
        "{{{",
        "}}}",
        "{{#",
        "{{/",
        "{{~",
        "~}}",
        "{{else",
        "{{^",
        "{{>",
        "{{!",
        "{{!--",
        "--}}",
        "{{#if a}}",
        "{{/if}}",
        "{{#each l}}",
        "{{/each}}",
        "{{else}}",
        "{{a}}",
        "{{#with o}}",
        "{{/with}}",
        "{{> p}}",
        "{{> p a=a}}",
        "{{else if a}}",
        "{{&a}}",
        "{{*",
        "{{#*",
        "{{#>",
        "{{{{",
        "}}}}",
        "\\",
        "\\{{",
        "(",
        ")",
        "[",
        "]",
        "\"",
        "'",
        "if",
        "each",
        "eq",
        "a",
        "l",
        "o",
        "this",
        "@index",
        "@root",
        "..",
        "/",
        ".",
        "|",
        "as",
        "=",
        " ",
        "\n",
        "\r\n",
        "\t",
        "é",
        "\u{1f600}",
        "1",
        "true",
        "null",
        "-",
        "lookup ",
    ]);
    prop::collection::vec(fragment, 0..40).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the source: an answer or an error, never a panic, never a tag that shows.
    #[test]
    fn any_source_ends_well(source in fragments()) {
        let values = json!({ "a": "A", "l": [{ "a": 1 }, { "a": 2 }], "o": { "a": 3 } });
        let names = ["a", "l", "o"];
        let Ok(made) = template("t", &source, &names) else { return Ok(()) };
        let mut templates = Templates::empty();
        templates.register(template("p", "<{{a}}>", &["a"]).unwrap()).unwrap();
        if templates.register(made).is_ok() {
            let rendered = templates.render("t", &values);
            if let Err(error) = rendered {
                prop_assert!(!matches!(error, Error::UnknownTemplate { .. }), "{}", error);
            }
        }
    }

    /// Whatever the values hold comes out as it went in.
    #[test]
    fn any_text_comes_out_unchanged(text in "\\PC*|[{}#/>! a-z\\\\\n]*") {
        let rendered = render_one("{{a}}{{#each l}}{{this}}{{/each}}", &json!({ "a": text, "l": [text] }));
        prop_assert_eq!(rendered.unwrap(), text.repeat(2));
    }
}

#[test]
fn sizes_of_values_are_told_before_rendering() {
    let values: Value = json!({ "a": "x".repeat(5_000_000) });
    let error = render(&[("t", "{{a}}", &["a"])], &values).unwrap_err();
    insta::assert_snapshot!(error, @"template `t`: the size of the values, in bytes, is limited to 4194304");
}
