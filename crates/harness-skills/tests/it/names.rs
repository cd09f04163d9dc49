//! Rows D: names.

use harness_skills::{FilePlace, Identity, Limits, examine};

use crate::case::{examined, rows};
use crate::tree::{Tree, codes, text};

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

/// Names of which nothing can be seen.
const UNSEEN: [&str; 10] = [
    "\u{200c}",
    "\u{3164}",
    "\u{115f}",
    "\u{1160}",
    "\u{ffa0}",
    "\u{2800}",
    "\u{2800}\u{200d}\u{2800}",
    "\u{fe0f}",
    "\u{34f}",
    "\u{180b}\u{200b}",
];

#[test]
fn a_name_that_cannot_be_seen_is_none() {
    for name in UNSEEN {
        let tree = Tree::new();
        tree.write("skills/demo/SKILL.md", text(name, "I."));
        let skills = tree.skills();
        let entry = tree.entry(&skills, "skills/demo");
        assert_eq!(codes(&entry.diagnostics), ["W-NAME-MISSING"], "{name:?}");
        assert_eq!(entry.skill.name(), "demo");
        let catalogue = skills.catalogue();
        assert!(catalogue.find("demo").is_ok());
        assert!(catalogue.find("").is_err());

        // Nor is there one if that is what the folder is called.
        let place = FilePlace {
            folder: Some(name.as_ref()),
            file: None,
        };
        let examination = examine(text(name, "I.").as_bytes(), &place, &Limits::default());
        assert!(!examination.loads(), "{name:?}");
        assert_eq!(codes(&examination.lenient()), ["E-NAME-MISSING"]);
    }
}

#[test]
fn what_looks_like_a_blank_makes_no_other_name() {
    for c in ["\u{3164}", "\u{115f}", "\u{1160}", "\u{ffa0}", "\u{34f}"] {
        let name = format!("de{c}mo");
        assert_eq!(Identity::of(&name), Identity::of("demo"), "{name:?}");
    }
    assert_ne!(Identity::of("de\u{2800}mo"), Identity::of("demo"));
}

#[test]
fn a_name_that_nobody_can_call_is_not_loaded() {
    for (chars, told) in [
        (64, &[][..]),
        (65, &["W-NAME-LONG"]),
        (256, &["W-NAME-LONG"]),
        (257, &["E-NAME-LONG"]),
    ] {
        for letter in ["n", "\u{e9}"] {
            let examination = examined(&text(&letter.repeat(chars), "I."));
            assert_eq!(codes(&examination.lenient()), told, "{chars}");
            assert_eq!(examination.is_valid(), chars == 64);
        }
    }
}
