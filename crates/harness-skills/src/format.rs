//! The list of skills that a model is shown.

use crate::escape::{escaped, escaped_chars, escaped_path, lines};
use crate::name::{one_line, shown, visible};
use crate::skill::Skill;

use unicode_segmentation::UnicodeSegmentation;

/// The fewest characters that a description is shortened to; fewer do not tell when to use a skill.
const LEAST: usize = 40;

/// The part of a budget that one skill may have for its name and location alone, and the characters that
/// it may always have: one with a very long path or name shall not cost all others theirs.
const SHARE: usize = 8;
const FAIR: usize = 512;

const OPEN: &str = "<available_skills>\n";
const CLOSE: &str = "</available_skills>";

/// How skills are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A line for each skill, descriptions in one line.
    #[default]
    Compact,
    /// As `skills-ref to-prompt` of the standard has it: a line for each tag and each value, descriptions
    /// in their own lines.
    Reference,
}

/// How skills are formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatOptions {
    /// The layout. Default: [`Format::Compact`].
    pub format: Format,
    /// The most characters (Unicode scalar values) of the whole text, tags and note included. Default: no
    /// bound.
    pub budget: Option<usize>,
    /// Whether what is special between tags is escaped in locations too. `false` is byte-exact to
    /// releases of `skills-ref` that did not, and lets a path pass for a tag. Default: `true`.
    pub escape_location: bool,
    /// How the skills that are not listed can be had, as a sentence for the model: "`load_skill` loads
    /// them by name." It follows the number of those that are missing. Default: none, for only the caller
    /// knows.
    pub hint: Option<String>,
}

impl Default for FormatOptions {
    fn default() -> Self {
        Self {
            format: Format::default(),
            budget: None,
            escape_location: true,
            hint: None,
        }
    }
}

impl FormatOptions {
    /// With this layout.
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// With at most so many characters.
    pub fn with_budget(mut self, characters: usize) -> Self {
        self.budget = Some(characters);
        self
    }

    /// With locations as they are, as some releases of `skills-ref` have them.
    pub fn with_raw_locations(mut self) -> Self {
        self.escape_location = false;
        self
    }

    /// With a sentence about how to have what is not listed.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A list of skills, and what it does not have for want of room. Names are as [`Skill::name`] gives them,
/// in the order of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormattedSkills {
    /// The block `<available_skills>`, without a line end behind it. Empty if there are no skills, or no
    /// room.
    pub text: String,
    /// Those whose description was shortened.
    pub shortened: Vec<String>,
    /// Those that are listed without their description.
    pub names_only: Vec<String>,
    /// Those that are not listed.
    pub omitted: Vec<String>,
}

impl FormattedSkills {
    /// Whether all skills are there, with all of their descriptions.
    pub fn is_whole(&self) -> bool {
        self.shortened.is_empty() && self.names_only.is_empty() && self.omitted.is_empty()
    }
}

