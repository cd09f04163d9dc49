//! The browser that some tests look at pages with.

use std::env;
use std::path::Path;

use crate::step::Remark;

/// The programs that will do.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// What tests are told where there is no browser, so that they leave out what needs one instead of failing;
/// and what to say of it.
pub(crate) fn environment() -> (&'static [(&'static str, &'static str)], Remark) {
    if is_there() {
        (&[], None)
    } else {
        (
            &[("HARNESS_NO_BROWSER", "1")],
            Some("pages were not looked at: no Chromium or Chrome on the PATH"),
        )
    }
}

fn is_there() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| has_browser(&folder, Path::is_file))
}

fn has_browser(folder: &Path, is_file: impl Fn(&Path) -> bool) -> bool {
    BROWSERS.iter().any(|name| is_file(&folder.join(name)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::has_browser;

    #[test]
    fn a_browser_is_known_by_its_name() {
        for (file, found) in [
            ("/b/chromium", true),
            ("/b/chrome", true),
            ("/b/chromes", false),
        ] {
            let is_file = |path: &Path| path == Path::new(file);
            assert_eq!(has_browser(Path::new("/b"), is_file), found, "{file}");
        }
    }
}
