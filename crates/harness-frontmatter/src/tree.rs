//! The tree of a YAML block, built from the parser's events under budgets.
//!
//! Nothing here recurses while it reads, and each node is paid for before it is made. An alias is a
//! copy of the node that it repeats, paid for like one that is written out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::error::Error;
use crate::limits::Limits;
use crate::mapping::{Entry, Key, Mapping};
use crate::node::{List, Node, Scalar, Style};
use crate::position::Position;

/// What is to be read.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    /// The text, with `\n` at the end of each line.
    pub(crate) block: &'s str,
    /// The line of the file that it begins below.
    pub(crate) below: usize,
    /// The places in `block`, sorted, that a character of the file was taken out before. The lines
    /// are those of the file.
    pub(crate) removed: &'s [Position],
}

impl Source<'_> {
    /// Where a character is in the file, by its line in the block, counted from 1, and its column
    /// there, counted from 0.
    pub(crate) fn place(&self, line: usize, column: usize) -> Position {
        let (line, column) = (line + self.below, column + 1);
        if self.removed.is_empty() {
            return Position { line, column };
        }
        let upto = |column| {
            let here = Position { line, column };
            self.removed.partition_point(|removed| *removed <= here)
        };
        let taken_out = upto(column) - upto(0);
        let column = column + taken_out;
        Position { line, column }
    }
}

/// What is done with a key that is there already.
#[derive(Clone, Copy)]
pub(crate) enum Twice<'k> {
    /// It is an error.
    Refused,
    /// The last one counts, in the place of the first; but for these keys of the document.
    LastWins { but: &'k [&'k str] },
}

/// What was spent of the limits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) bytes: usize,
    pub(crate) nodes: usize,
    pub(crate) aliases: usize,
}

/// What was read of a block.
pub(crate) struct Read {
    pub(crate) fields: Mapping,
    /// The line of the first alias.
    pub(crate) first_alias: Option<usize>,
    /// The keys that were there already.
    pub(crate) again: Vec<Again>,
}

/// A key that was there already.
pub(crate) struct Again {
    /// The key of the document that it is, or is in.
    pub(crate) field: String,
    pub(crate) position: Position,
}

/// How many tabs behind a colon are put right.
const MAX_TABS: usize = 16;

/// Reads `source` with what `spent` leaves of the limits. What was spent is told in any case.
pub(crate) fn read(
    source: Source<'_>,
    limits: &Limits,
    spent: &mut Spent,
    twice: Twice<'_>,
) -> Result<Read, Error> {
    let before = *spent;
    let mut block = Cow::Borrowed(source.block);
    let mut tabs = 0;
    loop {
        let source = Source {
            block: &block,
            ..source
        };
        let mut builder = Builder::new(limits, before, twice);
        let read = read_events(source, &mut builder);
        *spent = builder.spent;
        match read {
            Err((_, Some(at))) if tabs < MAX_TABS => block.to_mut().replace_range(at..=at, " "),
            Err((error, _)) => return Err(error),
            Ok(fields) => {
                return Ok(Read {
                    fields,
                    first_alias: builder.first_alias,
                    again: builder.again,
                });
            }
        }
        tabs += 1;
    }
}

/// The error may be the parser's, which takes a tab between a colon and a letter for none, against YAML 1.2
/// (section 6.1); then it comes with the place of the tab, in bytes.
fn read_events(
    source: Source<'_>,
    builder: &mut Builder<'_>,
) -> Result<Mapping, (Error, Option<usize>)> {
    let mut documents = 0;
    let mut parser = Parser::new_from_str(source.block);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let mark = error.marker();
            let position = source.place(mark.line(), mark.col());
            // The parser looks ahead, and has a bound of its own for it.
            if error.info() == "recursion limit exceeded" {
                return (too_deep(builder.limits.depth, position), None);
            }
            let message = error.info().to_owned();
            let misread = Error::Yaml { message, position };
            (misread, tab_behind_colon(source.block, mark.index()))
        })?;
        let position = source.place(span.start.line(), span.start.col());
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                let message = "there is a second document in it".to_owned();
                return Err((Error::Yaml { message, position }, None));
            }
        }
        builder
            .event(event, position)
            .map_err(|error| (error, None))?;
    }
    match builder.root.take() {
        None => Ok(Mapping::empty(source.place(1, 0))),
        Some(Node::Mapping(mapping)) => Ok(mapping),
        Some(node) if node.is_null() => Ok(Mapping::empty(source.place(1, 0))),
        Some(node) => {
            let tight_colon = matches!(&node, Node::Scalar(scalar) if scalar.text.contains(':'));
            let error = Error::NotMapping {
                found: node.kind(),
                tight_colon,
                position: node.position(),
            };
            Err((error, None))
        }
    }
}

