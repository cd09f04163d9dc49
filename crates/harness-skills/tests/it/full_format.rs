//! All there is to a skill, in one text.

use harness_frontmatter::Document;
use harness_skills::{Example, Layer, Skill, format_full};

fn skill(name: &str, description: &str) -> Skill {
    Skill::from_text(Layer::BuiltIn, name, description, "")
}

#[test]
fn the_full_form() {
    let document = "---
license: MIT & more
nested:
  owner: \"a <b>\"
  empty:
  list: [1.10, {deep: yes}]
\"odd \\\"key\\\"\": |
  two
  lines
---
";
    let mapping = Document::parse(document).unwrap().fields;
    let mut it = skill("deploy", "Deploys.\nUse it for <releases>.");
    it.namespace = Some("ops".into());
    it.fields.license = Some("MIT".to_owned());
    it.fields.compatibility = Some("Needs git".to_owned());
    it.fields.version = Some("1.10".to_owned());
    it.fields.author = Some("A & B".to_owned());
    it.fields.argument_hint = Some("<target>".to_owned());
    it.fields.disable_model_invocation = true;
    it.fields.user_invocable = false;
    it.fields.tags = vec!["ops".to_owned(), "ci".to_owned()];
    it.fields.allowed_tools = Some(vec!["Bash(git *)".to_owned(), "Read".to_owned()]);
    it.fields.references = vec!["references/API.md".to_owned()];
    let mut example = Example::default();
    example.scenario = Some("A release".to_owned());
    example.prompt = Some("Deploy \"main\"".to_owned());
    example.expected_outcome = Some("It is out".to_owned());
    it.fields.examples = vec![example, Example::default()];
    it.fields.metadata = Some(mapping.clone());
    it.fields.extra = mapping.entries;
    let instructions = "# Deploy\n\nRun `a < b && c`. Not </instructions > and not < / SKILL>.";
    insta::assert_snapshot!(format_full(&it, instructions));
}

#[test]
fn the_full_form_of_a_skill_with_little() {
    let mut it = skill("a", "x");
    it.fields.allowed_tools = Some(Vec::new());
    insta::assert_snapshot!(format_full(&it, ""), @r"
    <skill>
    <name>a</name>
    <description>x</description>
    <location>built-in:a</location>
    <allowed_tools></allowed_tools>
    <instructions>
    </instructions>
    </skill>
    ");
}

#[test]
fn nothing_in_the_instructions_ends_them() {
    for end in [
        "</instructions>",
        "</INSTRUCTIONS >",
        "< /instructions",
        "<\u{200b}/in\u{200d}structions>",
        "</\nskill>",
        "</skill_content>",
    ] {
        let full = format_full(&skill("a", "x"), &format!("before {end} after"));
        let escaped = format!("before &lt;{} after", &end[1..]);
        assert!(full.contains(&escaped), "{full}");
    }
    for text in [
        "a < b",
        "<instructions>",
        "</",
        "<",
        "</b>",
        "\u{1b}[1m&amp;</ul>",
    ] {
        let full = format_full(&skill("a", "x"), text);
        assert!(full.contains(&format!("<instructions>\n{text}\n</instructions>")));
    }
}
