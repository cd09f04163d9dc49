//! A session as one page for a browser.

mod call;
mod conversation;
mod escape;
mod head;
mod rich_text;
mod time_line;
mod tree;

use std::io;

use self::conversation::Conversation;
use self::escape::attribute;
use super::overview::Overview;
use super::{flush, put};
use crate::error::Error;
use crate::store::Log;

/// What the page looks like.
const STYLE: &str = include_str!("page.css");
/// What folds, filters and jumps.
const SCRIPT: &str = include_str!("page.js");

/// What the browser is told to refuse: everything but pictures within the page, and the one style and the
/// one script whose hashes these are. A test says what they have to be.
const POLICY: &str = "default-src 'none'; img-src data:; \
    style-src 'sha256-2I7rzFiHvf09G6UituHWNPVO5z19D5XljPACVUsyHZM='; \
    script-src 'sha256-W6BCwEQY7AsA7eEgOMXO2jnt+cF7tsONL2FCcQoZ1UE='; \
    base-uri 'none'; form-action 'none'";

pub(super) fn write(log: &dyn Log, out: &mut dyn io::Write) -> Result<(), Error> {
    let overview = Overview::read(log)?;
    let mut text = String::new();
    begin(&mut text, log, &overview);
    put(out, text.as_bytes())?;

    text.clear();
    text.push_str("<div class=\"page\">\n");
    tree::write(&mut text, &overview);
    text.push_str("<main>\n");
    head::write(&mut text, log, &overview);
    time_line::write(&mut text, &overview);
    text.push_str(TOOLBAR);
    put(out, text.as_bytes())?;

    let mut conversation = Conversation::new(log, &overview);
    conversation.write_branch(out)?;
    conversation.write_others(out)?;

    text.clear();
    text.push_str("</main>\n</div>\n<script>");
    text.push_str(SCRIPT);
    text.push_str("</script>\n</body>\n</html>\n");
    put(out, text.as_bytes())?;
    flush(out)
}

const TOOLBAR: &str = "<div class=\"toolbar\" id=\"toolbar\" hidden>\n\
    <input type=\"search\" id=\"find\" placeholder=\"Filter by words\" aria-label=\"Filter by words\">\n\
    <label><input type=\"checkbox\" data-show=\"calls\" checked> Tool calls</label>\n\
    <label><input type=\"checkbox\" data-show=\"thinking\" checked> Thinking</label>\n\
    <label><input type=\"checkbox\" data-show=\"notes\" checked> Notes</label>\n\
    <label><input type=\"checkbox\" data-only=\"failed\"> Only what went wrong</label>\n\
    <button type=\"button\" id=\"unfold\">Unfold all</button>\n\
    <button type=\"button\" id=\"fold\">Fold all</button>\n\
    <span id=\"found\" role=\"status\"></span>\n\
    </div>\n";

fn begin(out: &mut String, log: &dyn Log, overview: &Overview) {
    let title = overview
        .name
        .clone()
        .unwrap_or_else(|| first_words(overview));
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    out.push_str(POLICY);
    out.push_str("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    attribute(out, &title);
    out.push_str(" · session ");
    out.push_str(&log.header().id.to_string());
    out.push_str("</title>\n<style>");
    out.push_str(STYLE);
    out.push_str("</style>\n</head>\n<body>\n");
}

/// What a session without a name is called: what the user said first.
fn first_words(overview: &Overview) -> String {
    let first = overview
        .entries
        .iter()
        .find(|gist| gist.kind == crate::node::NodeKind::UserMessage);
    first.map_or_else(|| "Session".to_owned(), |gist| gist.text.clone())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_policy_names_the_style_and_the_script_of_the_page() {
        for (what, text) in [("style", STYLE), ("script", SCRIPT)] {
            let source = format!(
                "{what}-src 'sha256-{}'",
                STANDARD.encode(Sha256::digest(text))
            );
            assert!(
                POLICY.contains(&source),
                "in POLICY, it has to be: {source}"
            );
            assert!(!text.contains("</"), "{what}");
        }
    }
}
