//! The rows of the conformance cases that are decided where a file is read, by their id. The inputs
//! are those of the corpus.

use std::path::Path;

use harness_frontmatter::test_support::KINDS;
use harness_frontmatter::{Document, Limits, Recovered};

use crate::node;

/// What the strict reader and [`Document::recover`] say of a file, in a line each.
fn told(row: &str) -> [String; 2] {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/frontmatter");
    let bytes = std::fs::read(corpus.join(row)).expect("an input of that id");
    let limits = Limits::default();
    let strict = match Document::from_bytes(&bytes, &limits) {
        Ok(_) => "valid".to_owned(),
        Err(error) => error.diagnostic().id(),
    };
    let lenient = match Document::recover_bytes(&bytes, &limits, &KINDS) {
        Ok(recovered) => shown(&recovered),
        Err(error) => format!("skip, {}", error.diagnostic().id()),
    };
    [strict, lenient]
}

/// The fields but for `name: demo`, the codes, and the body if it is not the usual one.
fn shown(recovered: &Recovered<'_>) -> String {
    let Recovered {
        document, repairs, ..
    } = recovered;
    if !document.has_frontmatter {
        return "none".to_owned();
    }
    let mut parts = Vec::new();
    for entry in &document.fields.entries {
        let value = node(&entry.value);
        if !(entry.key.text == "name" && value == "\"demo\"") {
            parts.push(format!("{}: {value}", entry.key.text));
        }
    }
    if document.body != "Body text.\n" {
        parts.push(format!("body {:?}", document.body));
    }
    for oddity in &document.oddities {
        parts.push(format!("W-{}@{}", oddity.kind.code(), oddity.line));
    }
    for repair in repairs {
        let id = repair.diagnostic().id();
        parts.push(format!("{id}({})@{}", repair.key, repair.position.line));
    }
    parts.join(", ")
}

/// One test a row, named after it: what the strict reader says, and what is read of it at best.
macro_rules! rows {
    ($($name:ident: $strict:literal, $lenient:literal;)*) => {$(
        #[test]
        fn $name() {
            let row = stringify!($name)[..3].to_uppercase();
            assert_eq!(told(&row), [$strict, $lenient]);
        }
    )*};
}

rows! {
    a01_a_small_file: "valid", r#"description: "Does a thing.""#;
    a05_a_byte_order_mark: "valid", r#"description: "Does a thing.", W-BOM@1"#;
    a08_blanks_behind_fences: "valid", r#"description: "Does a thing.", W-DELIM-SPACE@1"#;
    a09_blank_lines_before: "valid", r#"description: "Does a thing.", W-LEADING-BLANK@1"#;
    a10_an_indented_opener_is_none: "valid", "none";
    a13_frontmatter_in_a_fence_of_code_is_none: "valid", "none";
    a14_markdown_only: "valid", "none";
    a15_nothing: "valid", "none";
    a16_an_opener_and_nothing_else: "E-UNCLOSED", "skip, E-UNCLOSED";
    a17_nothing_between: "valid", "";
    a18_a_comment_between: "valid", "";
    a20_a_closer_without_an_end_of_line: "valid", r#"description: "Does a thing.", body """#;
    a22_a_longer_line_of_dashes_is_no_closer: "E-UNCLOSED", "skip, E-UNCLOSED";
    a24_an_indented_fence_is_text: "valid", r#"description: "one\n---\ntwo\n""#;
    a25_dashes_in_text: "valid", r#"description: "one --- two""#;
    a27_a_rule_in_the_body:
        "valid", r#"description: "Does a thing.", body "Intro\n\n---\n\nRest\n""#;
    a29_frontmatter_in_the_body:
        "valid", r#"description: "Does a thing.", body "---\nname: other\n---\nX\n""#;
    a30_the_body_keeps_its_blanks:
        "valid", r#"description: "Does a thing.", body "\n\n    code first\ntext  \nend\n\n\n""#;
    a31_no_body: "valid", r#"description: "Does a thing.", body """#;
    a34_text_behind_the_opener: "valid", "none";

    b01_a_colon_in_text:
        "E-YAML", r#"description: "Use when: the user asks", W-REPAIRED(description)@3"#;
    b02_a_colon_at_the_end:
        "E-YAML", r#"description: "Use for:", W-REPAIRED(description)@3"#;
    b05_a_backtick: "E-YAML", r#"description: "`x` runs", W-REPAIRED(description)@3"#;
    b06_an_at_sign: "E-YAML", r#"description: "@x helps", W-REPAIRED(description)@3"#;
    b07_two_brackets: "E-YAML",
        r#"description: "Does a thing.", argument-hint: "[a] [b]", W-REPAIRED(argument-hint)@4"#;
    b08_brackets_in_a_list: "E-YAML",
        r#"description: "Does a thing.", dependencies: "[ray[data], x]", W-REPAIRED(dependencies)@4"#;
    b09_broken_json: "E-YAML", r#"description: "Does a thing.", W-FIELD-DROPPED(metadata)@4"#;
    b11_prose_goes_on_at_column_0: "E-YAML",
        r#"description: "first line second line of prose", W-FIELD-RAW(description)@3"#;
    b13_a_heading_and_prose: "E-YAML",
        r#"description: "Does a thing.", W-FIELD-RAW(description)@3"#;
    b15_a_comment_for_a_value: "valid", r#"description: """#;
    b18_no_blank_behind_the_colon: "E-NOT-MAPPING", "skip, E-NOT-MAPPING";
    b19_a_tab_behind_the_colon: "valid", r#"description: "x""#;
    b21_a_unique_key_twice: "E-DUP-KEY", "skip, E-DUP-KEY";
    b23_a_key_of_metadata_twice: "E-DUP-KEY",
        r#"description: "Does a thing.", metadata: {k: "2"}, W-DUP-KEY(metadata)@6"#;
    b24_a_list: "E-NOT-MAPPING", "skip, E-NOT-MAPPING";
    b26_null: "valid", "";
    b27_a_literal_block: "valid", r#"description: "one\ntwo\n""#;
    b31_escapes: "valid", r#"description: "a\tb é""#;
    b32_a_bad_escape: "E-YAML",
        r#"description: "bad \\d escape", W-FIELD-RAW(description)@3"#;
    b33_an_open_quote: "E-YAML", "skip, E-YAML";
    b35_an_alias: "valid", r#"description: "demo", W-ALIAS@3"#;
    b36_a_merge_key_is_data: "valid",
        r#"base: {license: "MIT"}, description: "Does a thing.", <<: {license: "MIT"}, W-ALIAS@5"#;
    b37_a_flow_mapping: "valid", r#"description: "Does a thing.""#;
    b38_a_template_that_was_not_filled_in: "E-KEY-TYPE", "skip, E-KEY-TYPE";
    b39_a_comma_in_front: "E-YAML", r#"description: ", text", W-FIELD-RAW(description)@3"#;
    b40_a_percent_sign_in_front: "E-YAML", r#"description: "% text", W-FIELD-RAW(description)@3"#;
    b43_a_list_beside_its_key: "E-YAML",
        r#"description: "Does a thing.", W-FIELD-DROPPED(allowed-tools)@4"#;
    b44_text_like_a_list: "E-YAML", r#"description: "- item", W-FIELD-RAW(description)@3"#;
    b46_json_at_column_0: "E-YAML",
        r#"description: "Does a thing.", W-FIELD-DROPPED(metadata)@4"#;
    b47_a_block_that_keeps_its_end: "valid", r#"description: "one\n\n\n""#;
}
