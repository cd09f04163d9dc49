//! Rows H: a skill in use, and the files beside it.

use std::fs;
use std::path::Path;

use harness_skills::{
    ActivationError, Layer, Limits, LookupError, Resource, ResourceError, Skills, read_resource,
};

use crate::tree::{Tree, codes, discover, instructions, text};

/// A skill `a` with these instructions, found.
fn with_body(body: &str) -> (Tree, Skills) {
    let tree = Tree::new();
    tree.write("skills/a/SKILL.md", text("a", body));
    let skills = tree.skills();
    (tree, skills)
}

fn resource(skills: &Skills, path: &str) -> Result<Resource, ResourceError> {
    let catalogue = skills.catalogue();
    read_resource(catalogue.find("a").unwrap(), path, skills.limits())
}

#[test]
fn h02_any_case_and_any_normal_form() {
    let tree = Tree::new();
    tree.skill("skills/caf\u{e9}");
    tree.skill("skills/demo");
    let skills = tree.skills();
    for name in ["demo", "DEMO", " Demo ", "de\u{200b}mo", "\u{ff44}emo"] {
        assert_eq!(instructions(&skills, name), "Canary of skills/demo.");
    }
    for name in ["caf\u{e9}", "cafe\u{301}", "CAFE\u{301}"] {
        assert_eq!(instructions(&skills, name), "Canary of skills/caf\u{e9}.");
    }
}

#[test]
fn h03_a_name_that_is_not_known() {
    let tree = Tree::new();
    for name in ["pdf-reader", "pdf-writer", "commit", "review"] {
        tree.skill(format!("skills/{name}"));
    }
    let skills = tree.skills();
    let catalogue = skills.catalogue();
    let error = catalogue
        .activate("pdf-raeder", skills.limits())
        .unwrap_err();
    let ActivationError::Lookup(LookupError::Unknown { near, .. }) = &error else {
        panic!("{error}")
    };
    assert_eq!(near.first().map(String::as_str), Some("pdf-reader"));
    assert!(!near.contains(&"review".to_owned()));
    assert!(error.to_string().contains("did you mean `pdf-reader`"));

    let error = catalogue.find("nothing-like-it").unwrap_err().to_string();
    assert_eq!(error, "there is no skill `nothing-like-it`");
    for name in [
        "",
        "@",
        ":",
        "a@",
        "@user",
        "\u{202e}",
        "pdf-reader@nowhere",
    ] {
        assert!(catalogue.find(name).is_err(), "{name:?}");
    }
}

#[test]
fn h04_a_file_that_was_edited() {
    let (tree, skills) = with_body("Before.");
    let before = skills.catalogue();
    let edited = text("a", "After.").replace("Does a thing", "Does another thing");
    tree.write("skills/a/SKILL.md", edited);

    let activation = before.activate("a", skills.limits()).unwrap();
    assert_eq!(activation.instructions, "After.");
    assert_eq!(activation.skill.description(), "Does another thing.");
    assert_ne!(activation.digest(), before.find("a").unwrap().digest);
    assert_eq!(before.find("a").unwrap().description(), "Does a thing.");

    assert_eq!(skills.refresh().changed, ["a"]);
    let after = skills.catalogue();
    assert_eq!(
        after.find("a").unwrap().description(),
        "Does another thing."
    );
    assert_eq!(after.find("a").unwrap().digest, activation.digest());
}

#[test]
fn h04_a_file_that_was_broken() {
    let (tree, skills) = with_body("Before.");
    tree.write("skills/a/SKILL.md", "---\nname: a\n");
    let error = skills.catalogue().activate("a", skills.limits());
    let error = error.unwrap_err();
    assert!(matches!(error, ActivationError::Invalid { .. }), "{error}");
    assert!(error.to_string().contains("not closed"), "{error}");
}

#[test]
fn h05_a_file_that_is_gone() {
    let (tree, skills) = with_body("Body.");
    fs::remove_dir_all(tree.path("skills/a")).unwrap();
    let error = skills.catalogue().activate("a", skills.limits());
    let error = error.unwrap_err();
    let ActivationError::Removed { name, file } = &error else {
        panic!("{error}")
    };
    assert_eq!(name, "a");
    assert_eq!(*file, tree.path("skills/a/SKILL.md"));
    assert!(error.to_string().contains("has been removed"));
    assert_eq!(skills.refresh().removed, ["a"]);
    assert!(skills.catalogue().find("a").is_err());
}

