//! Rows D: names.

use crate::case::rows;

rows! {
    d01_one_character strict [] lenient [] { "name": "a", "command": "a" }
    d02_64_characters strict [] lenient [] {
        "command": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    }
    d03_65_characters strict ["E-NAME-LONG"] lenient ["W-NAME-LONG"] { "command": "none" }
    d04_upper_case strict ["E-NAME-CASE"] lenient ["W-NAME-CASE"] {
        "name": "Demo",
        "identity": "demo",
        "command": "demo",
    }
    d08_a_hyphen_last strict ["E-NAME-HYPHEN"] lenient ["W-NAME-HYPHEN"] {
        "name": "demo-",
        "command": "demo",
    }
    d09_two_hyphens strict ["E-NAME-HYPHEN"] lenient ["W-NAME-HYPHEN"] {
        "name": "de--mo",
        "command": "de-mo",
    }
    d10_an_underscore strict ["E-NAME-CHARS"] lenient ["W-NAME-CHARS"] { "command": "de-mo" }
    d11_a_dot strict ["E-NAME-CHARS"] lenient ["W-NAME-CHARS"] { "command": "de-mo" }
    d12_a_space strict ["E-NAME-CHARS"] lenient ["W-NAME-CHARS"] {
        "name": "de mo",
        "command": "de-mo",
    }
    // The folder is called `demo`, which is the second error, here and where the name has what cannot be
    // seen.
    d14_a_slash strict ["E-NAME-CHARS" "E-NAME-DIR"] lenient ["W-NAME-CHARS" "W-NAME-DIR"] {
        "name": "de/mo",
        "command": "de-mo",
    }
    d16_a_digit_first strict [] lenient [] { "name": "3d-demo", "command": "3d-demo" }
    d17_digits_alone strict [] lenient [] { "name": "007", "command": "007" }
    d18_chinese strict [] lenient [] { "name": "技能", "identity": "技能", "command": "none" }
    d20_cyrillic_in_upper_case strict ["E-NAME-CASE"] lenient ["W-NAME-CASE"] {
        "name": "НАВЫК",
        "identity": "навык",
    }
    d21_decomposed strict [] lenient [] { "identity": "caf\u{e9}" }
    d22_full_width strict [] lenient [] { "identity": "ab", "command": "ab" }
    d23_a_space_without_width strict ["E-NAME-CHARS"] lenient ["W-NAME-CHARS"] {
        "name": "demo",
        "identity": "demo",
        "command": "demo",
    }
    d25_the_other_direction strict ["E-NAME-CHARS" "E-NAME-DIR"] lenient ["W-NAME-CHARS" "W-NAME-DIR"] {
        "name": "demo",
        "identity": "demo",
        "prompt": "<name>demo</name><description>Does a thing.</description>",
    }
    d26_a_line_and_a_tag strict ["E-NAME-CHARS" "E-NAME-DIR"] lenient ["W-NAME-CHARS" "W-NAME-DIR"] {
        "name": "demo </skill>",
        "prompt": "<name>demo &lt;/skill&gt;</name><description>Does a thing.</description>",
    }
    d27_a_device_of_windows strict [] lenient [] { "name": "con", "command": "con" }
    d28_a_space_in_quotes strict ["W-NAME-SPACE"] lenient ["W-NAME-SPACE"] {
        "name": "demo",
        "command": "demo",
    }
}