/// The tab right before character `index` of `block`, if only tabs are between it and a colon.
fn tab_behind_colon(block: &str, index: usize) -> Option<usize> {
    let end = block
        .char_indices()
        .nth(index)
        .map_or(block.len(), |(at, _)| at);
    let before = block.get(..end)?;
    let is_it = before.ends_with('\t') && before.trim_end_matches('\t').ends_with(':');
    is_it.then(|| end - 1)
}

struct Builder<'l> {
    limits: &'l Limits,
    twice: Twice<'l>,
    spent: Spent,
    first_alias: Option<usize>,
    again: Vec<Again>,
    /// The lists and mappings that are not closed, outermost first.
    open: Vec<Open>,
    /// The closed nodes that have an anchor. `None` while they are open.
    anchors: BTreeMap<usize, Option<Anchored>>,
    root: Option<Node>,
}

struct Open {
    node: Node,
    /// In a mapping, the key whose value comes next, and which entry that replaces.
    key: Option<(Key, Option<usize>)>,
    names: Names,
    anchor: usize,
}

/// Finds the entries of a mapping by name. Most have few, and need nothing for it.
#[derive(Default)]
pub(crate) struct Names {
    /// The first of the entries, as many as are in it.
    index: BTreeMap<String, usize>,
}

impl Names {
    const FEW: usize = 16;

    /// The entry of that name. `entries` are those of the last call, or more.
    pub(crate) fn find(&mut self, entries: &[Entry], name: &str) -> Option<usize> {
        if entries.len() <= Self::FEW {
            return entries.iter().position(|entry| entry.key.text == name);
        }
        for (at, entry) in entries.iter().enumerate().skip(self.index.len()) {
            self.index.insert(entry.key.text.clone(), at);
        }
        self.index.get(name).copied()
    }
}

struct Anchored {
    node: Node,
    cost: Cost,
}

/// What a copy of a node costs.
#[derive(Clone, Copy, Default)]
struct Cost {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

impl<'l> Builder<'l> {
    fn new(limits: &'l Limits, spent: Spent, twice: Twice<'l>) -> Self {
        Self {
            limits,
            twice,
            spent,
            first_alias: None,
            again: Vec::new(),
            open: Vec::new(),
            anchors: BTreeMap::new(),
            root: None,
        }
    }