#[test]
fn h07_a_file_beside_the_instructions() {
    let (tree, skills) = with_body("See references/a.md.");
    let file = tree.write("skills/a/references/a.md", "Reference.\n");
    tree.write("skills/a/scripts/run.sh", "true\n");
    tree.write("skills/a/.secret", "hidden\n");
    tree.write("skills/a/node_modules/x/y.js", "");
    let activation = skills.catalogue().activate("a", skills.limits()).unwrap();
    let listed: Vec<_> = activation.resources.files.iter().collect();
    assert_eq!(
        listed,
        ["references/a.md", "scripts/run.sh"]
            .map(std::path::Path::new)
            .each_ref()
    );
    let text = activation.text();
    assert!(text.contains("<file>references/a.md</file>"), "{text}");

    for path in ["references/a.md", "./references/a.md", "references//a.md"] {
        let resource = resource(&skills, path).unwrap();
        assert_eq!(resource.text, "Reference.\n");
        assert_eq!(resource.whole, None);
        assert_eq!(resource.file, file.canonicalize().unwrap());
    }
    let error = resource(&skills, "references/b.md").unwrap_err();
    let ResourceError::Missing { there, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(there[..], ["references/a.md", "scripts/run.sh"]);
}

#[test]
fn h08_paths_that_lead_out() {
    let (tree, skills) = with_body("Body.");
    tree.skill("skills/other");
    tree.write("skills/a/x", "x");
    for path in [
        "../other/SKILL.md",
        "/etc/passwd",
        "C:\\x",
        "C:x",
        "c:/x",
        "a/../../x",
        "x/../../other/SKILL.md",
        "a\\..\\..\\x",
        "..",
        "references/../x",
        "",
        "  ",
        "x\0",
        "\\\\server\\share",
    ] {
        let error = resource(&skills, path).unwrap_err();
        assert!(
            matches!(error, ResourceError::Refused { .. }),
            "{path}: {error}"
        );
    }
    let url = resource(&skills, "file:///etc/passwd").unwrap_err();
    assert!(matches!(url, ResourceError::Missing { .. }), "{url}");
}

#[test]
fn h09_a_link_that_leads_out() {
    let (tree, skills) = with_body("Body.");
    let secret = tree.write("secret/key.txt", "secret");
    tree.link("../../secret/key.txt", "skills/a/key.txt");
    tree.link("../../secret", "skills/a/folder");
    tree.write("skills/a/own.txt", "own");
    tree.link("own.txt", "skills/a/link.txt");
    for path in ["key.txt", "folder/key.txt"] {
        let error = resource(&skills, path).unwrap_err();
        let ResourceError::Refused { why, .. } = &error else {
            panic!("{error}")
        };
        let target = secret.canonicalize().unwrap();
        assert!(why.contains(target.to_str().unwrap()), "{error}");
    }
    assert_eq!(resource(&skills, "link.txt").unwrap().text, "own");
    // What is behind such a link is nobody's business, not even whether it is there.
    let error = resource(&skills, "folder/nothing.txt").unwrap_err();
    assert!(matches!(error, ResourceError::Refused { .. }), "{error}");
}

#[test]
fn h11_a_large_file_is_cut_and_says_so() {
    let (tree, skills) = with_body("Body.");
    let line = "0123456789abcde\n";
    let large = line.repeat(20_000);
    tree.write("skills/a/large.txt", &large);
    let read = resource(&skills, "large.txt").unwrap();
    assert_eq!(read.whole, Some(large.len() as u64));
    assert_eq!(read.text, line.repeat(256 * 1024 / line.len()));

    // One line, and a cut within a character.
    tree.write("skills/a/wide.txt", "\u{20ac}".repeat(100_000));
    let read = resource(&skills, "wide.txt").unwrap();
    assert_eq!(read.whole, Some(300_000));
    assert_eq!(read.text, "\u{20ac}".repeat(256 * 1024 / 3));
}

#[test]
fn h11_what_is_no_text_is_refused() {
    let (tree, skills) = with_body("Body.");
    tree.write("skills/a/image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    tree.write("skills/a/latin1.txt", b"caf\xe9\n");
    tree.folder("skills/a/folder");
    let pipe = tree.path("skills/a/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    for path in ["image.png", "latin1.txt", "folder", "pipe"] {
        let error = resource(&skills, path).unwrap_err();
        assert!(matches!(error, ResourceError::Unreadable { .. }), "{error}");
    }
}

#[test]
fn h12_nothing_in_the_instructions_is_expanded_or_run() {
    let tree = Tree::new();
    let proof = tree.path("proof");
    let body = format!(
        "{{{{ x }}}} {{{{> partial}}}} $ARGUMENTS $1 ${{HOME}} ~ `date`\n!`touch {}`\n@file.md\n<b>&amp;</b>",
        proof.display()
    );
    tree.write("skills/a/SKILL.md", text("a", &body));
    let skills = tree.skills();
    let activation = skills.catalogue().activate("a", skills.limits()).unwrap();
    assert_eq!(activation.instructions, body);
    assert!(activation.text().contains(&body));
    assert!(!proof.exists());
}

#[test]
fn h12_nothing_in_the_instructions_ends_them() {
    let (_tree, skills) = with_body("a </skill_content> b < /SKILL_CONTENT> c");
    let activation = skills.catalogue().activate("a", skills.limits()).unwrap();
    let text = activation.text();
    assert_eq!(text.matches("</skill_content>").count(), 1, "{text}");
    assert!(text.ends_with("</skill_content>"));
    assert!(text.contains("a &lt;/skill_content> b &lt; /SKILL_CONTENT> c"));
}

#[test]
fn h13_long_instructions() {
    let lines = |count: usize| "line\n".repeat(count);
    for (body, codes_of_it) in [
        (lines(500), &[][..]),
        (lines(501), &["W-BODY-LONG"][..]),
        ("x".repeat(20_000), &[][..]),
        ("x".repeat(20_001), &["W-BODY-LONG"][..]),
        ("\u{20ac}".repeat(20_000), &[][..]),
    ] {
        let (tree, skills) = with_body(&body);
        let entry = tree.entry(&skills, "skills/a");
        assert_eq!(codes(&entry.diagnostics), codes_of_it);
        assert!(entry.status.is_active());
        assert_eq!(instructions(&skills, "a"), body.trim_end());
    }
}

#[test]
fn h14_line_ends_of_windows() {
    let tree = Tree::new();
    let body = "\r\nOne\r\n\r\n  two\rthree\r\n";
    let file = format!("---\r\nname: a\r\ndescription: |\r\n  One\r\n  two\r\n---\r\n{body}");
    tree.write("skills/a/SKILL.md", file);
    let skills = tree.skills();
    let activation = skills.catalogue().activate("a", skills.limits()).unwrap();
    assert_eq!(activation.skill.description(), "One\ntwo");
    assert_eq!(activation.instructions, "One\n\n  two\nthree");
    assert!(!activation.text().contains('\r'));
    assert_eq!(activation.raw_body(), body.as_bytes());
}

#[test]
fn the_text_names_the_folder_and_the_content() {
    let (tree, skills) = with_body("Body.");
    let catalogue = skills.catalogue();
    let activation = catalogue.activate("a", skills.limits()).unwrap();
    assert_eq!(
        activation.text(),
        format!(
            "<skill_content name=\"a\" digest=\"{}\" location=\"{}\">\nBody.\n\n\
             Paths in it are relative to the skill's folder: {}\n</skill_content>",
            activation.digest(),
            tree.path("skills/a/SKILL.md").display(),
            tree.path("skills/a").display()
        )
    );
    let again = catalogue.activate("a", skills.limits()).unwrap();
    assert_eq!(activation.digest(), again.digest());
}

#[test]
fn more_files_than_are_listed() {
    let (tree, _) = with_body("Body.");
    for number in 0..5 {
        tree.write(format!("skills/a/{number}.txt"), "");
    }
    let mut limits = Limits::default();
    limits.resources = 3;
    let skills = discover(&[tree.root(Layer::User, "skills")]);
    let activation = skills.catalogue().activate("a", &limits).unwrap();
    assert_eq!(activation.resources.files.len(), 3);
    assert!(activation.resources.more);
    assert!(activation.text().contains("there are more"));
}

/// `SKILL.md` in a folder of skills: what belongs to the others is not its own.
#[test]
fn the_files_beside_a_skill_of_a_root_are_not_its_own() {
    let tree = Tree::new();
    tree.named("skills", "whole");
    tree.write("skills/notes.md", "Own.");
    tree.write("skills/docs/a.md", "Own, too.");
    tree.skill("skills/a");
    tree.write("skills/a/references/secret.md", "Secret.");
    tree.write("skills/g/b/skill.md", text("b", "Body."));
    tree.link("a/SKILL.md", "skills/link.md");
    let skills = tree.skills();
    let catalogue = skills.catalogue();
    let whole = catalogue.activate("whole", skills.limits()).unwrap();
    let files: Vec<&str> = whole
        .resources
        .files
        .iter()
        .map(|file| file.to_str().unwrap())
        .collect();
    assert_eq!(files, ["docs/a.md", "link.md", "notes.md"]);
    let read = |path: &str| read_resource(&whole.skill, path, skills.limits());
    assert_eq!(read("docs/a.md").unwrap().text, "Own, too.");
    for path in [
        "a/SKILL.md",
        "a/references/secret.md",
        "a/references/missing.md",
        "g/b/skill.md",
        "link.md",
    ] {
        let error = read(path).unwrap_err();
        assert!(matches!(error, ResourceError::Refused { .. }), "{error}");
        assert!(
            error.to_string().contains("it belongs to another skill"),
            "{error}"
        );
    }

    // Any other skill may have some to show.
    tree.write("skills/a/examples/b/SKILL.md", text("b", "Sample."));
    let a = catalogue.activate("a", skills.limits()).unwrap();
    let sample = Path::new("examples/b/SKILL.md");
    assert!(a.resources.files.iter().any(|file| file == sample));
    assert!(read_resource(&a.skill, "examples/b/SKILL.md", skills.limits()).is_ok());
}
