//! The page, looked at in a real browser.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::browser::Browser;
use crate::export::{hostile_sample, page};
use crate::kept::sample;

/// Told of every error before any other script runs.
const WATCH: &str = "<script>window.failures = []; \
    window.addEventListener('error', (event) => window.failures.push(String(event.message)));</script>";

/// Measures the page and tells the page around it.
const MEASURE: &str = include_str!("measure.js");

/// The page in a frame of this width: a browser without a window is never narrower than it likes.
fn framed(browser: &Browser, html: &str, width: u32) -> std::path::PathBuf {
    let policy_start = html
        .find("<meta http-equiv=\"Content-Security-Policy\"")
        .unwrap();
    let policy_end = policy_start + html[policy_start..].find('>').unwrap() + 1;
    let measured = format!(
        "{}{WATCH}{}",
        &html[..policy_start],
        html[policy_end..].replace("</body>", &format!("<script>{MEASURE}</script></body>"))
    );
    browser.page("measured.html", &measured);
    browser.page(
        &format!("frame-{width}.html"),
        &format!(
            "<!doctype html><body style=\"margin:0\"><pre id=\"report\"></pre><script>\
             window.addEventListener('message', (event) => {{ \
             document.getElementById('report').textContent = event.data; }});</script>\
             <iframe src=\"measured.html\" width=\"{width}\" height=\"1900\" style=\"border:0\"></iframe>"
        ),
    )
}

fn measured(browser: &Browser, html: &str, width: u32) -> Value {
    let dump = browser.dump(&framed(browser, html, width));
    let (_, report) = dump.split_once("<pre id=\"report\">").expect("a report");
    let (report, _) = report.split_once("</pre>").unwrap();
    assert!(!report.is_empty(), "the page was not measured");
    let report: Value = serde_json::from_slice(&STANDARD.decode(report).unwrap()).unwrap();
    assert_eq!(report["width"], width);
    assert_eq!(report["failures"], serde_json::json!([]), "{report:#}");
    assert_eq!(report["overflowing"], serde_json::json!([]), "{report:#}");
    assert_eq!(report["badBars"], serde_json::json!([]), "{report:#}");
    assert_eq!(report["evil"], false);
    report
}

#[test]
fn the_page_works_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let html = page(&sample());
    for width in [1280, 400] {
        let report = measured(&browser, &html, width);
        assert_eq!(report["treeNodes"], 14, "{report:#}");
        assert_eq!(report["treeOnBranch"], 11, "{report:#}");
        assert_eq!(report["bars"], 19, "{report:#}");
        assert_eq!(report["jumped"], true, "{report:#}");
        assert_eq!(report["openedBranch"], true, "{report:#}");
        assert_eq!(report["everyTargetIsThere"], true, "{report:#}");
        assert_eq!(report["callsShown"], 6, "{report:#}");
        assert_eq!(report["callsHidden"], 6, "{report:#}");
        assert_eq!(report["thinkingHidden"], 1, "{report:#}");
        assert_eq!(report["foundByWord"], 1, "{report:#}");
        assert_eq!(report["onlyFailed"], 2, "{report:#}");
        assert_eq!(report["unfolded"], true, "{report:#}");
        assert_eq!(report["pictures"], 2, "{report:#}");
    }
}

#[test]
fn a_hostile_session_does_nothing_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let html = page(&hostile_sample());
    // Without the page's policy, so that only the escaping is between the session and the browser.
    for width in [1280, 400] {
        measured(&browser, &html, width);
    }
}

#[test]
fn the_page_obeys_its_own_policy() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let html = page(&sample());
    let dump = browser.dump(&browser.page("page.html", &html));
    assert!(
        dump.contains("data-ready=\"yes\""),
        "the script of the page did not run"
    );
    let injected = html.replace(
        "</body>",
        "<script>document.documentElement.dataset.evil=1</script></body>",
    );
    let dump = browser.dump(&browser.page("injected.html", &injected));
    assert!(!dump.contains("data-evil"), "a foreign script ran");
}

#[test]
fn the_page_is_not_blank() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let html = page(&sample());
    let path = browser.page("page.html", &html);
    let dark = ["--blink-settings=preferredColorScheme=0"];
    let light = ["--blink-settings=preferredColorScheme=1"];
    let mut corners = Vec::new();
    for (name, path, flags) in [
        ("light.png", path.clone(), &light),
        ("dark.png", path, &dark),
        ("narrow.png", framed(&browser, &html, 400), &light),
    ] {
        let picture = browser.picture(&path, name, flags);
        let ground = picture[0];
        let inked = picture.iter().filter(|pixel| **pixel != ground).count();
        assert!(
            inked > 20_000,
            "{name}: {inked} pixels are not like the corner"
        );
        corners.push(ground.iter().map(|part| u32::from(*part)).sum::<u32>());
    }
    assert!(
        corners[0] > 600 && corners[1] < 150,
        "light and dark: {corners:?}"
    );
}
