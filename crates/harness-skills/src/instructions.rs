//! The instructions of a skill, as a model is given them.

/// A body with plain line ends and without blank lines around it. The first line keeps its indentation:
/// it may be code.
pub(crate) fn instructions(body: &str) -> String {
    let body = if body.contains('\r') {
        body.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        body.to_owned()
    };
    let mut lines = body.split_inclusive('\n');
    let blank: usize = lines
        .by_ref()
        .take_while(|line| line.trim().is_empty())
        .map(str::len)
        .sum();
    body.get(blank..).unwrap_or_default().trim_end().to_owned()
}
