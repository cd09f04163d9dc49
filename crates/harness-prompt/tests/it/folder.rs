//! Reading folders of prompts.

use std::fs;
use std::path::Path;

use harness_prompt::{Diagnostic, Kind, Layer, Library, Limits, SystemPromptValues};
use serde_json::json;
use tempfile::TempDir;

/// A folder with these files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        put(folder.path(), path, text);
    }
    folder
}

fn put(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The diagnostics, with paths below `folder`.
fn told(diagnostics: &[Diagnostic], folder: &Path) -> String {
    let shown = diagnostics.iter().map(ToString::to_string);
    let shown: Vec<_> = shown
        .map(|line| line.replace(&format!("{}/", folder.display()), ""))
        .collect();
    shown.join("\n")
}

fn read(folder: &Path) -> (Library, String) {
    let mut library = Library::new();
    let diagnostics = library.read_folder(Layer::Project, folder);
    let told = told(&diagnostics, folder);
    (library, told)
}

/// What of a library came from files: `kind name`.
fn names(library: &Library) -> Vec<String> {
    let all = library.list();
    let read = all.iter().filter(|listed| listed.source.is_some());
    read.map(|listed| match listed.kind {
        Kind::Command => format!("/{}", listed.name),
        _ => listed.name.to_owned(),
    })
    .collect()
}

#[test]
fn commands_and_templates_are_read() {
    let folder = tree(&[
        ("review.md", "---\ndescription: Reviews\n---\nReview $1.\n"),
        ("notes/readme.md", "no command"),
        ("mine.hbs", "mine"),
        (
            "system-prompt/role.hbs",
            "You are {{#if tools}}armed{{else}}harmless{{/if}}.\n",
        ),
        ("other.txt", "no prompt"),
        (".git/x.md", "hidden"),
        (".x.md", "hidden"),
    ]);
    let (library, told) = read(folder.path());
    assert_eq!(told, "");
    assert_eq!(names(&library), ["mine", "system-prompt/role", "/review"]);
    assert_eq!(
        library.expand("/review a.rs").unwrap().as_deref(),
        Some("Review a.rs.")
    );
    // The parameters of the built-in template are inherited.
    let values = SystemPromptValues::default();
    let prompt = library.templates().system_prompt(&values).unwrap();
    assert_eq!(&*prompt[0].text, "You are harmless.");
    let role = library.templates().get("system-prompt/role").unwrap();
    assert_eq!(role.parameters().len(), 7);
}

#[test]
fn a_template_file_declares_its_parameters() {
    let folder = tree(&[(
        "t.hbs",
        "---\n\
         description: A test\n\
         parameters:\n\
         - name: who\n\
         \x20 type: text\n\
         \x20 description: whom to greet\n\
         - {name: version, type: text, default: 1.10}\n\
         - {name: count, type: number, default: 3}\n\
         - {name: list, type: list, default: [a, 1, true, {k: v}]}\n\
         - {name: note, type: text, required: false}\n\
         - {name: flag, type: bool, required: no-such}\n\
         ---\n\
         {{who}} {{version}} {{count}}{{#each list}} {{#if this.k}}{{k}}{{else}}{{this}}{{/if}}{{/each}}{{note}}\n",
    )]);
    let (_, wrong) = read(folder.path());
    assert_eq!(
        wrong,
        "t.hbs:11: `required` has to be true or false, but is the text `no-such`"
    );
    let path = folder.path().join("t.hbs");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("no-such", "false")).unwrap();
    let (library, told) = read(folder.path());
    assert_eq!(told, "");
    let template = library.templates().get("t").unwrap();
    assert_eq!(template.description(), "A test");
    let shown: Vec<_> = template
        .parameters()
        .iter()
        .map(|p| format!("{} {:?} {} {:?}", p.name, p.kind, p.required, p.default))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let folder = tree(&[
        ("open.hbs", "---\ndescription: x\nbody"),
        ("open.md", "---\ndescription: x\nbody"),
        (
            "syntax.hbs",
            "---\ndescription: x\n---\nline 4\n{{#if a}}\n",
        ),
        ("undeclared.hbs", "---\ndescription: x\n---\n\n\n{{nope}}"),
        (
            "refused.hbs",
            "---\nparameters: [{name: a}]\n---\n\n{{a.[0]}}",
        ),
        (
            "type.hbs",
            "---\nparameters:\n- {name: a, type: texts}\n---\n",
        ),
        (
            "default.hbs",
            "---\nparameters:\n- {name: a, type: list, default: b}\n---\n",
        ),
        (
            "both.hbs",
            "---\nparameters:\n- {name: a, required: true, default: b}\n---\n",
        ),
        ("nameless.hbs", "---\nparameters:\n- {type: text}\n---\n"),
        ("plain.hbs", "---\nparameters:\n- a\n---\n"),
        ("twice.hbs", "---\nparameters:\n- name: a\n- name: a\n---\n"),
        (
            "typo.hbs",
            "---\nparameter: []\nparameters:\n- {name: a, tpye: text}\n---\n{{a}}",
        ),
        ("unknown.hbs", "\n{{> nowhere}}"),
        ("a b.md", "x"),
        ("a.b.hbs", "x"),
        ("nul.md", "a\nb\0"),
        ("bom.hbs", "\u{feff}---\r\ndescription: fine\r\n---\r\nfine"),
    ]);
    fs::write(folder.path().join("latin.md"), b"a\nb\xe4").unwrap();
    fs::write(folder.path().join("latin.hbs"), b"\xff").unwrap();
    let (library, told) = read(folder.path());
    insta::assert_snapshot!(told);
    assert_eq!(names(&library), ["bom", "typo", "unknown"]);
    assert_eq!(library.templates().render("bom", &()).unwrap(), "fine");
}