    fn event(&mut self, event: Event<'_>, position: Position) -> Result<(), Error> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.pay(1, 0, position)?;
                let node = Node::Scalar(Scalar {
                    text: text.into_owned(),
                    style: style_of(style, tag.as_ref()),
                    position,
                });
                self.close(node, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let list = List {
                    items: Vec::new(),
                    position,
                };
                self.open(Node::List(list), anchor, position)
            }
            Event::MappingStart(anchor, _) => {
                self.open(Node::Mapping(Mapping::empty(position)), anchor, position)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.close(open.node, open.anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => self.alias(anchor, position),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn open(&mut self, node: Node, anchor: usize, position: Position) -> Result<(), Error> {
        self.pay(1, 0, position)?;
        self.deepen(1, position)?;
        if anchor != 0 {
            self.anchors.insert(anchor, None);
        }
        self.open.push(Open {
            node,
            key: None,
            names: Names::default(),
            anchor,
        });
        Ok(())
    }

    fn alias(&mut self, anchor: usize, position: Position) -> Result<(), Error> {
        self.first_alias.get_or_insert(position.line);
        self.spent.aliases += 1;
        if self.spent.aliases > self.limits.aliases {
            return Err(limit("the aliases are", self.limits.aliases, position));
        }
        let Some(Some(anchored)) = self.anchors.get(&anchor) else {
            return Err(Error::RecursiveAlias { position });
        };
        let cost = anchored.cost;
        self.pay(cost.nodes, cost.bytes, position)?;
        self.deepen(cost.depth, position)?;
        let copy = match self.anchors.get(&anchor) {
            Some(Some(anchored)) => anchored.node.clone(),
            _ => return Err(Error::RecursiveAlias { position }),
        };
        self.put(copy)
    }

    /// `node` is complete.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), Error> {
        if anchor != 0 {
            // The copy that is kept is paid for, too.
            let cost = cost(&node);
            self.pay(cost.nodes, cost.bytes, node.position())?;
            let node = node.clone();
            self.anchors.insert(anchor, Some(Anchored { node, cost }));
        }
        self.put(node)
    }

    /// Puts `node` where the parser is.
    fn put(&mut self, node: Node) -> Result<(), Error> {
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return Ok(());
        };
        let mapping = match &mut open.node {
            Node::List(list) => {
                list.items.push(node);
                return Ok(());
            }
            Node::Scalar(_) => return Ok(()),
            Node::Mapping(mapping) => mapping,
        };
        if let Some((key, replaced)) = open.key.take() {
            let entry = Entry { key, value: node };
            match replaced.and_then(|at| mapping.entries.get_mut(at)) {
                Some(earlier) => *earlier = entry,
                None => mapping.entries.push(entry),
            }
            return Ok(());
        }
        let Scalar { text, position, .. } = match node {
            Node::Scalar(scalar) => scalar,
            other => {
                return Err(Error::KeyNotText {
                    found: other.kind(),
                    field: self.field(),
                    position: other.position(),
                });
            }
        };
        let replaced = open.names.find(&mapping.entries, &text);
        let earlier = replaced.and_then(|at| mapping.entries.get(at));
        let Some(first) = earlier.map(|entry| entry.key.position) else {
            open.key = Some((Key { text, position }, None));
            return Ok(());
        };
        let is_field = self.open.len() == 1;
        let may_be = match self.twice {
            Twice::Refused => false,
            Twice::LastWins { but } => !(is_field && but.contains(&text.as_str())),
        };
        if !may_be {
            return Err(Error::DuplicateKey {
                key: text,
                first,
                second: position,
            });
        }
        let field = if is_field {
            text.clone()
        } else {
            self.field().unwrap_or_default()
        };
        self.again.push(Again { field, position });
        if let Some(open) = self.open.last_mut() {
            open.key = Some((Key { text, position }, replaced));
        }
        Ok(())
    }

    /// The key of the document that the parser is in the value of.
    fn field(&self) -> Option<String> {
        let (key, _) = self.open.first()?.key.as_ref()?;
        Some(key.text.clone())
    }

    fn pay(&mut self, nodes: usize, bytes: usize, position: Position) -> Result<(), Error> {
        self.spent.nodes = self.spent.nodes.saturating_add(nodes);
        self.spent.bytes = self.spent.bytes.saturating_add(bytes);
        if self.spent.nodes > self.limits.nodes {
            return Err(limit("the nodes are", self.limits.nodes, position));
        }
        let max = self.limits.frontmatter_bytes;
        if self.spent.bytes > max {
            let what = "the bytes of the frontmatter, with what aliases repeat, are";
            return Err(limit(what, max, position));
        }
        Ok(())
    }

    fn deepen(&self, levels: usize, position: Position) -> Result<(), Error> {
        let max = self.limits.depth;
        if self.open.len().saturating_add(levels) > max {
            return Err(too_deep(max, position));
        }
        Ok(())
    }
}

pub(crate) fn limit(what: &'static str, max: usize, position: Position) -> Error {
    Error::Limit {
        what,
        max,
        position,
    }
}

fn too_deep(max: usize, position: Position) -> Error {
    limit("the depth of lists and mappings is", max, position)
}

/// No deeper than the depth of the limits.
fn cost(node: &Node) -> Cost {
    match node {
        Node::Scalar(scalar) => Cost {
            nodes: 1,
            bytes: scalar.text.len(),
            depth: 0,
        },
        Node::List(list) => together(list.items.iter().map(cost)),
        Node::Mapping(mapping) => together(mapping.entries.iter().map(|entry| {
            let value = cost(&entry.value);
            Cost {
                nodes: value.nodes + 1,
                bytes: value.bytes + entry.key.text.len(),
                depth: value.depth,
            }
        })),
    }
}

fn together(inner: impl Iterator<Item = Cost>) -> Cost {
    let all = inner.fold(Cost::default(), |all, one| Cost {
        nodes: all.nodes + one.nodes,
        bytes: all.bytes + one.bytes,
        depth: all.depth.max(one.depth),
    });
    Cost {
        nodes: all.nodes + 1,
        depth: all.depth + 1,
        ..all
    }
}

fn style_of(style: ScalarStyle, tag: Option<&Cow<'_, Tag>>) -> Style {
    // Other tags say nothing that a reader of a field does not say better.
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    match style {
        ScalarStyle::Plain if is_text => Style::SingleQuoted,
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}
