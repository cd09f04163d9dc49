//! What a template costs: the default system prompt with twenty tools, whole; and a text of a hundred
//! lines beside what `format!` takes for the same bytes, for the ratio of the two.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use harness_prompt::{Parameter, SystemPromptValues, Template, Templates, ToolHint};
use serde_json::json;

/// To stay under 100 µs.
fn system_prompt(criterion: &mut Criterion) {
    let templates = Templates::new();
    // The tools of the default agent say all in their schemas; those of others may come with hints.
    for (name, hint) in [
        ("20_tools", ""),
        (
            "20_tools_with_hints",
            "It does what its name says, and nothing else.",
        ),
    ] {
        let names = ["read", "write", "edit", "bash", "grep", "find", "ls"];
        let names = names.into_iter().map(str::to_owned);
        let values = SystemPromptValues {
            tools: names
                .chain((7..20).map(|number| format!("tool_{number}")))
                .map(|name| ToolHint {
                    hint: hint.to_owned(),
                    name,
                })
                .collect(),
            working_dir: "/home/ada/project".into(),
            platform: "linux".into(),
            temporary_folder: "/tmp".into(),
        };
        criterion.bench_function(&format!("system_prompt/{name}"), |bencher| {
            bencher.iter(|| templates.render("system-prompt", &black_box(&values).to_value()));
        });
    }
}

fn beside_format(criterion: &mut Criterion) {
    let mut templates = Templates::empty();
    let source = "# {{title}}\n{{#each items}}\n- {{name}}: {{text}}\n{{/each}}\n";
    let parameters = vec![
        Parameter::required("title", "the first line"),
        Parameter::required("items", "a list of `{name, text}`"),
    ];
    let template = Template::new("list", source, parameters);
    let registered = template.and_then(|template| templates.register(template));
    assert!(registered.is_ok(), "{registered:?}");
    let items: Vec<(String, String)> = (0..100)
        .map(|number| {
            (
                format!("name {number}"),
                format!("what is said of {number}"),
            )
        })
        .collect();
    let values = json!({
        "title": "A list",
        "items": items
            .iter()
            .map(|(name, text)| json!({ "name": name, "text": text }))
            .collect::<Vec<_>>(),
    });
    let formatted = || {
        let mut text = format!("# {}\n", black_box("A list"));
        for (name, line) in black_box(&items) {
            let _ = writeln!(text, "- {name}: {line}");
        }
        text
    };
    let rendered = templates.render("list", &values);
    assert_eq!(rendered.as_deref(), Ok(formatted().as_str()));
    let mut group = criterion.benchmark_group("100_lines");
    group.bench_function("render", |bencher| {
        bencher.iter(|| templates.render("list", black_box(&values)));
    });
    group.bench_function("format", |bencher| bencher.iter(formatted));
    group.finish();
}

criterion_group!(benches, system_prompt, beside_format);
criterion_main!(benches);
