//! The text of `allowed-tools`.

/// The tools that a text names: separated by white space or commas outside parentheses, as in
/// `Bash(git add:*), Read`. An open parenthesis that is never closed reaches to the end.
pub(crate) fn split_tools(text: &str) -> Vec<String> {
    let mut tools = Vec::new();
    let mut tool = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            if !tool.is_empty() {
                tools.push(std::mem::take(&mut tool));
            }
        } else {
            tool.push(c);
        }
    }
    let tool = tool.trim_end();
    if !tool.is_empty() {
        tools.push(tool.to_owned());
    }
    tools
}

/// Whether commas stand between tools.
pub(crate) fn has_commas(text: &str) -> bool {
    let mut depth = 0_usize;
    text.chars().any(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c == ','
    })
}
