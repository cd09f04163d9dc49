//! Rows C: fields.

use harness_skills::{Examination, FilePlace, Limits, examine};

use crate::case::{examined, rows};
use crate::tree::{codes, finding};

rows! {
    c03_an_empty_name strict ["E-NAME-MISSING"] lenient ["W-NAME-MISSING"] { "name": "demo" }
    c05_words_that_are_no_booleans strict [] lenient [] { "name": "no", "description": "on" }
    c09_a_blank_description strict ["E-DESC-MISSING"] lenient ["E-DESC-MISSING"] {}
    c11_a_number_for_a_description strict [] lenient [] { "description": "1.10" }
    c12_a_long_description strict [] lenient [] { "characters of the description": "1024" }
    c15_tags_in_a_description strict [] lenient [] {
        "description": "<b>&amp; \"q\" 's'",
        "prompt": "<name>demo</name><description>\
                   &lt;b&gt;&amp;amp; &quot;q&quot; &#x27;s&#x27;</description>",
    }
    c17_too_long_a_compatibility strict ["E-COMPAT-LONG"] lenient ["W-COMPAT-LONG"] {
        "says COMPAT-LONG": "501",
    }
    c18_an_empty_compatibility strict ["E-COMPAT-EMPTY"] lenient ["W-COMPAT-EMPTY"] {
        "compatibility": "none",
    }
    c19_a_mapping_for_compatibility strict ["E-COMPAT-TYPE"] lenient ["W-COMPAT-TYPE"] {
        "compatibility": "none",
        "extra": "{compatibility: {os: linux}}",
    }
    c20_a_list_for_compatibility strict ["E-COMPAT-TYPE"] lenient ["W-COMPAT-TYPE"] {
        "compatibility": "none",
        "extra": "{compatibility: [a]}",
    }
    c21_a_number_for_a_license strict [] lenient [] { "license": "2" }
    c22_metadata_as_it_is_written strict [] lenient [] {
        "metadata": "{version: 1.10, on: yes, d: 2024-01-02, n: 007}",
        "version": "1.10",
    }
    c23_nested_metadata strict ["W-META-NESTED"] lenient ["W-META-NESTED"] {
        "metadata": "{a: {b: c}}",
    }
    // `none` and an empty mapping say the same: there is no metadata.
    c24_metadata_without_a_value strict [] lenient [] { "metadata": "none" }
    c25_a_text_for_metadata strict ["E-META-TYPE"] lenient ["W-META-TYPE"] { "metadata": "none" }
    c26_a_list_for_metadata strict ["E-META-TYPE"] lenient ["W-META-TYPE"] { "metadata": "none" }
    // It has a field of its own here, and so is not among the others.
    c27_a_field_beyond_the_standard strict ["E-UNKNOWN-FIELD"] lenient [] {
        "version": "1.0.0",
        "extra": "{}",
    }
    c30_tools_in_snake_case strict ["E-UNKNOWN-FIELD"] lenient ["W-KEY-SPELLING"] {
        "says UNKNOWN-FIELD": "did you mean `allowed-tools`?",
        "tools": "[Read]",
        "extra": "{}",
    }
    c31_tools_with_spaces_between strict [] lenient [] {
        "tools": "[Bash(git:*) | Bash(jq:*) | Read]",
    }
    c32_tools_with_commas_between strict ["W-TOOLS-FORM"] lenient [] {
        "tools": "[Bash(git:*) | Read | Write]",
    }
    c33_a_list_of_tools strict ["W-TOOLS-FORM"] lenient [] { "tools": "[Bash(git add:*) | Read]" }
    c35_a_space_in_parentheses strict [] lenient [] { "tools": "[Bash(git add:*) | Read]" }
    c37_no_tools strict ["W-TOOLS-EMPTY"] lenient ["W-TOOLS-EMPTY"] { "tools": "[]" }
    // No tools, which is not the same as any tools.
    c39_a_mapping_for_tools strict ["E-TOOLS-TYPE"] lenient ["W-TOOLS-TYPE"] { "tools": "[]" }
}

/// With these lines in the frontmatter.
fn with(lines: &str) -> Examination {
    let text = format!("---\nname: a\ndescription: Does a thing.\n{lines}\n---\nI.\n");
    examined(&text)
}

const FLAG: &str = "disable-model-invocation";

