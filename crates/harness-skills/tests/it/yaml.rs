//! Rows B: YAML, and what is made of what is none.

use crate::case::rows;

rows! {
    b01_a_colon_in_the_text strict ["E-YAML"] lenient ["W-REPAIRED"] {
        "description": "Use when: the user asks",
        "says YAML": "quote",
        "body": "Body text.",
    }
    b02_a_colon_at_the_end strict ["E-YAML"] lenient ["W-REPAIRED"] { "description": "Use for:" }
    b05_a_backtick_first strict ["E-YAML"] lenient ["W-REPAIRED"] { "description": "`x` runs" }
    b06_an_at_sign_first strict ["E-YAML"] lenient ["W-REPAIRED"] { "description": "@x helps" }
    // The hint is no field of the standard either, which is the second error.
    b07_brackets_in_a_hint strict ["E-UNKNOWN-FIELD" "E-YAML"] lenient ["W-REPAIRED"] {
        "argument-hint": "[a] [b]",
        "description": "Does a thing.",
    }
    b08_brackets_in_a_list strict ["E-UNKNOWN-FIELD" "E-YAML"] lenient ["W-REPAIRED"] {
        "extra": "{dependencies: [ray[data], x]}",
        "description": "Does a thing.",
    }
    b09_broken_json strict ["E-YAML"] lenient ["W-FIELD-DROPPED"] {
        "metadata": "none",
        "description": "Does a thing.",
        "says FIELD-DROPPED": "`metadata`",
    }
    b11_prose_at_column_0 strict ["E-YAML"] lenient ["W-FIELD-RAW"] {
        "description": "first line second line of prose",
    }
    b13_a_heading_between strict ["E-YAML"] lenient ["W-FIELD-RAW"] {
        "description": "Does a thing.",
        "extra": "{}",
        "body": "Body text.",
    }
    b15_a_hash_first strict ["E-DESC-MISSING"] lenient ["E-DESC-MISSING"] {
        "says DESC-MISSING": "`#` begins a comment; put the text in quotes",
    }
    b18_no_blank_behind_the_colon strict ["E-NOT-MAPPING"] lenient ["E-NOT-MAPPING"] {
        "says NOT-MAPPING": "a blank is missing behind the colon",
    }
    b19_a_tab_behind_the_colon strict [] lenient [] { "name": "demo", "description": "x" }
    b21_two_descriptions strict ["E-DUP-KEY"] lenient ["E-DUP-KEY"] {}
    b23_a_key_of_metadata_twice strict ["E-DUP-KEY"] lenient ["W-DUP-KEY"] { "metadata": "{k: 2}" }
    b24_a_list strict ["E-NOT-MAPPING"] lenient ["E-NOT-MAPPING"] {}
    b26_null strict ["E-EMPTY-FRONTMATTER"] lenient ["E-EMPTY-FRONTMATTER"] {}
    b27_a_literal_block strict [] lenient [] {
        "description": "one\ntwo",
        "prompt": "<name>demo</name><description>one two</description>",
    }
    b31_escapes strict [] lenient [] { "description": "a\tb \u{e9}" }
    b32_an_escape_that_is_none strict ["E-YAML"] lenient ["W-FIELD-RAW"] {
        "description": "bad \\d escape",
    }
    b33_an_open_quote strict ["E-YAML"] lenient ["E-YAML"] {}
    b35_an_alias strict ["W-ALIAS"] lenient ["I-ALIAS"] { "name": "demo", "description": "demo" }
    // What `<<` names was written down for it, and is no field of its own.
    b36_a_merge_key strict ["W-ALIAS" "W-MERGE-KEY"] lenient ["I-ALIAS" "W-MERGE-KEY"] {
        "extra": "{<<: {license: MIT}}",
        "description": "Does a thing.",
    }
    b37_one_line strict [] lenient [] { "name": "demo", "description": "Does a thing." }
    b38_a_template strict ["E-DESC-TYPE"] lenient ["E-DESC-TYPE"] {
        "says DESC-TYPE": "a template that was not filled in",
    }
    b39_a_comma_first strict ["E-YAML"] lenient ["W-FIELD-RAW"] { "description": ", text" }
    b40_a_percent_sign_first strict ["E-YAML"] lenient ["W-FIELD-RAW"] { "description": "% text" }
    b43_a_list_behind_its_key strict ["E-YAML"] lenient ["W-FIELD-DROPPED"] {
        "tools": "[]",
        "description": "Does a thing.",
    }
    b44_a_dash_first strict ["E-YAML"] lenient ["W-FIELD-RAW"] { "description": "- item" }
    b46_json_at_column_0 strict ["E-YAML"] lenient ["W-FIELD-DROPPED"] {
        "metadata": "none",
        "extra": "{}",
        "description": "Does a thing.",
        "body": "Body text.",
    }
    b47_a_block_with_blank_lines strict [] lenient [] {
        "description": "one",
        "prompt": "<name>demo</name><description>one</description>",
    }
}
