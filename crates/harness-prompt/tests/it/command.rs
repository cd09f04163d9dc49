//! Slash commands: their files, their arguments, their placeholders.

use harness_prompt::{Arguments, CommandTemplate, Error, Layer, Library, Limits, parse_invocation};
use proptest::prelude::*;

fn command(text: &str) -> CommandTemplate {
    CommandTemplate::parse("c", text).unwrap()
}

fn expand(body: &str, raw: &str) -> String {
    command(body).expand(raw, &Limits::default()).unwrap()
}

#[test]
fn placeholders_are_filled_in() {
    let raw = " one 'two  words' \"th\\\"ree\"\nfour ";
    for (body, expected) in [
        ("$1|$2|$3|$4|$5", "one|two  words|th\"ree|four|"),
        ("${1}${4}", "onefour"),
        ("$10.", "."),
        ("$1a", "onea"),
        ("$@", "one 'two  words' \"th\\\"ree\"\nfour"),
        ("$ARGUMENTS!", "one 'two  words' \"th\\\"ree\"\nfour!"),
        (
            "${@}${ARGUMENTS:-x}",
            "one 'two  words' \"th\\\"ree\"\nfourone 'two  words' \"th\\\"ree\"\nfour",
        ),
        ("${@:2}", "'two  words' \"th\\\"ree\"\nfour"),
        ("${@:2:2}", "'two  words' \"th\\\"ree\""),
        ("${@:0:1}", "one"),
        ("${@:4:9}|${@:5}|${@:2:0}", "four||"),
        ("${@:9:-none}", "none"),
        ("${1:-x}|${9:-a b}|${9:-}", "one|a b|"),
        // Everything else is text.
        (
            "$HOME $ $$ ${x} $0 ${0} ${1 $",
            "$HOME $ $$ ${x} $0 ${0} ${1 $",
        ),
        (
            "$ARGUMENTSX $ARGUMENTS_1 $$1",
            "$ARGUMENTSX $ARGUMENTS_1 $one",
        ),
        ("${1:2} ${@:} ${@:x} ${@:-", "${1:2} ${@:} ${@:x} ${@:-"),
        ("${ARGUMENTS:2} ${1:-a", "${ARGUMENTS:2} ${1:-a"),
        (
            "\\$1 \\${@:2} \\$@ \\$HOME \\x \\",
            "$1 ${@:2} $@ \\$HOME \\x \\",
        ),
        ("\\\\$1", "\\$1"),
        ("$99999999999999999999999", ""),
        ("${@:99999999999999999999999:99999999999999999999999}", ""),
        ("é$1é", "éoneé"),
    ] {
        assert_eq!(expand(body, raw), expected, "{body}");
    }
    assert_eq!(
        expand("${@:-all} ${ARGUMENTS:-of it} ${1:-now}$1", " "),
        "all of it now"
    );
    assert_eq!(expand("${1:-x}", "''"), "x");
    let twelve: Vec<_> = (1..=12).map(|n| n.to_string()).collect();
    assert_eq!(expand("$12 $1", &twelve.join(" ")), "12 1");
}

/// One pass: what comes in is never expanded again.
#[test]
fn what_comes_in_is_not_expanded() {
    let raw = "$2 ${@} '$1' \\$1";
    assert_eq!(expand("$1,$2,$3,$4", raw), "$2,${@},$1,$1");
    assert_eq!(expand("$@", raw), raw);
    assert_eq!(expand("${9:-$1}", raw), "$1");
    assert_eq!(expand("$1{1}", "$"), "${1}");
    assert_eq!(expand("$$1", "1"), "$1");
}

#[test]
fn arguments_are_split_as_a_shell_does() {
    for (raw, expected) in [
        ("", &[][..]),
        (" \n\t", &[]),
        ("a  b\nc\td", &["a", "b", "c", "d"]),
        ("'a b' \"c d\"", &["a b", "c d"]),
        ("a'b c'd\"e f\"", &["ab cde f"]),
        ("'' \"\" x", &["", "", "x"]),
        ("a\\ b \\' \\\"", &["a b", "'", "\""]),
        (
            r#"'a\b' "a\b" "a\"b" "a\\""#,
            &["a\\b", "a\\b", "a\"b", "a\\"],
        ),
        // What is not closed is a character like any other.
        ("don't do that", &["don't", "do", "that"]),
        ("say \"hello", &["say", "\"hello"]),
        ("'", &["'"]),
        ("a \\", &["a", "\\"]),
        ("a\\", &["a\\"]),
        ("\"a\\\" b", &["\"a\"", "b"]),
        ("x\u{3000}é", &["x", "é"]),
    ] {
        let arguments = Arguments::split(raw);
        assert_eq!(arguments.words().collect::<Vec<_>>(), expected, "{raw}");
        assert_eq!(arguments.len(), expected.len());
        assert_eq!(arguments.is_empty(), expected.is_empty());
    }
}

