//! What a search over a folder leaves out.

use harness_agent::core::ToolOutcome;
use harness_trust::Verdict;
use serde_json::json;

use crate::permitted::{ONCE, Place, answers, call, is_done};

/// Files that all hold the word, of which only `open.txt` and `src/open.rs` may be read without more.
fn with_secrets() -> Place {
    let place = Place::new();
    let ws = place.ws();
    for folder in ["src", ".ssh", "keys"] {
        std::fs::create_dir(ws.join(folder)).unwrap();
    }
    for file in [
        "open.txt",
        "src/open.rs",
        ".env",
        "src/.env.local",
        "id_rsa",
        "keys/server.pem",
        ".ssh/config",
        "denied.txt",
        "src/asked.txt",
        ".env.example",
    ] {
        std::fs::write(ws.join(file), format!("canary in {file}\n")).unwrap();
    }
    std::os::unix::fs::symlink(ws.join(".env"), ws.join("link.txt")).unwrap();
    std::os::unix::fs::symlink(place.outside(), ws.join("out")).unwrap();
    place
}

const RULES: &[(Verdict, &str)] = &[
    (Verdict::Deny, "read(denied.txt)"),
    (Verdict::Ask, "read(src/asked.txt)"),
];

/// The files with matches, of a search in `path`.
async fn found(place: &Place, rules: &[(Verdict, &str)], path: &str) -> Vec<String> {
    let approver = answers([]);
    let agent = place.agent(rules, &approver);
    let outcome = call(&agent, "grep", &json!({"pattern": "canary", "path": path})).await;
    assert!(is_done(&outcome), "{outcome:?}");
    assert!(approver.questions().is_empty());
    let shown = outcome.shown_text();
    let names = shown
        .lines()
        .filter_map(|line| line.split_once("canary in ").map(|it| it.1.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_search_leaves_out_what_may_not_be_read_by_itself() {
    let place = with_secrets();
    let open = [".env.example", "open.txt", "src/open.rs"];
    let all = found(&place, RULES, ".").await;
    // Hidden files are searched or not as the tool likes; what is searched may be read.
    let all: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|it| *it != ".env.example")
        .collect();
    assert_eq!(all, open[1..]);
    assert_eq!(found(&place, RULES, "src").await, ["src/open.rs"]);
    assert_eq!(found(&place, RULES, "keys").await, [""; 0]);
    // By an absolute path as well.
    let whole = place.ws().display().to_string();
    assert!(
        !found(&place, RULES, &whole)
            .await
            .iter()
            .any(|it| it.contains("denied"))
    );
    // The same without rules of one's own: those two are files like others.
    let all = found(&place, &[], ".").await;
    assert!(all.contains(&"denied.txt".to_owned()) && all.contains(&"src/asked.txt".to_owned()));
    assert!(
        !all.iter()
            .any(|it| it.contains("id_rsa") || it.contains("pem") || *it == ".env")
    );
}

#[tokio::test]
async fn a_rule_that_allows_one_puts_it_back() {
    let place = with_secrets();
    for (rule, file) in [
        ("read(id_rsa)", "id_rsa"),
        ("read(keys/*.pem)", "keys/server.pem"),
        ("read", "id_rsa"),
    ] {
        let all = found(&place, &[(Verdict::Allow, rule)], ".").await;
        assert!(all.contains(&file.to_owned()), "{rule}: {all:?}");
    }
    let rules = [(Verdict::Allow, "read"), (Verdict::Deny, "read(id_rsa)")];
    let all = found(&place, &rules, ".").await;
    assert!(
        all.contains(&"keys/server.pem".to_owned()) && !all.contains(&"id_rsa".to_owned()),
        "{all:?}"
    );
}

#[tokio::test]
async fn a_secret_file_that_is_named_is_asked_about() {
    let place = with_secrets();
    for (tool, arguments) in [
        ("grep", json!({"pattern": "canary", "path": ".env"})),
        ("grep", json!({"pattern": "canary", "path": "link.txt"})),
        ("grep", json!({"pattern": "canary", "path": ".ssh"})),
        ("read", json!({"path": ".env"})),
        ("read", json!({"path": "link.txt"})),
        ("read", json!({"path": "id_rsa"})),
        ("read", json!({"path": "src/asked.txt"})),
    ] {
        let approver = answers([]);
        let outcome = call(&place.agent(RULES, &approver), tool, &arguments).await;
        assert!(
            matches!(outcome, ToolOutcome::Denied { .. }),
            "{tool} {arguments}: {outcome:?}"
        );
        assert!(!outcome.shown_text().contains("canary"), "{outcome:?}");
        assert_eq!(approver.questions().len(), 1, "{tool} {arguments}");
        // With a yes it is read.
        let approver = answers([ONCE]);
        let outcome = call(&place.agent(RULES, &approver), tool, &arguments).await;
        assert!(
            outcome.shown_text().contains("canary in "),
            "{tool} {arguments}: {outcome:?}"
        );
    }
    // But for what a rule denies.
    let approver = answers([ONCE]);
    let agent = place.agent(&[(Verdict::Deny, "read(.ssh/config)")], &approver);
    let outcome = call(
        &agent,
        "grep",
        &json!({"pattern": "canary", "path": ".ssh"}),
    )
    .await;
    assert!(!outcome.shown_text().contains("canary in"), "{outcome:?}");
    assert_eq!(approver.left(), 0);
    // With a rule nobody is asked.
    let approver = answers([]);
    let agent = place.agent(&[(Verdict::Allow, "read(.env)")], &approver);
    for path in [".env", "link.txt"] {
        let outcome = call(&agent, "grep", &json!({"pattern": "canary", "path": path})).await;
        assert!(
            outcome.shown_text().contains("canary in .env"),
            "{outcome:?}"
        );
    }
    assert!(approver.questions().is_empty());
    // One that a rule denies is named by nobody.
    let outcome = call(
        &place.agent(RULES, &approver),
        "grep",
        &json!({"pattern": "x", "path": "denied.txt"}),
    )
    .await;
    assert!(
        outcome.shown_text().contains("deny read(denied.txt)"),
        "{outcome:?}"
    );
    assert!(approver.questions().is_empty());
}

/// SEC-04: a link in a folder is not gone through.
#[tokio::test]
async fn sec_04_a_search_over_the_workspace_stays_in_it() {
    let place = with_secrets();
    let approver = answers([]);
    let agent = place.agent(&[], &approver);
    for (tool, arguments) in [
        ("grep", json!({"pattern": "^canary$"})),
        ("grep", json!({"pattern": "^canary$", "glob": "**/f"})),
        ("find", json!({"pattern": "**/f"})),
        ("find", json!({"pattern": "out/*"})),
    ] {
        let outcome = call(&agent, tool, &arguments).await;
        assert!(is_done(&outcome), "{outcome:?}");
        let shown = outcome.shown_text();
        assert!(
            !shown.contains("out/f") && !shown.contains("canary\n"),
            "{tool} {arguments}: {shown}"
        );
    }
    assert!(approver.questions().is_empty());
}