#[test]
fn a_broken_override_falls_back_to_the_layer_below() {
    let mut library = Library::new();
    let user = tree(&[
        ("system-prompt/role.hbs", "user"),
        ("session-title.hbs", "user"),
    ]);
    let project = tree(&[
        ("system-prompt/role.hbs", "{{> system-prompt}}"),
        ("session-title.hbs", "{{#if"),
        ("system-prompt/rules.hbs", "{{> nowhere}}"),
    ]);
    assert_eq!(library.read_folder(Layer::User, user.path()), []);
    let diagnostics = library.read_folder(Layer::Project, project.path());
    insta::assert_snapshot!(told(&diagnostics, project.path()));
    let templates = library.templates();
    assert_eq!(templates.render("system-prompt/role", &()).unwrap(), "user");
    let values = json!({ "first_message": "hello" });
    assert_eq!(templates.render("session-title", &values).unwrap(), "user");
    assert!(
        templates
            .system_prompt(&SystemPromptValues::default())
            .unwrap()
            .len()
            >= 2
    );
}

#[test]
fn a_missing_folder_is_nothing() {
    let folder = tree(&[("file", "")]);
    for path in ["nowhere", "nowhere/below", "file/below"] {
        assert_eq!(read(&folder.path().join(path)).1, "", "{path}");
    }
    let file = folder.path().join("file");
    assert!(read(&file).1.ends_with("this is no folder"));
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn prompt_01_links_are_followed_once() {
        let outside = tree(&[("a.md", "CANARY $1"), ("more/part.hbs", "part")]);
        let folder = tree(&[
            ("real.md", "real"),
            ("sub/x.hbs", "x"),
            ("z/deep/y.hbs", "y"),
        ]);
        let root = folder.path();
        let link = |to: &Path, name: &str| symlink(to, root.join(name)).unwrap();
        link(&outside.path().join("a.md"), "a.md");
        link(&outside.path().join("more"), "more");
        // Circles, of folders and of links.
        link(root, "sub/loop");
        link(Path::new("."), "self");
        link(Path::new("circle.md"), "circle.md");
        // A second way to what has a name here.
        link(&root.join("real.md"), "also.md");
        link(&root.join("z/deep"), "b");
        link(Path::new("nowhere"), "broken.md");
        link(Path::new("nowhere"), "broken");
        let (library, told) = read(root);
        assert_eq!(
            names(&library),
            ["more/part", "sub/x", "z/deep/y", "/a", "/real"]
        );
        assert_eq!(library.expand("/a b").unwrap().as_deref(), Some("CANARY b"));
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(lines.len(), 3, "{told}");
        assert!(lines[0].starts_with("also.md: this is the same file as real.md"));
        assert!(lines[1].starts_with("broken.md: the link cannot be followed"));
        assert!(lines[2].starts_with("circle.md: the link cannot be followed"));
        // The folder itself may be a link.
        let parent = TempDir::new().unwrap();
        symlink(root, parent.path().join("prompts")).unwrap();
        assert_eq!(
            names(&read(&parent.path().join("prompts")).0),
            names(&library)
        );
        symlink("gone", parent.path().join("dangling")).unwrap();
        assert_ne!(read(&parent.path().join("dangling")).1, "");
    }

    /// A pipe that nobody writes to would block for ever.
    #[test]
    fn special_files_are_not_opened() {
        let folder = tree(&[("real.md", "x")]);
        let pipe = folder.path().join("pipe.md");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let _socket = UnixListener::bind(folder.path().join("socket.hbs")).unwrap();
        symlink("/dev/zero", folder.path().join("zero.md")).unwrap();
        symlink(&pipe, folder.path().join("link.hbs")).unwrap();
        let (library, told) = read(folder.path());
        assert_eq!(names(&library), ["/real"]);
        assert_eq!(
            told.lines()
                .filter(|line| line.contains("no regular file"))
                .count(),
            4,
            "{told}"
        );
    }

    #[test]
    fn odd_names_are_told() {
        let folder = tree(&[("real.md", "x")]);
        for name in [&b"\xff.md"[..], b"\xff.txt", b"\xff-folder"] {
            let path = folder.path().join(OsStr::from_bytes(name));
            if name.ends_with(b"folder") {
                fs::create_dir(path).unwrap();
            } else {
                fs::write(path, "x").unwrap();
            }
        }
        put(folder.path(), "line\nbreak.md", "x");
        fs::create_dir(folder.path().join("folder.md")).unwrap();
        let (library, told) = read(folder.path());
        assert_eq!(names(&library), ["/real"]);
        assert_eq!(told.matches("its name is not UTF-8").count(), 2, "{told}");
        assert!(told.contains("`line\\nbreak` is no name"), "{told}");
    }
}

