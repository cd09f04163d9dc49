//! The figure of the benchmark `middleware` of `harness-core`, read off what criterion wrote.

use std::fs;
use std::path::Path;

use serde_json::Value;
use xshell::cmd;

use crate::bench::figure::{Figure, time};
use crate::bench::measure::MIDDLEWARE;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The names, after the last slash, of the benchmarks that count.
const BARE: &str = "bare";
const FILTERED: &str = "ten_filtered";
const UNFILTERED: &str = "ten_unfiltered";

/// Builds the benchmark, if it is there; [`measure`] says when it is not.
pub(crate) fn build(workspace: &Workspace, metadata: &Value) -> Result<(), Failure> {
    if !is_there(metadata) {
        return Ok(());
    }
    let sh = &workspace.shell;
    workspace.run(cmd!(
        sh,
        "cargo bench --package harness-core --bench middleware --no-run"
    ))
}

/// Runs the benchmark, and takes the cost of ten filtered middlewares beyond none.
pub(crate) fn measure(workspace: &Workspace, metadata: &Value) -> Result<Vec<Figure>, Failure> {
    if !is_there(metadata) {
        return Err(Failure::new("harness-core has no benchmark `middleware`"));
    }
    let sh = &workspace.shell;
    // A folder of its own, so that no estimate of another day is read.
    let folder = sh.create_temp_dir()?;
    let arguments = "--noplot --quiet --warm-up-time 1 --measurement-time 3".split(' ');
    let bench = cmd!(
        sh,
        "cargo bench --quiet --package harness-core --bench middleware -- {arguments...}"
    );
    workspace.run(bench.env("CRITERION_HOME", folder.path()))?;
    figure(&estimates(folder.path()))
        .map(|figure| vec![figure])
        .ok_or_else(|| {
            let wanted = format!("{BARE}, {FILTERED}, {UNFILTERED}");
            Failure::new(format!("the benchmark `middleware` must have: {wanted}"))
        })
}

fn figure(estimates: &[Estimate]) -> Option<Figure> {
    let named = |name| {
        estimates
            .iter()
            .find(|it| it.name.rsplit('/').next() == Some(name))
    };
    let bare = named(BARE)?.nanoseconds;
    let beyond = |estimate: &Estimate| (estimate.nanoseconds - bare).max(0.0);
    let (filtered, unfiltered) = (beyond(named(FILTERED)?), beyond(named(UNFILTERED)?));
    let measured = format!(
        "{} (unfiltered {})",
        time(filtered * 1e-9),
        time(unfiltered * 1e-9)
    );
    Some(MIDDLEWARE.measured(measured).met(filtered < 50.0))
}

/// One benchmark: its path under criterion's folder, and its median in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) name: String,
    pub(crate) nanoseconds: f64,
}

/// All estimates below `folder`, by name.
pub(crate) fn estimates(folder: &Path) -> Vec<Estimate> {
    let mut found = Vec::new();
    collect(folder, folder, &mut found);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Estimate>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|it| it.is_dir()) {
        // Beside `new`, criterion keeps copies for its comparisons.
        if path.ends_with("new") {
            let text = fs::read_to_string(path.join("estimates.json")).unwrap_or_default();
            let name = folder.strip_prefix(root).unwrap_or(folder);
            found.extend(median(&text).map(|nanoseconds| Estimate {
                name: name.display().to_string(),
                nanoseconds,
            }));
        } else {
            collect(root, &path, found);
        }
    }
}

fn median(estimates: &str) -> Option<f64> {
    let estimates: Value = serde_json::from_str(estimates).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}

/// Whether `metadata` knows of the benchmark.
pub(crate) fn is_there(metadata: &Value) -> bool {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter(|package| package["name"] == "harness-core")
        .flat_map(|package| package["targets"].as_array().into_iter().flatten())
        .any(|target| target["name"] == "middleware" && target["kind"][0] == "bench")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use xshell::Shell;

    use super::{Estimate, estimates, figure, is_there};

    #[test]
    fn finds_what_criterion_wrote() {
        let folder = Shell::new().unwrap().create_temp_dir().unwrap();
        let write = |path: &str, median: f64| {
            let folder = folder.path().join(path);
            fs::create_dir_all(&folder).unwrap();
            let text = json!({"median": {"point_estimate": median}}).to_string();
            fs::write(folder.join("estimates.json"), text).unwrap();
        };
        write("group/two/new", 2.5);
        write("group/two/base", 9.0);
        write("group/one/new", 1.5);
        let estimate = |name: &str, nanoseconds| Estimate {
            name: name.into(),
            nanoseconds,
        };
        assert_eq!(
            estimates(folder.path()),
            [estimate("group/one", 1.5), estimate("group/two", 2.5)]
        );
    }

    #[test]
    fn the_figure_is_the_cost_beyond_no_middleware() {
        let of = |figures: &[(&str, f64)]| {
            let estimate = |&(name, nanoseconds): &(&str, f64)| Estimate {
                name: format!("middleware/{name}"),
                nanoseconds,
            };
            figure(&figures.iter().map(estimate).collect::<Vec<_>>())
        };
        let all = [
            ("bare", 100.0),
            ("ten_filtered", 104.0),
            ("ten_unfiltered", 378.0),
        ];
        let figure = of(&all).unwrap();
        assert!(figure.is_met());
        assert!(format!("{figure:?}").contains("4.00 ns (unfiltered 278 ns)"));
        assert!(
            !of(&[all[0], ("ten_filtered", 151.0), all[2]])
                .unwrap()
                .is_met()
        );
        assert!(of(&all[1..]).is_none());
    }

    #[test]
    fn knows_whether_the_benchmark_is_there() {
        let metadata = |target: &str, kind: &str| {
            json!({"packages": [{
                "name": "harness-core",
                "targets": [{"name": target, "kind": [kind]}],
            }]})
        };
        assert!(is_there(&metadata("middleware", "bench")));
        assert!(!is_there(&metadata("middleware", "test")));
        assert!(!is_there(&metadata("loop", "bench")));
        assert!(!is_there(&json!({"packages": []})));
    }
}
