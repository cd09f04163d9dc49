//! Rows A: what is around the frontmatter, and the encoding.

use crate::case::rows;

rows! {
    a01_the_least_there_is strict [] lenient [] {
        "name": "demo",
        "description": "Does a thing.",
        "body": "Body text.",
        "raw body": "Body text.\n",
    }
    a05_a_byte_order_mark strict ["E-BOM"] lenient ["W-BOM"] {
        "name": "demo",
        "body": "Body text.",
    }
    a08_blanks_behind_the_dashes strict ["W-DELIM-SPACE"] lenient ["W-DELIM-SPACE"] {
        "body": "Body text.",
    }
    a09_blank_lines_before strict ["E-NO-FRONTMATTER"] lenient ["W-LEADING-BLANK"] {
        "name": "demo",
        "body": "Body text.",
    }
    a10_an_indented_opening strict ["E-NO-FRONTMATTER"] lenient ["E-NO-FRONTMATTER"] {
        "says NO-FRONTMATTER": "is indented; move it to the beginning of its line",
    }
    a13_in_a_block_of_code strict ["E-NO-FRONTMATTER"] lenient ["E-NO-FRONTMATTER"] {
        "says NO-FRONTMATTER": "inside a block of code; the file itself has to begin with `---`",
    }
    a14_markdown_alone strict ["E-NO-FRONTMATTER"] lenient ["E-NO-FRONTMATTER"] {
        "says NO-FRONTMATTER": "the file has no frontmatter: its first line is not `---`; begin with",
    }
    a15_nothing_at_all strict ["E-NO-FRONTMATTER"] lenient ["E-NO-FRONTMATTER"] {
        "says NO-FRONTMATTER": "the file is empty",
    }
    a16_dashes_and_nothing_else strict ["E-UNCLOSED"] lenient ["E-UNCLOSED"] {}
    a17_no_line_between strict ["E-EMPTY-FRONTMATTER"] lenient ["E-EMPTY-FRONTMATTER"] {}
    a18_a_comment_between strict ["E-EMPTY-FRONTMATTER"] lenient ["E-EMPTY-FRONTMATTER"] {}
    a20_closed_by_the_end_of_the_file strict ["W-EMPTY-BODY"] lenient ["W-EMPTY-BODY"] {
        "description": "Does a thing.",
        "body": "",
        "raw body": "",
    }
    a22_four_dashes strict ["E-UNCLOSED"] lenient ["E-UNCLOSED"] {
        "says UNCLOSED": "line 4 looks like one, but has more dashes; write exactly three dashes in line 4",
        "name": "demo",
    }
    a24_dashes_in_a_block strict [] lenient [] {
        "description": "one\n---\ntwo",
        "body": "Body text.",
    }
    a25_dashes_in_a_line strict [] lenient [] { "description": "one --- two" }
    a27_a_rule_in_the_body strict [] lenient [] { "body": "Intro\n\n---\n\nRest" }
    a29_a_second_block strict [] lenient [] {
        "name": "demo",
        "body": "---\nname: other\n---\nX",
    }
    a30_code_first strict [] lenient [] {
        "body": "    code first\ntext  \nend",
        "raw body": "\n\n    code first\ntext  \nend\n\n\n",
    }
    a31_no_body strict ["W-EMPTY-BODY"] lenient ["W-EMPTY-BODY"] { "body": "" }
    a34_a_field_behind_the_dashes strict ["E-NO-FRONTMATTER"] lenient ["E-NO-FRONTMATTER"] {
        "says NO-FRONTMATTER": "put `---` in a line of its own",
    }
    a38_the_file_in_lower_case strict ["W-FILENAME-CASE"] lenient ["W-FILENAME-CASE"] {
        "body": "Body text.",
    }
}
