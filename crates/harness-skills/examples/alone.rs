//! Skills without an agent: finds those of a folder, lists them for a model, and loads one.
//!
//! ```sh
//! cargo run -p harness-skills --example alone -- FOLDER [NAME]
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use harness_skills::{DefaultRoots, FormatOptions, Skills, format_skills};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;

    let mut roots = DefaultRoots::default();
    roots.explicit = vec![folder.into()];
    let skills = Skills::discover(&roots.roots(|_| false));
    let catalogue = skills.catalogue();

    for entry in catalogue.entries() {
        println!(
            "{:<20} {:<8} {}",
            entry.skill.name(),
            entry.status.word(),
            entry.skill.location_text()
        );
        for diagnostic in &entry.diagnostics {
            println!("  {diagnostic}");
        }
    }

    let for_models = catalogue.for_models().map(|skill| &**skill);
    let options = FormatOptions::default().with_budget(8_000);
    println!("\n{}", format_skills(for_models, &options).text);

    if let Some(name) = arguments.next() {
        println!("\n{}", catalogue.activate(&name, skills.limits())?.text());
    }
    Ok(())
}
