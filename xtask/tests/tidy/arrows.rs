//! Arrows only point down: which crate of ours may depend on which, and which heavy dependency
//! belongs to whom.

use cargo_metadata::{DependencyKind, Package};

use crate::workspace::{cargo, crates, metadata, run};
use crate::{assert_clean, assert_found};

/// One crate and the crates of ours that it may use. What is not listed is forbidden.
struct Layer {
    name: &'static str,
    uses: &'static [&'static str],
    /// Beyond `uses`, in tests, examples and benchmarks. Each crate may use itself there, for
    /// `test-support`.
    tests_with: &'static [&'static str],
}

/// From the bottom up. A new crate gets a line here before it compiles in CI.
const LAYERS: &[Layer] = &[
    Layer {
        name: "harness-frontmatter",
        uses: &[],
        tests_with: &[],
    },
    Layer {
        name: "harness-prompt",
        uses: &["harness-frontmatter"],
        tests_with: &[],
    },
    Layer {
        name: "harness-skills",
        uses: &["harness-frontmatter"],
        tests_with: &[],
    },
    Layer {
        name: "harness-sandbox",
        uses: &[],
        tests_with: &[],
    },
    Layer {
        name: "harness-core",
        uses: &["harness-prompt"],
        tests_with: &[],
    },
    Layer {
        name: "harness-telemetry",
        uses: &["harness-core"],
        tests_with: &[],
    },
    Layer {
        name: "harness-tools",
        uses: &["harness-core", "harness-sandbox"],
        tests_with: &[],
    },
    Layer {
        name: "harness-providers",
        uses: &["harness-core"],
        tests_with: &[],
    },
    Layer {
        name: "harness-session",
        uses: &["harness-core", "harness-telemetry"],
        tests_with: &[],
    },
    Layer {
        name: "harness-trust",
        uses: &["harness-core"],
        tests_with: &[],
    },
    Layer {
        name: "harness-agent",
        uses: &[
            "harness-core",
            "harness-prompt",
            "harness-providers",
            "harness-sandbox",
            "harness-session",
            "harness-skills",
            "harness-telemetry",
            "harness-tools",
            "harness-trust",
        ],
        tests_with: &[],
    },
    Layer {
        name: "harness-cli",
        uses: &[
            "harness-agent",
            "harness-core",
            "harness-prompt",
            "harness-providers",
            "harness-sandbox",
            "harness-session",
            "harness-skills",
            "harness-telemetry",
            "harness-tools",
            "harness-trust",
        ],
        tests_with: &[],
    },
    Layer {
        name: "xtask",
        uses: &[],
        tests_with: &["harness-telemetry"],
    },
    Layer {
        name: "compile-tests",
        uses: &[],
        tests_with: &["harness-telemetry"],
    },
];

/// Heavy dependencies and the only crates whose manifests may name them.
const OWNERS: &[(&str, &[&str])] = &[
    ("clap", &["harness-cli"]),
    ("brush-parser", &["harness-trust"]),
    ("clap_builder", &["harness-cli"]),
    ("hyper", &["harness-providers"]),
    ("reqwest", &["harness-providers", "harness-telemetry"]),
    ("rustls", &["harness-providers", "harness-telemetry"]),
    ("gray_matter", &["harness-frontmatter"]),
    ("handlebars", &["harness-prompt"]),
    ("opentelemetry", &["harness-telemetry"]),
    ("opentelemetry-proto", &["harness-telemetry"]),
    ("opentelemetry_sdk", &["harness-telemetry"]),
    ("tonic", &["harness-telemetry"]),
    ("grep-searcher", &["harness-tools"]),
    ("ignore", &["harness-tools"]),
    ("image", &["harness-tools"]),
    ("landlock", &["harness-sandbox"]),
    ("saphyr-parser", &["harness-frontmatter"]),
    ("seccompiler", &["harness-sandbox"]),
];

/// Everything that the core may depend on. What does I/O has no place here, nor what brings it
/// along.
const CORE_USES: &[&str] = &[
    "aho-corasick",
    "async-trait",
    "base64",
    "bitflags",
    "futures",
    "harness-prompt",
    "jsonschema",
    "schemars",
    "serde",
    "serde_json",
    "thiserror",
    "tokio",
    "tokio-util",
];

/// The parts of `tokio` and `tokio-util` that touch nothing outside the process.
const TOKIO_WITHOUT_IO: &[&str] = &["macros", "rt", "sync", "time"];

/// A line of a manifest: who depends on what, and how.
#[derive(Clone)]
struct Arrow {
    from: String,
    to: String,
    in_tests: bool,
    features: Vec<String>,
}

