//! The step `features`: every crate compiles alone, with no feature and with each one of its
//! features.
//!
//! The other steps build the whole workspace at once, where one crate's features of a shared
//! dependency hide that another forgot to ask for them.

use serde_json::Value;
use xshell::cmd;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// One package and one of its features, or none.
#[derive(Debug, PartialEq, Eq)]
struct Combination {
    package: String,
    feature: Option<String>,
}

pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let sh = &workspace.shell;
    let metadata = workspace.read(cmd!(sh, "cargo metadata --no-deps --format-version 1"))?;
    for Combination { package, feature } in combinations(&serde_json::from_str(&metadata)?) {
        let features = feature.iter().flat_map(|feature| ["--features", feature]);
        // Clippy rather than `cargo check`: it alone denies warnings without another build of all
        // dependencies.
        workspace.run(cmd!(
            sh,
            "cargo clippy --package {package} --no-default-features {features...} -- -D warnings"
        ))?;
    }
    Ok(())
}

/// What to check, read off the answer of `cargo metadata`.
fn combinations(metadata: &Value) -> Vec<Combination> {
    let mut combinations = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(name) = package["name"].as_str() else {
            continue;
        };
        let features = package["features"]
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys());
        combinations.extend(
            std::iter::once(None)
                .chain(features.map(|feature| Some(feature.clone())))
                .map(|feature| Combination {
                    package: name.to_owned(),
                    feature,
                }),
        );
    }
    combinations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::combinations;

    #[test]
    fn none_and_each_feature_of_each_package() {
        let metadata = json!({"packages": [
            {"name": "plain", "features": {}},
            {"name": "rich", "features": {"default": ["a"], "a": [], "b": ["dep:c"]}},
        ]});
        let found: Vec<_> = combinations(&metadata)
            .into_iter()
            .map(|it| format!("{} {}", it.package, it.feature.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            found,
            ["plain -", "rich -", "rich a", "rich b", "rich default"]
        );
    }
}
