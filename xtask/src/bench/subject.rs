//! What is measured, as data: each subject runs alone with `--only`.

/// One set of runs; it gives one figure or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Start,
    Reads,
    Growth,
    Memory,
    Burst,
    Prompt,
    Size,
    Version,
    Middleware,
    Grep,
    Find,
    Ls,
    Edit,
    Yes,
    Skills,
    Telemetry,
}

impl Subject {
    pub(crate) const ALL: [Subject; 16] = [
        Subject::Start,
        Subject::Reads,
        Subject::Growth,
        Subject::Memory,
        Subject::Burst,
        Subject::Prompt,
        Subject::Size,
        Subject::Version,
        Subject::Middleware,
        Subject::Grep,
        Subject::Find,
        Subject::Ls,
        Subject::Edit,
        Subject::Yes,
        Subject::Skills,
        Subject::Telemetry,
    ];

    /// The name after `--only`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Subject::Start => "start",
            Subject::Reads => "reads",
            Subject::Growth => "growth",
            Subject::Memory => "memory",
            Subject::Burst => "burst",
            Subject::Prompt => "prompt",
            Subject::Size => "size",
            Subject::Version => "version",
            Subject::Middleware => "middleware",
            Subject::Grep => "grep",
            Subject::Find => "find",
            Subject::Ls => "ls",
            Subject::Edit => "edit",
            Subject::Yes => "yes",
            Subject::Skills => "skills",
            Subject::Telemetry => "telemetry",
        }
    }

    /// The subjects of these names, all of them where there is no name; the name that is none.
    pub(crate) fn chosen(names: &[String]) -> Result<Vec<Subject>, &str> {
        if names.is_empty() {
            return Ok(Subject::ALL.to_vec());
        }
        let is_one = |name: &String| Subject::ALL.iter().any(|it| it.name() == name);
        if let Some(unknown) = names.iter().find(|name| !is_one(name)) {
            return Err(unknown);
        }
        let is_chosen = |it: &Subject| names.iter().any(|name| name == it.name());
        Ok(Subject::ALL.into_iter().filter(is_chosen).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Subject;

    #[test]
    fn names_are_lower_case_and_differ() {
        for (i, subject) in Subject::ALL.iter().enumerate() {
            assert_eq!(subject.name(), format!("{subject:?}").to_lowercase());
            assert!(!Subject::ALL[..i].contains(subject));
        }
    }

    #[test]
    fn chooses_by_name_in_the_order_of_the_table() {
        let chosen = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            Subject::chosen(&names).map_err(str::to_owned)
        };
        assert_eq!(chosen(&[]), Ok(Subject::ALL.to_vec()));
        assert_eq!(
            chosen(&["size", "start", "size"]),
            Ok(vec![Subject::Start, Subject::Size])
        );
        assert_eq!(chosen(&["size", "speed"]), Err("speed".to_owned()));
    }
}
