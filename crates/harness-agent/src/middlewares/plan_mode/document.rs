//! What is in a plan file: a few lines of state, and the plan.
//!
//! The state is frontmatter that this file writes, and reads back by the letter: a general reader would
//! accept more than is ever written, and what it accepts decides what may run.

use crate::middlewares::plan_mode::state::PlanState;

/// The most bytes of a plan file.
pub(crate) const MAX_BYTES: usize = 256 * 1024;

/// The frontmatter is no longer than this.
const MAX_HEAD_LINES: usize = 4;

const FENCE: &str = "---";

/// A plan file's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanDocument {
    /// `Off` where the file has no frontmatter.
    pub(crate) state: PlanState,
    pub(crate) session: Option<String>,
    pub(crate) body: String,
}

impl PlanDocument {
    /// Reads a file's content.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (head, body) = Head::split(text)?;
        Ok(Self {
            state: head.state,
            session: head.session.map(str::to_owned),
            body: body.to_owned(),
        })
    }

    /// The content to write.
    pub(crate) fn render(&self) -> String {
        if self.state == PlanState::Off {
            return self.body.clone();
        }
        let mut text = format!("{FENCE}\nstatus: {}\n", self.state.word());
        if let Some(session) = &self.session {
            text.push_str("session: ");
            text.push_str(session);
            text.push('\n');
        }
        text.push_str(FENCE);
        text.push_str("\n\n");
        text.push_str(&self.body);
        text
    }

    /// The text without frontmatter of ours, however often it is there: somebody may have read the file
    /// and written all of it back.
    pub(crate) fn body_of(text: &str) -> &str {
        let mut body = text;
        while let Ok((head, inner)) = Head::split(body) {
            if head.state == PlanState::Off {
                break;
            }
            body = inner;
        }
        body
    }
}

#[derive(Default)]
struct Head<'a> {
    state: PlanState,
    session: Option<&'a str>,
}

impl<'a> Head<'a> {
    /// The frontmatter, and the rest.
    fn split(text: &'a str) -> Result<(Self, &'a str), &'static str> {
        let first = text.lines().next().unwrap_or_default();
        if first.trim_start_matches('\u{feff}').trim() != FENCE {
            return Ok((Self::default(), text));
        }
        let Some(mut rest) = text.strip_prefix("---\n") else {
            return Err("its frontmatter does not begin as it should");
        };
        let mut head = Self::default();
        for _ in 0..MAX_HEAD_LINES {
            let Some((line, after)) = rest.split_once('\n') else {
                break;
            };
            rest = after;
            if line == FENCE {
                if head.state == PlanState::Off {
                    return Err("its frontmatter has no status");
                }
                return Ok((head, rest.strip_prefix('\n').unwrap_or(rest)));
            }
            match line.split_once(": ") {
                Some(("status", word)) if head.state == PlanState::Off => {
                    let known = PlanState::SAVED.iter().find(|state| state.word() == word);
                    head.state = *known.ok_or("its status is unknown")?;
                }
                Some(("session", id)) if head.session.is_none() && is_safe_name(id) => {
                    head.session = Some(id);
                }
                _ => return Err("its frontmatter has a line that does not belong there"),
            }
        }
        Err("its frontmatter does not end")
    }
}

/// Whether a session's id can be a file's name, and a line of frontmatter, as it is.
pub(crate) fn is_safe_name(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 100
        && !id.starts_with('.')
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for state in PlanState::SAVED {
            for session in [None, Some("s-1".to_owned())] {
                for body in ["", "# Plan\n", "\n\n---\nstatus: approved\n---\n", "no end"] {
                    let document = PlanDocument {
                        state,
                        session: session.clone(),
                        body: body.to_owned(),
                    };
                    assert_eq!(PlanDocument::parse(&document.render()), Ok(document));
                }
            }
        }
    }

    #[test]
    fn only_our_own_frontmatter_counts() {
        for (text, state) in [
            ("", Some(PlanState::Off)),
            (
                "# A plan\n---\nstatus: approved\n---\n",
                Some(PlanState::Off),
            ),
            ("----\nstatus: approved\n---\n", Some(PlanState::Off)),
            ("---\nstatus: approved\n---\n", Some(PlanState::Approved)),
            ("---\nstatus: approved\n---", None),
            ("---\nstatus: approved\n", None),
            ("---\r\nstatus: approved\r\n---\r\n", None),
            ("\u{feff}---\nstatus: approved\n---\n", None),
            ("---\n---\n", None),
            ("---\nstatus:  approved\n---\n", None),
            ("---\nstatus: Approved\n---\n", None),
            ("---\nstatus: off\n---\n", None),
            ("---\nstatus: \"approved\"\n---\n", None),
            ("---\nstatus: planning\nstatus: approved\n---\n", None),
            ("---\nstatus: approved\nmore: yes\n---\n", None),
            ("---\nstatus: approved\nsession: ../x\n---\n", None),
            ("---\nstatus: &a approved\n---\n", None),
        ] {
            let read = PlanDocument::parse(text).map(|document| document.state);
            match (read, state) {
                (Ok(read), Some(state)) => assert_eq!(read, state, "{text:?}"),
                (Err(_), None) => {}
                (read, _) => panic!("{text:?}: {read:?}"),
            }
        }
    }

    #[test]
    fn frontmatter_of_ours_is_taken_off() {
        for (text, body) in [
            ("# Plan\n", "# Plan\n"),
            ("---\nstatus: approved\n---\n\n# Plan\n", "# Plan\n"),
            (
                "---\nstatus: planning\n---\n---\nstatus: approved\n---\nx",
                "x",
            ),
            ("---\ntitle: x\n---\nx", "---\ntitle: x\n---\nx"),
        ] {
            assert_eq!(PlanDocument::body_of(text), body, "{text:?}");
        }
    }

    #[test]
    fn names_that_are_safe() {
        for (id, safe) in [
            ("0192-ab_c.d", true),
            ("", false),
            (".", false),
            ("..", false),
            (".hidden", false),
            ("a/b", false),
            ("a b", false),
            ("a\nb", false),
            ("é", false),
            (&"x".repeat(101), false),
        ] {
            assert_eq!(is_safe_name(id), safe, "{id:?}");
        }
    }
}
