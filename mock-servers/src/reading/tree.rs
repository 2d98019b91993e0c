//! The text of a file as a tree in which every node knows its place.
//!
//! It owns places, and the limits of what is read at all: a file is hostile until proven otherwise. What the nodes mean
//! is nobody's business here; [`super::yaml`] reads the text into a value and asks the tree where it went wrong.

use super::{Diagnostic, Format, Place};

mod build;

pub(super) use build::NOT_YAML;

/// The text of one file, and its name.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// How the file was named.
    pub file: &'a str,
    /// Its text, with line feeds between lines and no byte order mark.
    pub text: &'a str,
}

impl Source<'_> {
    /// Whether the file says by its name that it is JSON.
    pub(super) fn is_json(self) -> bool {
        self.file.ends_with(".json")
    }

    /// The place at this line and column, counted from 1. The width is that of what is there, in characters.
    #[must_use]
    pub fn place(self, line: usize, column: usize, width: usize) -> Place {
        let excerpt = self.text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default().to_owned();
        Place { line, column, width: width.max(1), excerpt, cut: 0 }
    }

    /// A diagnostic at this line and column.
    #[must_use]
    pub fn error(self, line: usize, column: usize, width: usize, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic::new(self.file, message).at(self.place(line, column, width))
    }
}

/// A node of the tree, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NodeId(usize);

/// A file as a tree of places. Aliases lead to the node that they name, so the tree may be a graph, without cycles.
#[derive(Debug)]
pub struct Tree<'a> {
    source: Source<'a>,
    format: Format,
    nodes: Vec<Node>,
    root: NodeId,
}

#[derive(Debug)]
struct Node {
    line: usize,
    column: usize,
    width: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Scalar(String),
    List(Vec<NodeId>),
    Map(Vec<(NodeId, NodeId)>),
}

impl<'a> Tree<'a> {
    /// Reads the text of a file that is to be a mapping.
    ///
    /// # Errors
    /// When it is not YAML, no mapping, says a key twice, or holds more than the format allows.
    pub fn read(source: Source<'a>, format: &Format) -> Result<Self, Diagnostic> {
        let Format { noun, opening, .. } = format;
        let (nodes, root) = build::build(source, format)?;
        let empty = || source.error(1, 1, 1, "the file is empty").advise(format!("a {noun} {opening}"));
        let tree = Self { source, format: *format, nodes, root: root.ok_or_else(empty)? };
        match tree.content(tree.root) {
            Content::Map(_) => Ok(tree),
            Content::Scalar(text) if text.is_empty() => Err(empty()),
            Content::Scalar(_) | Content::List(_) => {
                let Place { line, column, width, .. } = tree.place(tree.root);
                let message = format!("a {noun} is a mapping");
                Err(source.error(line, column, width, message).advise(format!("it {opening}")))
            }
        }
    }

    /// The format that it was read for.
    pub(super) fn format(&self) -> &Format {
        &self.format
    }

    /// The text that it was read from.
    #[must_use]
    pub fn source(&self) -> Source<'a> {
        self.source
    }

    /// The top of it.
    #[must_use]
    pub fn root(&self) -> Spot<'_> {
        Spot { tree: self, key: None, value: self.root, found: true }
    }

    fn content(&self, id: NodeId) -> &Content {
        &self.nodes[id.0].content
    }

    fn place(&self, id: NodeId) -> Place {
        let node = &self.nodes[id.0];
        self.source.place(node.line, node.column, node.width)
    }

    /// The text of a scalar.
    fn text(&self, id: NodeId) -> Option<&str> {
        match self.content(id) {
            Content::Scalar(text) => Some(text),
            Content::List(_) | Content::Map(_) => None,
        }
    }

    /// The spots from the top down to the last one that begins at or before this line and column: where a reader that
    /// complains about this place was.
    pub(super) fn way_to(&self, line: usize, column: usize) -> Vec<Spot<'_>> {
        let mut way = vec![self.root()];
        while way.len() <= self.format.limits.depth {
            let here = way[way.len() - 1];
            let Some(next) = here.children().into_iter().rfind(|child| child.starts_by(line, column)) else { break };
            way.push(next);
        }
        way
    }
}

/// Where a reader of the tree stands: at a value, and at the key that leads to it. Going to what is not there stays
/// where it is, so that a complaint about something missing points to where it belongs.
#[derive(Debug, Clone, Copy)]
pub struct Spot<'t> {
    tree: &'t Tree<'t>,
    key: Option<NodeId>,
    value: NodeId,
    found: bool,
}