fn arrows() -> Vec<Arrow> {
    let of_package = |package: &'static Package| {
        package.dependencies.iter().map(|dependency| Arrow {
            from: package.name.to_string(),
            to: dependency.name.clone(),
            in_tests: dependency.kind == DependencyKind::Development,
            features: dependency.features.clone(),
        })
    };
    metadata().packages.iter().flat_map(of_package).collect()
}

/// Arrows between our own crates that no layer allows, and crates without a layer.
fn upward(members: &[&str], arrows: &[Arrow]) -> Vec<String> {
    let mut problems = Vec::new();
    for member in members {
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == *member) else {
            problems.push(format!(
                "{member} has no layer: add it to LAYERS in tidy/arrows.rs"
            ));
            continue;
        };
        for arrow in arrows.iter().filter(|arrow| arrow.from == *member) {
            let to = arrow.to.as_str();
            let is_ours = members.contains(&to) || LAYERS.iter().any(|layer| layer.name == to);
            let allowed = layer.uses.contains(&to)
                || arrow.in_tests && (to == *member || layer.tests_with.contains(&to));
            if is_ours && !allowed {
                let how = if arrow.in_tests { "in tests" } else { "" };
                problems.push(format!("{member} may not depend on {to} {how}"));
            }
        }
    }
    problems
}

/// Arrows to a heavy dependency from a crate that does not own it.
fn strangers(arrows: &[Arrow]) -> Vec<String> {
    let mut problems = Vec::new();
    for Arrow { from, to, .. } in arrows {
        if let Some((_, owners)) = OWNERS.iter().find(|(name, _)| name == to)
            && !owners.contains(&from.as_str())
        {
            problems.push(format!(
                "{from} may not depend on {to}, which belongs to {owners:?}"
            ));
        }
    }
    problems
}

/// What the core depends on beyond its list.
fn core_extras(arrows: &[Arrow]) -> Vec<String> {
    let mut problems = Vec::new();
    for arrow in arrows
        .iter()
        .filter(|arrow| arrow.from == "harness-core" && !arrow.in_tests)
    {
        let Arrow { to, features, .. } = arrow;
        if !CORE_USES.contains(&to.as_str()) {
            problems.push(format!(
                "harness-core may not depend on {to}: see CORE_USES"
            ));
        }
        if to == "tokio" || to == "tokio-util" {
            let touching = features
                .iter()
                .filter(|it| !TOKIO_WITHOUT_IO.contains(&it.as_str()));
            problems.extend(
                touching.map(|it| format!("harness-core may not use the feature {it} of {to}")),
            );
        }
    }
    problems
}

/// Whether `name` is among the packages that `cargo tree --prefix none` printed.
fn is_in_tree(tree: &str, name: &str) -> bool {
    tree.lines()
        .any(|line| line.split(' ').next() == Some(name))
}

#[test]
fn arrows_between_our_crates_point_down() {
    let members: Vec<_> = metadata()
        .packages
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_clean(&upward(&members, &arrows()));
}

#[test]
fn heavy_dependencies_have_one_owner() {
    assert_clean(&strangers(&arrows()));
}

#[test]
fn the_core_depends_on_nothing_that_does_io() {
    assert_clean(&core_extras(&arrows()));
}

/// The crates below the core must fit into a program built on another runtime, or on none.
#[test]
fn prompt_and_skills_need_no_runtime() {
    for name in ["harness-frontmatter", "harness-prompt", "harness-skills"] {
        if !crates().any(|package| package.name == name) {
            continue;
        }
        let arguments = [
            "tree",
            "--package",
            name,
            "--all-features",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ];
        let tree = run(&cargo(), &arguments);
        assert!(is_in_tree(&tree, name), "an unexpected answer: {tree}");
        assert!(
            !is_in_tree(&tree, "tokio"),
            "{name} brings tokio along:\n{tree}"
        );
    }
}

/// Alone, typed spans are `tracing` and little else: no OpenTelemetry, no runtime, no other crate of ours.
#[test]
fn spans_alone_bring_little() {
    let tree = "tree --package harness-telemetry --edges normal --prefix none";
    let tree = run(&cargo(), &tree.split(' ').collect::<Vec<_>>());
    assert!(is_in_tree(&tree, "tracing"), "an unexpected answer: {tree}");
    for absent in [
        "harness-core",
        "opentelemetry",
        "regex",
        "tokio",
        "tracing-subscriber",
    ] {
        assert!(
            !is_in_tree(&tree, absent),
            "it brings {absent} along:\n{tree}"
        );
    }
}