#[test]
fn an_invocation_is_at_the_very_start() {
    for (text, expected) in [
        ("/review", Some(("review", ""))),
        ("/review src/a.rs  now ", Some(("review", "src/a.rs  now"))),
        ("/a:b.c_d-9\nx\ny", Some(("a:b.c_d-9", "x\ny"))),
        ("/9", Some(("9", ""))),
        ("/etc/passwd", None),
        ("/etc/passwd is a file", None),
        (" /review", None),
        ("\n/review", None),
        ("//x", None),
        ("/", None),
        ("/ x", None),
        ("/-x", None),
        ("/é", None),
        ("/a\0", None),
        ("review", None),
        ("", None),
    ] {
        assert_eq!(parse_invocation(text), expected, "{text:?}");
    }
}

#[test]
fn a_file_says_what_it_is() {
    let full = command(
        "---\ndescription: >\n  Reviews\n  a change\nargument-hint: <file> [focus]\nmodel: x\n---\n\n\nReview $1.\n\n",
    );
    assert_eq!(full.description(), "Reviews a change");
    assert_eq!(full.argument_hint(), Some("<file> [focus]"));
    assert_eq!(full.body(), "Review $1.");
    assert!(full.takes_arguments());
    let list = command("---\nargument-hint: [file, focus]\n---\nx \\$1");
    assert_eq!(list.argument_hint(), Some("[file, focus]"));
    assert!(!list.takes_arguments());
    assert_eq!(command("").description(), "");
    assert_eq!(command("\n \n# Title\ntext").description(), "# Title");
    let long = "é".repeat(61);
    assert_eq!(command(&long).description(), format!("{}…", "é".repeat(60)));
    assert_eq!(command(&long[2..]).description(), "é".repeat(60));
    assert_eq!(
        command("---\ndescription: ' '\n---\nfirst").description(),
        "first"
    );
    let crlf = command("\u{feff}---\r\ndescription: d\r\n---\r\na\r\nb\r\n");
    assert_eq!((crlf.description(), crlf.body()), ("d", "a\r\nb"));
}

#[test]
fn a_broken_file_is_an_error_with_its_line() {
    let errors: Vec<_> = [
        "---\ndescription: a\nbody",
        "---\na: b\ndescription: [x]\n---\n",
        "---\ndescription: a: b\n---\n",
        "---\nargument-hint: {a: b}\n---\n",
        "a\n\0",
    ]
    .into_iter()
    .map(|text| CommandTemplate::parse("c", text).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    `c`, line 1: the frontmatter that begins here is not closed by a line `---`
    `c`, line 3: `description` has to be text, but is a list
    `c`, line 2: the frontmatter is not YAML: mapping values are not allowed in this context
    `c`, line 2: `argument-hint` has to be text, but is a mapping
    `c`, line 2: the control character U+0000 has no place here
    ");
    for name in ["", "a b", "a/b", "-a", "é"] {
        let error = CommandTemplate::parse(name, "x").unwrap_err();
        assert!(matches!(error, Error::Name { .. }), "{name}");
    }
}

#[test]
fn an_expansion_is_bounded() {
    let mut limits = Limits::default();
    limits.expansion_bytes = 10;
    let twice = command("$@$@");
    assert_eq!(twice.expand("12345", &limits).unwrap(), "1234512345");
    insta::assert_snapshot!(
        twice.expand("123456", &limits).unwrap_err(),
        @"`/c`: the expanded text is limited to 10 bytes"
    );
    // A megabyte a thousand times over ends at once.
    let many = command(&"$@".repeat(1000));
    assert!(
        many.expand(&"x".repeat(1024 * 1024), &Limits::default())
            .is_err()
    );
    // Long texts of one kind take no time that grows faster than they do.
    for raw in ["'", "\"", "\\", "\"\\", "'a' ", "\"\" ", "x "] {
        expand("$1", &raw.repeat(200_000));
    }
    for body in ["$", "${", "\\", "${@:", "${1:-", "\\$", "$1"] {
        expand(&body.repeat(150_000), "");
    }
}

#[test]
fn a_library_expands_what_it_knows() {
    let mut library = Library::new();
    library.add_command(Layer::User, command("user $1"), None);
    assert_eq!(library.expand("/c x").unwrap().as_deref(), Some("user x"));
    library.add_command(Layer::BuiltIn, command("built-in $1"), None);
    assert_eq!(library.expand("/c x").unwrap().as_deref(), Some("user x"));
    library.add_command(Layer::Project, command("project $1"), None);
    assert_eq!(
        library.expand("/c x").unwrap().as_deref(),
        Some("project x")
    );
    library.add_command(Layer::Project, command("later $1"), None);
    assert_eq!(library.expand("/c x").unwrap().as_deref(), Some("later x"));
    for text in ["/unknown x", "/etc/passwd", "c", " /c"] {
        assert_eq!(library.expand(text), Ok(None), "{text}");
    }
    let mut limits = Limits::default();
    limits.expansion_bytes = 3;
    assert!(library.with_limits(limits).expand("/c x").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_text_can_be_expanded(body in "[$@\\\\{}:1-9A\\-xé '\"]{0,40}", raw in "[$'\"\\\\ \nxé1{}]{0,40}") {
        let arguments = Arguments::split(&raw);
        for first in 0..5 {
            for count in [None, Some(0), Some(1), Some(2)] {
                assert!(raw.contains(arguments.raw_from(first, count)));
            }
        }
        let body = format!("x{body}");
        let _ = expand(&body, &raw);
        // Text without placeholders stays as it is.
        let plain = body.replace('$', "");
        assert_eq!(expand(&plain, &raw), plain);
    }
}