/// The block `<available_skills>`: name, description and location of the skills that are given, and of no
/// others. Names, descriptions and locations are escaped once, and have no characters that cannot be seen.
///
/// The skills are sorted by [`Skill::identity`] and then by location, so the same skills give the same
/// bytes in whatever order they come, and while there is room for all, another skill changes no byte of
/// those that were there. Without skills the text is empty.
///
/// If there is a [budget](FormatOptions::budget), and it is not enough, skills whose name and location alone
/// take more than an eighth of it, and more than 512 characters, are left out. With the others three
/// things happen, each only when the one before is not enough. A skill ranks by its `precedence`, the
/// smallest first, and by its place in the list.
///
/// 1. The longest descriptions are shortened, all to the same length, between words where possible.
/// 2. When that would leave fewer than 40 characters, descriptions are left out, lowest rank first.
/// 3. When there is no room for all names and locations, each that has no room beside those of higher rank
///    is left out.
///
/// A comment says how many were left out, with the [hint](FormatOptions::hint). When there is not even room
/// for that comment, the text is empty.
///
/// ```
/// use harness_skills::{FormatOptions, Layer, Skill, format_skills};
///
/// let skills = [
///     Skill::from_text(Layer::BuiltIn, "review", "Reads a diff, and says what is wrong.", ""),
///     Skill::from_text(Layer::BuiltIn, "commit", "Use it for <any> commit.", ""),
/// ];
/// assert_eq!(
///     format_skills(&skills, &FormatOptions::default()).text,
///     "\
/// <available_skills>
/// <skill><name>commit</name><description>Use it for &lt;any&gt; commit.</description>\
/// <location>built-in:commit</location></skill>
/// <skill><name>review</name><description>Reads a diff, and says what is wrong.</description>\
/// <location>built-in:review</location></skill>
/// </available_skills>"
/// );
/// ```
pub fn format_skills<'s>(
    skills: impl IntoIterator<Item = &'s Skill>,
    options: &FormatOptions,
) -> FormattedSkills {
    let mut entries = entries(skills, options);
    if entries.is_empty() {
        return FormattedSkills::default();
    }
    let budget = options.budget.unwrap_or(usize::MAX);
    let frame = OPEN.len() + CLOSE.len();
    let Some(room) = budget.checked_sub(frame) else {
        return listed(&entries, &[], 0, options);
    };
    leave_out_the_longest(&mut entries, room, budget, options.format);
    // By rank, as places in the list. The sort is stable.
    let mut ranked: Vec<(usize, &Entry<'_>)> = entries.iter().enumerate().collect();
    ranked.retain(|(_, entry)| !entry.is_left_out);
    ranked.sort_by_key(|(_, entry)| entry.skill.precedence);

    let note = note(entries.len() - ranked.len(), options);
    let names: usize = ranked.iter().map(|(_, entry)| entry.chars).sum();
    match room.checked_sub(names + note.chars().count()) {
        Some(room) => described(&entries, &ranked, room, &note, options.format),
        None => listed(&entries, &ranked, room, options),
    }
}

/// Marks those that take too much by name and location alone, unless there is room for everything.
fn leave_out_the_longest(entries: &mut [Entry<'_>], room: usize, budget: usize, format: Format) {
    let most = (budget / SHARE).max(FAIR);
    if entries.iter().all(|entry| entry.chars <= most) {
        return;
    }
    let all: usize = entries
        .iter()
        .map(|entry| {
            let chars = escaped_chars(&entry.description(format));
            let tags = if chars == 0 { 0 } else { tags(format) };
            entry.chars + tags + chars
        })
        .sum();
    if all > room {
        for entry in entries {
            entry.is_left_out = entry.chars > most;
        }
    }
}

/// One skill of the list.
struct Entry<'s> {
    skill: &'s Skill,
    /// Escaped.
    name: String,
    /// Escaped.
    location: String,
    /// Characters of the whole entry without its description.
    chars: usize,
    /// Whether it is too long to be listed among others.
    is_left_out: bool,
}

/// The skills in the order of the list.
fn entries<'s>(
    skills: impl IntoIterator<Item = &'s Skill>,
    options: &FormatOptions,
) -> Vec<Entry<'s>> {
    let mut sorted: Vec<(String, &Skill)> = skills
        .into_iter()
        .map(|skill| (skill.location_text(), skill))
        .collect();
    sorted.sort_by(|(a_location, a), (b_location, b)| {
        // What comes behind the location tells skills apart that a caller has made, so that the order in
        // which they are given never shows.
        let by_name = a.identity().cmp(b.identity());
        by_name
            .then_with(|| a_location.cmp(b_location))
            .then_with(|| a.fields.name.cmp(&b.fields.name))
            .then_with(|| a.namespace.cmp(&b.namespace))
            .then_with(|| a.description().cmp(b.description()))
            .then_with(|| a.precedence.cmp(&b.precedence))
    });
    let mut scratch = String::new();
    let entry = |(location, skill): (String, &'s Skill)| {
        let mut entry = Entry {
            skill,
            name: escaped(&shown(&skill.name())),
            location: if options.escape_location {
                escaped_path(&location)
            } else {
                location
            },
            chars: 0,
            is_left_out: false,
        };
        scratch.clear();
        entry.push_to(&mut scratch, "", options.format);
        entry.chars = scratch.chars().count();
        entry
    };
    sorted.into_iter().map(entry).collect()
}

impl Entry<'_> {
    /// Adds it to `out`, with a description that is not escaped yet, or with none if that is empty.
    fn push_to(&self, out: &mut String, description: &str, format: Format) {
        let gap = gap(format);
        out.push_str("<skill>");
        out.push_str(gap);
        push_element(out, "name", &self.name, gap);
        if !description.is_empty() {
            push_element(out, "description", &escaped(description), gap);
        }
        push_element(out, "location", &self.location, gap);
        out.push_str("</skill>\n");
    }

    /// What the list has of the description, before escaping.
    fn description(&self, format: Format) -> String {
        match format {
            Format::Compact => one_line(&visible(self.skill.description())),
            Format::Reference => lines(self.skill.description()),
        }
    }
}

fn push_element(out: &mut String, tag: &str, escaped: &str, gap: &str) {
    for part in ["<", tag, ">", gap, escaped, gap, "</", tag, ">", gap] {
        out.push_str(part);
    }
}

/// What stands between a tag and a value.
fn gap(format: Format) -> &'static str {
    match format {
        Format::Compact => "",
        Format::Reference => "\n",
    }
}

/// Characters of the tags around a description.
fn tags(format: Format) -> usize {
    "<description></description>".len() + 3 * gap(format).len()
}

/// A description, and how much of it there is room for.
struct Description {
    text: String,
    /// Characters once it is escaped.
    chars: usize,
    /// Whether it is shown, shortened or whole.
    shown: bool,
}