impl<'t> Spot<'t> {
    /// The value under this key.
    #[must_use]
    pub fn key(self, name: &str) -> Self {
        match self.entry(name) {
            Some((key, value)) if self.found => Self { key: Some(key), value, ..self },
            _ => Self { found: false, ..self },
        }
    }

    /// The element at this position; the value itself where one element stands without brackets.
    #[must_use]
    pub fn item(self, position: usize) -> Self {
        match self.tree.content(self.value) {
            Content::List(items) if self.found => match items.get(position) {
                Some(&value) => Self { key: None, value, ..self },
                None => Self { found: false, ..self },
            },
            _ => self,
        }
    }

    /// Whether the value has this key.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.found && self.entry(name).is_some()
    }

    /// The value's keys.
    #[must_use]
    pub fn keys(self) -> Vec<&'t str> {
        self.children().into_iter().filter_map(Self::name).collect()
    }

    /// The text of the key that leads here.
    #[must_use]
    pub fn name(self) -> Option<&'t str> {
        self.key.and_then(|key| self.tree.text(key))
    }

    /// The text of the value, if it is a scalar.
    #[must_use]
    pub fn text(self) -> Option<&'t str> {
        self.tree.text(self.value)
    }

    /// Whether the value is a list.
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(self.tree.content(self.value), Content::List(_))
    }

    /// The place to point to: a scalar itself, else the key that leads to the value, else the first thing in it.
    #[must_use]
    pub fn place(self) -> Place {
        match (self.tree.content(self.value), self.key) {
            // What was left out cannot be pointed to.
            (Content::Scalar(_), Some(key)) if self.tree.nodes[self.value.0].width == 0 => self.tree.place(key),
            (Content::Scalar(_), _) | (Content::List(_), None) => self.tree.place(self.value),
            (Content::List(_) | Content::Map(_), Some(key)) => self.tree.place(key),
            (Content::Map(entries), None) => self.tree.place(entries.first().map_or(self.value, |(key, _)| *key)),
        }
    }

    /// The place of the key that leads here, else that of the value.
    #[must_use]
    pub fn key_place(self) -> Place {
        self.key.map_or_else(|| self.place(), |key| self.tree.place(key))
    }

    /// The place of the first thing in the value.
    #[must_use]
    pub fn first_place(self) -> Place {
        self.children().first().map_or_else(|| self.place(), |child| child.key_place())
    }

    /// Where in the file the text of the value begins: behind the quotation mark where there is one. `None` where the
    /// text is not written word for word, on one line.
    fn text_start(self) -> Option<Place> {
        let place = self.place();
        let written: String = place.excerpt.chars().skip(place.column - 1).take(place.width).collect();
        let text = self.text()?;
        let offset = usize::from(written.starts_with(['"', '\'']));
        let inside: String = written.chars().skip(offset).take(place.width - 2 * offset).collect();
        (inside == text).then(|| Place { column: place.column + offset, width: place.width - 2 * offset, ..place })
    }

    /// The place of a part of the text, counted in characters from its start; of all of it where the text is not written
    /// word for word. A part of no width, or beyond the end, is the last character.
    #[must_use]
    pub fn part(self, start: usize, width: usize) -> Place {
        match self.text_start() {
            Some(text) if text.width > 0 => {
                let start = start.min(text.width - 1);
                Place { column: text.column + start, width: width.clamp(1, text.width - start), ..text }
            }
            _ => self.place(),
        }
    }

    fn entry(self, name: &str) -> Option<(NodeId, NodeId)> {
        let Content::Map(entries) = self.tree.content(self.value) else { return None };
        entries.iter().copied().find(|(key, _)| self.tree.text(*key) == Some(name))
    }

    fn children(self) -> Vec<Self> {
        match self.tree.content(self.value) {
            Content::Scalar(_) => Vec::new(),
            Content::List(items) => items.iter().map(|&value| Self { key: None, value, ..self }).collect(),
            Content::Map(entries) => {
                entries.iter().map(|&(key, value)| Self { key: Some(key), value, ..self }).collect()
            }
        }
    }

    /// Whether it begins at or before this place. An alias counts where it leads to; that is at worst imprecise.
    fn starts_by(self, line: usize, column: usize) -> bool {
        let node = &self.tree.nodes[self.key.unwrap_or(self.value).0];
        (node.line, node.column) <= (line, column)
    }
}
