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

/// What was read of a block.
pub(crate) struct Read {
    pub(crate) fields: Mapping,
    /// The line of the first alias.
    pub(crate) first_alias: Option<usize>,
}

/// How many tabs behind a colon are put right.
const MAX_TABS: usize = 16;

/// Reads `block`, which begins below line `below` of its file.
pub(crate) fn read(block: &str, below: usize, limits: &Limits) -> Result<Read, Error> {
    let mut block = Cow::Borrowed(block);
    for _ in 0..MAX_TABS {
        match read_events(&block, below, limits) {
            Err((_, Some(at))) => block.to_mut().replace_range(at..=at, " "),
            Err((error, None)) => return Err(error),
            Ok(read) => return Ok(read),
        }
    }
    read_events(&block, below, limits).map_err(|(error, _)| error)
}

/// The error may be the parser's, which takes a tab between a colon and a letter for none, against YAML 1.2
/// (section 6.1); then it comes with the place of the tab, in bytes.
fn read_events(block: &str, below: usize, limits: &Limits) -> Result<Read, (Error, Option<usize>)> {
    let mut builder = Builder {
        limits,
        bytes: block.len(),
        nodes: 0,
        aliases: 0,
        first_alias: None,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        root: None,
    };
    let place = |line: usize, column: usize| Position {
        line: line + below,
        column: column + 1,
    };
    let mut documents = 0;
    let mut parser = Parser::new_from_str(block);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let mark = error.marker();
            let misread = Error::Yaml {
                message: error.info().to_owned(),
                position: place(mark.line(), mark.col()),
            };
            (misread, tab_behind_colon(block, mark.index()))
        })?;
        let position = place(span.start.line(), span.start.col());
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
    let start = place(1, 0);
    let fields = match builder.root {
        None => Mapping::empty(start),
        Some(Node::Mapping(mapping)) => mapping,
        Some(node) if node.is_null() => Mapping::empty(start),
        Some(node) => {
            let (found, position) = (node.kind(), node.position());
            return Err((Error::NotMapping { found, position }, None));
        }
    };
    Ok(Read {
        fields,
        first_alias: builder.first_alias,
    })
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
    /// What is spent so far.
    bytes: usize,
    nodes: usize,
    aliases: usize,
    first_alias: Option<usize>,
    /// The lists and mappings that are not closed, outermost first.
    open: Vec<Open>,
    /// The closed nodes that have an anchor. `None` while they are open.
    anchors: BTreeMap<usize, Option<Anchored>>,
    root: Option<Node>,
}

struct Open {
    node: Node,
    /// In a mapping, the key whose value comes next.
    key: Option<Key>,
    /// The names of a mapping, for a look whether one is there already.
    names: BTreeMap<String, Position>,
    anchor: usize,
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

impl Builder<'_> {
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
            names: BTreeMap::new(),
            anchor,
        });
        Ok(())
    }

    fn alias(&mut self, anchor: usize, position: Position) -> Result<(), Error> {
        self.first_alias.get_or_insert(position.line);
        self.aliases += 1;
        if self.aliases > self.limits.aliases {
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
        match &mut open.node {
            Node::List(list) => list.items.push(node),
            Node::Mapping(mapping) => match open.key.take() {
                Some(key) => mapping.entries.push(Entry { key, value: node }),
                None => open.key = Some(key(node, &mut open.names)?),
            },
            Node::Scalar(_) => {}
        }
        Ok(())
    }

    fn pay(&mut self, nodes: usize, bytes: usize, position: Position) -> Result<(), Error> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.nodes > self.limits.nodes {
            return Err(limit("the nodes are", self.limits.nodes, position));
        }
        let max = self.limits.frontmatter_bytes;
        if self.bytes > max {
            let what = "the bytes of the frontmatter, with what aliases repeat, are";
            return Err(limit(what, max, position));
        }
        Ok(())
    }

    fn deepen(&self, levels: usize, position: Position) -> Result<(), Error> {
        let max = self.limits.depth;
        if self.open.len().saturating_add(levels) > max {
            return Err(limit("the depth of lists and mappings is", max, position));
        }
        Ok(())
    }
}

fn limit(what: &'static str, max: usize, position: Position) -> Error {
    Error::Limit {
        what,
        max,
        position,
    }
}

fn key(node: Node, names: &mut BTreeMap<String, Position>) -> Result<Key, Error> {
    let Node::Scalar(scalar) = node else {
        return Err(Error::KeyNotText {
            found: node.kind(),
            position: node.position(),
        });
    };
    let Scalar { text, position, .. } = scalar;
    match names.insert(text.clone(), position) {
        Some(first) => Err(Error::DuplicateKey {
            key: text,
            first,
            second: position,
        }),
        None => Ok(Key { text, position }),
    }
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