#[test]
fn what_is_kept_from_models() {
    for (value, expected) in [
        ("true", true),
        ("Yes", true),
        ("y", true),
        ("\"on\"", true),
        ("1", true),
        ("false", false),
        ("no", false),
        ("N", false),
        ("'off' # why", false),
        ("0", false),
    ] {
        let examination = with(&format!("{FLAG}: {value}"));
        let fields = &examination.fields;
        assert_eq!(fields.disable_model_invocation, expected, "{value}");
        assert_eq!(codes(&examination.lenient()), [""; 0], "{value}");
    }
    let examination = with("metadata: {a: b}");
    assert!(!examination.fields.disable_model_invocation);
}

/// Whatever is not plainly false keeps the skill from models, and is told.
#[test]
fn in_doubt_a_skill_is_kept_from_models() {
    for (lines, code) in [
        ("disable-model-invocation: enabled", "FIELD-TYPE"),
        ("disable-model-invocation: [true]", "FIELD-TYPE"),
        ("disable-model-invocation: true,", "FIELD-TYPE"),
        ("disable-model-invocation:", "FIELD-TYPE"),
        ("disable-model-invocation: {a: false}", "FIELD-TYPE"),
        // No YAML, or part of something else.
        ("disable-model-invocation:true", "FIELD-TYPE"),
        (" disable-model-invocation:true", "FIELD-TYPE"),
        (" disable-model-invocation: true", "FIELD-TYPE"),
        ("disable-model-invocation true", "FIELD-TYPE"),
        ("disable-model-invocation = true", "FIELD-TYPE"),
        ("disable-model-invocation: [false", "FIELD-TYPE"),
        ("disable-model-invocation: @true", "FIELD-TYPE"),
        (
            "license: |\n  MIT\n  disable-model-invocation: true",
            "FIELD-TYPE",
        ),
        ("metadata:\n  disable-model-invocation: true", "FIELD-TYPE"),
        // Twice.
        (
            "disable-model-invocation: true\ndisable-model-invocation: false",
            "FIELD-TYPE",
        ),
        (
            "disable-model-invocation: false\nmetadata:\n  disableModelInvocation: true",
            "FIELD-TYPE",
        ),
        (
            "disable_model_invocation: true\ndisable-model-invocation: false",
            "KEY-SPELLING",
        ),
        (
            "disable-model-invocation: false\nDisableModelInvocation: on",
            "KEY-SPELLING",
        ),
        ("disablemodelinvocation: true", "KEY-SPELLING"),
        (
            "disable\u{2011}model\u{2011}invocation: true",
            "KEY-SPELLING",
        ),
    ] {
        for lines in [lines.to_owned(), format!("{lines}\nlicense2: a: b\n")] {
            for lines in [lines.replace('\n', "\r\n"), lines] {
                let examination = with(&lines);
                if !examination.loads() {
                    continue;
                }
                let lenient = examination.lenient();
                assert!(examination.fields.disable_model_invocation, "{lines}");
                let is_told = lenient.iter().any(|it| it.code.name() == code);
                assert!(is_told, "{lines}: {lenient:?}");
            }
        }
        assert!(with(lines).loads(), "{lines}");
    }
    for whole in [
        "{name: a, description: b, disable-model-invocation: true, disable-model-invocation: false}",
        "{disable-model-invocation: true, disable-model-invocation: false, name: a, description: b}",
    ] {
        let examination = examined(&format!("---\n{whole}\n---\nI.\n"));
        assert!(examination.fields.disable_model_invocation, "{whole}");
    }
}

#[test]
fn what_is_plainly_false_is_false_wherever_it_stands() {
    for lines in [
        "disable-model-invocation: false\ndisable-model-invocation: no",
        "disable_model_invocation: false\ndisable-model-invocation: false",
        "# disable-model-invocation: true\ndisable-model-invocation: false",
        "license: |\n  disable-model-invocation hides it\ndisable-model-invocation: false",
        "disable-model-invocation-why: it is so",
    ] {
        let examination = with(lines);
        assert!(!examination.fields.disable_model_invocation, "{lines}");
        for found in examination.lenient() {
            assert_eq!(found.code.name(), "DUP-KEY", "{lines}");
        }
    }
    let flow = "---\n{name: a,\n description: b,\n disable-model-invocation: false,\n}\n---\nI.\n";
    assert!(!examined(flow).fields.disable_model_invocation);
    let twice = with("disable-model-invocation: true\ndisable-model-invocation: true");
    assert!(twice.fields.disable_model_invocation);
    assert_eq!(codes(&twice.lenient()), ["W-DUP-KEY"]);
}