/// What skills are parsed, compared and written with, beyond the standard library: ten crates at most.
const SKILLS_PARSE_WITH: [&str; 10] = [
    "arraydeque",
    "gray_matter",
    "saphyr-parser",
    "serde",
    "serde_core",
    "strsim",
    "thiserror",
    "tinyvec",
    "unicode-normalization",
    "unicode-segmentation",
];

/// What else they need: the kernel's calls.
const SKILLS_CALL_THE_KERNEL_WITH: [&str; 5] =
    ["bitflags", "errno", "libc", "linux-raw-sys", "rustix"];

/// The crates of a tree that `cargo tree --prefix none` printed, without ours, and without those that only
/// write code while others are compiled.
fn linked(tree: &str) -> Vec<&str> {
    const WHAT_MACROS_NEED: [&str; 4] = ["proc-macro2", "quote", "syn", "unicode-ident"];
    let is_linked = |line: &&str| !line.contains("(proc-macro)");
    let mut names: Vec<&str> = tree
        .lines()
        .filter(is_linked)
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.starts_with("harness-") && !WHAT_MACROS_NEED.contains(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn skills_parse_with_ten_crates_at_most() {
    let tree = "tree --package harness-skills --edges normal --prefix none";
    let tree = run(&cargo(), &tree.split(' ').collect::<Vec<_>>());
    let linked = linked(&tree);
    assert!(
        linked.contains(&"gray_matter"),
        "an unexpected answer: {tree}"
    );
    let more: Vec<_> = linked
        .into_iter()
        .filter(|name| {
            !SKILLS_PARSE_WITH.contains(name) && !SKILLS_CALL_THE_KERNEL_WITH.contains(name)
        })
        .map(|name| format!("harness-skills brings {name} along"))
        .collect();
    assert_clean(&more);
}

#[test]
fn finds_what_is_linked() {
    let tree = "harness-skills v0.1.0 (path)\nserde v1.0.0\nserde_derive v1.0.0 (proc-macro)\nsyn v3.0.0\n\
                serde v1.0.0 (*)\nnew v0.1.0\n";
    assert_eq!(linked(tree), ["new", "serde"]);
}

fn arrow(from: &str, to: &str) -> Arrow {
    Arrow {
        from: from.into(),
        to: to.into(),
        in_tests: false,
        features: vec![],
    }
}

#[test]
fn finds_an_arrow_that_points_up_or_aside() {
    let members = [
        "harness-core",
        "harness-tools",
        "harness-prompt",
        "harness-new",
    ];
    let in_tests = |from, to| Arrow {
        in_tests: true,
        ..arrow(from, to)
    };
    let arrows = [
        arrow("harness-core", "harness-core"),
        arrow("harness-core", "harness-tools"),
        arrow("harness-core", "serde"),
        in_tests("harness-core", "harness-core"),
        arrow("harness-tools", "harness-core"),
        arrow("harness-tools", "harness-prompt"),
        in_tests("harness-tools", "harness-agent"),
        in_tests("harness-tools", "harness-core"),
    ];
    assert_found(
        &upward(&members, &arrows),
        &[
            "harness-core may not depend on harness-core",
            "harness-core may not depend on harness-tools",
            "harness-tools may not depend on harness-prompt",
            "harness-tools may not depend on harness-agent in tests",
            "harness-new has no layer",
        ],
    );
}

#[test]
fn finds_a_heavy_dependency_with_a_stranger() {
    let arrows = [
        arrow("harness-providers", "reqwest"),
        arrow("harness-agent", "reqwest"),
        arrow("harness-cli", "clap"),
        arrow("xtask", "clap"),
    ];
    assert_found(
        &strangers(&arrows),
        &[
            "harness-agent may not depend on reqwest",
            "xtask may not depend on clap",
        ],
    );
}

#[test]
fn finds_io_in_the_core() {
    let tokio = |features: &[&str]| Arrow {
        features: features.iter().map(ToString::to_string).collect(),
        ..arrow("harness-core", "tokio")
    };
    let arrows = [
        arrow("harness-core", "tempfile"),
        arrow("harness-tools", "tempfile"),
        Arrow {
            in_tests: true,
            ..arrow("harness-core", "insta")
        },
        tokio(&["sync", "time"]),
        tokio(&["fs", "rt"]),
    ];
    assert_found(
        &core_extras(&arrows),
        &["depend on tempfile", "the feature fs of tokio"],
    );
}

#[test]
fn finds_a_package_in_a_tree() {
    let tree = "harness-prompt v0.1.0 (path)\ntokio-util v0.7.0\nserde v1.0.0\n";
    assert!(is_in_tree(tree, "serde"));
    assert!(!is_in_tree(tree, "tokio"));
    assert!(is_in_tree(&format!("{tree}tokio v1.54.0 (*)"), "tokio"));
}