#[test]
fn a_folder_is_bounded() {
    let folder = tree(&[("a.md", "12345"), ("b.md", "12345"), ("c/d/e.hbs", "1234")]);
    let read_with = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        let mut library = Library::new().with_limits(limits);
        let diagnostics = library.read_folder(Layer::User, folder.path());
        (names(&library).join(" "), told(&diagnostics, folder.path()))
    };
    assert_eq!(read_with(|_| {}), ("c/d/e /a /b".into(), String::new()));
    let left_out = |message: &str| message.to_owned();
    assert_eq!(
        read_with(|limits| limits.folder_depth = 1),
        (
            "/a /b".into(),
            left_out("c/d: folders are read 1 levels deep; this one is left out")
        )
    );
    assert_eq!(
        read_with(|limits| limits.folder_entries = 4),
        (
            "/a /b".into(),
            left_out("c/d: there are more than 4 files and folders; this one is left out")
        )
    );
    assert_eq!(read_with(|limits| limits.folder_entries = 2).0, "");
    assert_eq!(
        read_with(|limits| limits.folder_files = 2),
        (
            "/a /b".into(),
            left_out("c/d/e.hbs: more than 2 files; this one is left out")
        )
    );
    assert_eq!(
        read_with(|limits| limits.folder_bytes = 9),
        (
            "c/d/e /a".into(),
            left_out("b.md: more than 9 bytes in all; this one is left out")
        )
    );
    let huge = tree(&[("a.md", &"x".repeat(300_000)), ("b.md", "x")]);
    let (library, told) = read(huge.path());
    assert_eq!(names(&library), ["/b"]);
    assert_eq!(told, "a.md: the file has more than 262144 bytes");
}