#[test]
fn the_doubt_has_its_place() {
    let examination = with("license: MIT\n  disable-model-invocation:true");
    let lenient = examination.lenient();
    let position = finding(&lenient, "FIELD-TYPE").position.unwrap();
    assert_eq!((position.line, position.column), (5, 3));
}

#[test]
fn what_people_are_offered_keeps_its_default() {
    for (value, expected, told) in [
        ("n", false, &[][..]),
        ("y", true, &[]),
        ("perhaps", true, &["W-FIELD-TYPE"]),
        ("[false]", true, &["W-FIELD-TYPE"]),
    ] {
        let examination = with(&format!("user-invocable: {value}"));
        assert_eq!(examination.fields.user_invocable, expected, "{value}");
        assert_eq!(codes(&examination.lenient()), told, "{value}");
    }
}

#[test]
fn only_what_is_read_below_metadata_is_sent_there() {
    for (field, is_sent) in [
        ("version", true),
        ("author", true),
        (FLAG, false),
        ("user-invocable", false),
        ("argument-hint", false),
        ("tags", false),
        ("references", false),
        ("examples", false),
    ] {
        let strict = with(&format!("{field}: true")).strict();
        let hint = finding(&strict, "UNKNOWN-FIELD").hint.clone().unwrap();
        assert_eq!(hint.contains("metadata"), is_sent, "{field}: {hint}");
    }
    let fields = with("metadata:\n  version: 1.10\n  author: Me").fields;
    assert_eq!(fields.version.as_deref(), Some("1.10"));
    assert_eq!(fields.author.as_deref(), Some("Me"));
}

/// As clients write it, and as the standard wants it.
#[test]
fn shapes_of_the_real_world() {
    let claude = with(
        "allowed-tools: Bash(git:*), Read\ndisable-model-invocation: true\nargument-hint: \"[file]\"",
    );
    assert_eq!(codes(&claude.strict()), ["E-UNKNOWN-FIELD", "W-TOOLS-FORM"]);
    let keys = |it: &Examination| -> Vec<Option<String>> {
        let unknown = it.strict().into_iter();
        let unknown = unknown.filter(|it| it.code.name() == "UNKNOWN-FIELD");
        unknown.map(|it| it.key).collect()
    };
    let expected = [FLAG, "argument-hint"].map(|key| Some(key.to_owned()));
    assert_eq!(keys(&claude), expected);
    assert_eq!(codes(&claude.lenient()), [""; 0]);
    assert!(!claude.is_valid() && claude.loads());
    let fields = claude.fields;
    assert_eq!(fields.allowed_tools.unwrap(), ["Bash(git:*)", "Read"]);
    assert_eq!(fields.argument_hint.as_deref(), Some("[file]"));
    assert!(fields.disable_model_invocation);

    let official = with(
        "license: Apache-2.0\ncompatibility: Requires git and jq\nmetadata:\n  author: example-org\n  \
         version: \"1.0\"\nallowed-tools: Bash(git:*) Bash(jq:*) Read",
    );
    assert!(official.is_valid() && official.loads());
    assert_eq!(official.findings, []);
    let fields = official.fields;
    assert_eq!(
        fields.allowed_tools.unwrap(),
        ["Bash(git:*)", "Bash(jq:*)", "Read"]
    );
    assert_eq!(fields.version.as_deref(), Some("1.0"));
}

/// Correct YAML, and not what its author meant.
#[test]
fn a_comment_that_ends_a_description_is_told() {
    let codes = |description: &str| {
        let file = format!("---\nname: demo\ndescription: {description}\n---\nBody.\n");
        let place = FilePlace {
            folder: Some(std::ffi::OsStr::new("demo")),
            ..FilePlace::default()
        };
        let examination = examine(file.as_bytes(), &place, &Limits::default());
        assert!(examination.loads() && examination.is_valid(), "{file}");
        let told = examination.lenient().into_iter();
        told.map(|diagnostic| diagnostic.id()).collect::<Vec<_>>()
    };
    assert_eq!(
        codes("Handles issues like #12 and more"),
        ["W-DESC-COMMENT"]
    );
    assert!(codes("'Handles issues like #12 and more'").is_empty());
    assert!(codes("Writes C# and F#.").is_empty());
}