/// All that are ranked, and as much of their descriptions as `room` characters hold.
fn described(
    entries: &[Entry<'_>],
    ranked: &[(usize, &Entry<'_>)],
    mut room: usize,
    note: &str,
    format: Format,
) -> FormattedSkills {
    let mut descriptions: Vec<Description> = entries
        .iter()
        .map(|entry| {
            let text = entry.description(format);
            Description {
                chars: escaped_chars(&text),
                text,
                shown: false,
            }
        })
        .collect();

    // Those that can have the least, from the highest rank down to the first that cannot.
    for (at, _) in ranked {
        let Some(description) = descriptions.get_mut(*at) else {
            continue;
        };
        if description.chars == 0 {
            continue;
        }
        let Some(rest) = room.checked_sub(tags(format) + description.chars.min(LEAST)) else {
            break;
        };
        room = rest;
        description.shown = true;
    }
    // Beyond the least, `room` is still to be had.
    let chars = descriptions.iter().filter(|d| d.shown).map(|d| d.chars);
    let cap = even_cap(&chars.collect::<Vec<_>>(), room);

    let mut formatted = FormattedSkills::default();
    let out = &mut formatted.text;
    out.push_str(OPEN);
    for (entry, description) in entries.iter().zip(&descriptions) {
        if entry.is_left_out {
            formatted.omitted.push(entry.skill.name());
        } else if description.chars == 0 {
            entry.push_to(out, "", format);
        } else if description.shown && description.chars <= cap {
            entry.push_to(out, &description.text, format);
        } else if description.shown
            && let Some(short) = shortened(&description.text, cap)
        {
            entry.push_to(out, &short, format);
            formatted.shortened.push(entry.skill.name());
        } else {
            entry.push_to(out, "", format);
            formatted.names_only.push(entry.skill.name());
        }
    }
    out.push_str(note);
    out.push_str(CLOSE);
    formatted
}

/// The largest length, no less than [`LEAST`], to which texts of these lengths can be cut so that what they
/// have beyond [`LEAST`] is `room` characters at most.
fn even_cap(chars: &[usize], room: usize) -> usize {
    let fits = |cap: usize| {
        let beyond = chars
            .iter()
            .map(|&chars| chars.min(cap).saturating_sub(LEAST));
        beyond.sum::<usize>() <= room
    };
    let mut too_much = chars.iter().copied().max().unwrap_or(0).max(LEAST) + 1;
    if fits(too_much) {
        return too_much;
    }
    let mut enough = LEAST;
    while too_much - enough > 1 {
        let middle = enough + (too_much - enough) / 2;
        if fits(middle) {
            enough = middle;
        } else {
            too_much = middle;
        }
    }
    enough
}

/// The beginning of a text that has no more than `cap` characters once it is escaped, the ellipsis behind
/// it included. `None` if not even its first character, with all that combines with it, has room.
fn shortened(text: &str, cap: usize) -> Option<String> {
    let room = cap.saturating_sub(1);
    let (mut end, mut word) = (0, 0);
    let (mut chars, mut word_chars) = (0, 0);
    for (at, cluster) in text.grapheme_indices(true) {
        if cluster.chars().all(char::is_whitespace) {
            (word, word_chars) = (at, chars);
        }
        let more = chars + escaped_chars(cluster);
        if more > room {
            break;
        }
        (end, chars) = (at + cluster.len(), more);
    }
    // A text without spaces, or with a very long word, is cut within it.
    if word_chars >= room / 2 {
        end = word;
    }
    let kept = text.get(..end)?.trim_end();
    (!kept.is_empty()).then(|| format!("{kept}…"))
}

/// As many of those that are ranked as `room` characters hold, by name and location, and how many are
/// missing.
fn listed(
    entries: &[Entry<'_>],
    ranked: &[(usize, &Entry<'_>)],
    room: usize,
    options: &FormatOptions,
) -> FormattedSkills {
    let note_chars = |missing| note(missing, options).chars().count();
    let mut kept = vec![false; entries.len()];
    let mut missing = entries.len();
    let has_note = note_chars(missing) <= room;
    if has_note {
        let mut used = 0;
        let mut less = note_chars(missing - 1);
        for (at, entry) in ranked {
            // One that has no room takes none from those that rank below it.
            if used + entry.chars + less > room {
                continue;
            }
            if let Some(kept) = kept.get_mut(*at) {
                *kept = true;
            }
            used += entry.chars;
            missing -= 1;
            less = note_chars(missing.saturating_sub(1));
        }
    }
    let mut formatted = FormattedSkills::default();
    let mut lines = String::new();
    for (entry, kept) in entries.iter().zip(kept) {
        let name = entry.skill.name();
        if !kept {
            formatted.omitted.push(name);
            continue;
        }
        entry.push_to(&mut lines, "", options.format);
        if !entry.skill.description().trim().is_empty() {
            formatted.names_only.push(name);
        }
    }
    if has_note {
        formatted.text = [OPEN, &lines, &note(missing, options), CLOSE].concat();
    }
    formatted
}

/// How many skills are missing; empty if none is.
fn note(missing: usize, options: &FormatOptions) -> String {
    let mut note = match missing {
        0 => return String::new(),
        1 => "<!-- 1 more skill is not listed.".to_owned(),
        _ => format!("<!-- {missing} more skills are not listed."),
    };
    if let Some(hint) = &options.hint {
        note.push(' ');
        note.push_str(&escaped(&shown(hint)));
    }
    note.push_str(" -->\n");
    note
}
