//! The outline of all branches.

use std::fmt::Write as _;

use super::escape::attribute;
use crate::export::overview::{Gist, Overview};
use crate::node::NodeKind;

/// Deeper branches are not indented further: there is no room for it.
const DEEPEST: usize = 8;

/// The entries of the outline, each with its nearest forebear that is in it, too.
#[derive(Debug)]
pub(super) struct Outline {
    /// In the order in which they are shown, with their depth. Only forks make it deeper.
    pub(super) rows: Vec<Row>,
}

/// An entry in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) number: u64,
    pub(super) depth: usize,
    /// Whether a branch begins here.
    pub(super) begins: bool,
}

impl Outline {
    pub(super) fn new(overview: &Overview) -> Self {
        // The nearest forebear in the outline; parents come before their children, so one pass finds it.
        let mut near: Vec<Option<usize>> = Vec::with_capacity(overview.entries.len());
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); overview.entries.len()];
        let mut roots = Vec::new();
        for (number, gist) in overview.entries.iter().enumerate() {
            let above = gist
                .parent
                .and_then(|parent| usize::try_from(parent).ok())
                .and_then(|parent| near.get(parent).copied().flatten());
            if gist.is_in_outline() {
                match above.and_then(|above| children.get_mut(above)) {
                    Some(siblings) => siblings.push(number),
                    None => roots.push(number),
                }
                near.push(Some(number));
            } else {
                near.push(above);
            }
        }
        let mut rows = Vec::new();
        let mut waiting = Vec::new();
        branch_off(overview, &roots, 0, &mut waiting);
        while let Some(row) = waiting.pop() {
            rows.push(row);
            let below = usize::try_from(row.number)
                .ok()
                .and_then(|number| children.get(number));
            if let Some(below) = below {
                branch_off(overview, below, row.depth, &mut waiting);
            }
        }
        Self { rows }
    }
}

/// What follows an entry: branches that were left come first and are indented; the one that goes on to the
/// leaf, or else the newest, comes last and is not. So a line down the page is a conversation.
fn branch_off(overview: &Overview, children: &[usize], depth: usize, waiting: &mut Vec<Row>) {
    let on_branch = |child: &&usize| {
        overview
            .entries
            .get(**child)
            .is_some_and(|gist| gist.on_branch)
    };
    let Some(main) = children.iter().find(on_branch).or(children.last()) else {
        return;
    };
    // The last that is pushed is shown first.
    waiting.push(Row {
        number: *main as u64,
        depth,
        begins: false,
    });
    for child in children.iter().rev().filter(|child| *child != main) {
        waiting.push(Row {
            number: *child as u64,
            depth: depth + 1,
            begins: true,
        });
    }
}

pub(super) fn write(out: &mut String, overview: &Overview) {
    let outline = Outline::new(overview);
    let last = overview
        .branch
        .iter()
        .rev()
        .find(|number| overview.gist(**number).is_some_and(Gist::is_in_outline));
    let _ = writeln!(
        out,
        "<nav class=\"side\" aria-label=\"Branches\">\n<details id=\"outline\" open>\n\
         <summary>Outline <small>{} entries</small></summary>\n<ol class=\"tree\">",
        outline.rows.len()
    );
    for row in &outline.rows {
        let Some(gist) = overview.gist(row.number) else {
            continue;
        };
        let is_leaf = last == Some(&row.number);
        let _ = write!(
            out,
            "<li class=\"d{}{}{}{}\"><a href=\"#e{}\"{}>",
            row.depth.min(DEEPEST),
            if gist.on_branch { " on" } else { " off" },
            if row.begins { " begins" } else { "" },
            class_of(gist.kind),
            row.number,
            if is_leaf {
                " aria-current=\"true\""
            } else {
                ""
            },
        );
        if row.begins {
            let _ = write!(
                out,
                "<span class=\"unseen\">Branch at depth {}: </span>",
                row.depth
            );
        }
        let _ = write!(out, "<span class=\"who\">{}</span> ", who(gist.kind));
        if let Some(label) = gist.id.and_then(|id| overview.labels.get(&id)) {
            out.push_str("<span class=\"label\">");
            attribute(out, label);
            out.push_str("</span> ");
        }
        attribute(out, &gist.text);
        if is_leaf {
            out.push_str(" <span class=\"leaf\">◂ leaf</span>");
        }
        out.push_str("</a></li>\n");
    }
    out.push_str("</ol>\n</details>\n</nav>\n");
}

fn class_of(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::UserMessage | NodeKind::CustomMessage => " user",
        NodeKind::AssistantMessage => " assistant",
        NodeKind::Results => " results",
        _ => " beside",
    }
}

fn who(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::UserMessage => "User",
        NodeKind::CustomMessage => "Program",
        NodeKind::AssistantMessage => "Model",
        NodeKind::Results => "Tools",
        _ => "·",
    }
}
