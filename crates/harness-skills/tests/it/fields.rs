//! Rows C: fields.

use crate::case::rows;

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
