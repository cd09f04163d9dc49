//! The registry as its users hold it.

use harness_prompt::{Error, Limits, Template, Templates};

use crate::template;

const fn shareable<T: Send + Sync + 'static>() {}
const _: () = {
    shareable::<Templates>();
    shareable::<Template>();
    shareable::<Limits>();
    shareable::<Error>();
};

#[test]
fn templates_are_found_by_name() {
    let templates = Templates::new();
    insta::assert_snapshot!(templates.names().collect::<Vec<_>>().join("\n"), @r"
    branch-summary
    compact-summary
    compact-turn-summary
    session-title
    system-prompt
    system-prompt/context-files
    system-prompt/instructions
    system-prompt/knowledge
    system-prompt/memory
    system-prompt/nested-instructions
    system-prompt/role
    system-prompt/rules
    system-prompt/skills
    system-prompt/tools
    system-prompt/workspace
    ");
    let workspace = templates.get("system-prompt/workspace").unwrap();
    assert_eq!(workspace.name(), "system-prompt/workspace");
    assert!(workspace.source().contains("{{working_dir}}"));
    assert!(
        workspace
            .parameters()
            .iter()
            .all(|p| !p.description.is_empty())
    );
    assert!(matches!(
        templates.get("nope"),
        Err(Error::UnknownTemplate { .. })
    ));
    assert!(matches!(
        templates.render("nope", &()),
        Err(Error::UnknownTemplate { .. })
    ));
}

#[test]
fn a_registry_can_be_shared_by_threads() {
    let templates = Templates::new();
    let values = harness_prompt::SystemPromptValues::default();
    std::thread::scope(|scope| {
        let renders: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| templates.system_prompt(&values).unwrap()))
            .collect();
        let mut all: Vec<_> = renders
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        all.dedup();
        assert_eq!(all.len(), 1);
    });
}

#[test]
fn a_clone_goes_its_own_way() {
    let one = Templates::new();
    let mut two = one.clone();
    two.register(template("system-prompt/workspace", "here", &[]).unwrap())
        .unwrap();
    assert_eq!(two.render("system-prompt/workspace", &()).unwrap(), "here");
    assert!(one.render("system-prompt/workspace", &()).is_err());
}