/// What a project brings along can neither read files nor run for long.
#[test]
fn prompt_10_a_template_of_a_project_has_no_way_out() {
    let secret = tree(&[("secret.hbs", "CANARY"), ("secret", "CANARY")]);
    let path = secret.path().join("secret").display().to_string();
    for source in [
        "{{> PATH}}",
        "{{> /etc/passwd}}",
        "{{> ../secret}}",
        "{{include \"PATH\"}}",
        "{{import \"PATH\"}}",
        "{{#> PATH}}{{/PATH}}",
        "{{#*inline \"PATH\"}}{{/inline}}",
        "{{{{raw}}}}{{{{/raw}}}}",
        "---\ndescription: !include PATH\ninclude: PATH\n---\n{{include}}",
        "{{env.HOME}}",
    ] {
        let folder = tree(&[("system-prompt/role.hbs", &source.replace("PATH", &path))]);
        let (library, told) = read(folder.path());
        assert_ne!(told, "", "{source}");
        let prompt = library
            .templates()
            .system_prompt(&SystemPromptValues::default());
        let prompt = format!("{prompt:?}");
        assert!(
            !prompt.contains("CANARY") && !prompt.contains("root:"),
            "{source}"
        );
        assert!(prompt.contains("coding assistant"), "{source}: {prompt}");
    }
}

#[test]
fn prompt_10_a_template_of_a_project_ends_soon() {
    let loops = |levels: usize| {
        let open = "{{#each @root.tools}}".repeat(levels);
        format!("{open}{{{{/x}}}}").replace("{{/x}}", &"{{/each}}".repeat(levels))
    };
    let folder = tree(&[("system-prompt/role.hbs", &loops(8))]);
    let (library, told) = read(folder.path());
    assert_eq!(told, "");
    let values = json!({ "tools": vec!["x"; 1000] });
    let error = library
        .templates()
        .render("system-prompt/role", &values)
        .unwrap_err();
    assert!(
        error.to_string().contains("number of steps is limited to"),
        "{error}"
    );
}

/// As many files as there may be, each including as much as it may, in circles and into the void.
#[test]
fn prompt_10_many_templates_are_sorted_out_soon() {
    for target in ["nowhere", "t000"] {
        let files: Vec<_> = (0..256)
            .map(|number| {
                let next = format!("t{:03}", (number + 1) % 256);
                let next = if number == 255 { target } else { &next };
                (
                    format!("t{number:03}.hbs"),
                    format!("{{{{> {next}}}}}").repeat(20),
                )
            })
            .collect();
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let folder = tree(&files);
        let (library, told) = read(folder.path());
        assert_eq!(told.lines().count(), 256, "{told}");
        let prompt = library
            .templates()
            .system_prompt(&SystemPromptValues::default());
        assert!(prompt.is_ok());
    }
}

#[test]
fn prompt_10_many_tags_are_not_parsed() {
    let files: Vec<_> = (0..8).map(|number| format!("t{number}.hbs")).collect();
    let text = "{{! x}}".repeat(2_000);
    let files: Vec<_> = files
        .iter()
        .map(|path| (path.as_str(), text.as_str()))
        .collect();
    let folder = tree(&files);
    let (library, told) = read(folder.path());
    assert_eq!(names(&library).len() + told.lines().count(), 8, "{told}");
    assert!(told.contains("take too long to parse"), "{told}");
}
