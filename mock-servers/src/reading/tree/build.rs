//! Builds the tree from the parser's events, within the limits, and says where the text is no YAML.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{ErrorKind, Event, Parser, ScanError, Span};

use super::{
    super::{Diagnostic, Format, Limits},
    Content, Node, NodeId, Source,
};

/// What a message about text that is no YAML begins with.
pub(crate) const NOT_YAML: &str = "not YAML: ";

/// Reads the text into nodes, and the number of the topmost of them, if there is any.
pub(super) fn build(source: Source<'_>, format: &Format) -> Result<(Vec<Node>, Option<NodeId>), Diagnostic> {
    let Format { noun, limits, .. } = *format;
    refuse_control_characters(source)?;
    let options = serde_saphyr::granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: limits.depth,
        block_nesting_limit: limits.depth,
    };
    let mut builder = Builder::new(source, noun, limits);
    for event in Parser::new_from_str_with_options(source.text, options) {
        let (event, span) = event.map_err(|cause| syntax_error(source, limits, &cause))?;
        builder.take(event, span)?;
    }
    Ok((builder.nodes, builder.root))
}

/// Puts the tree together from the parser's events, without recursion.
struct Builder<'a> {
    source: Source<'a>,
    noun: &'static str,
    limits: Limits,
    /// The lines of the text. To look for one anew for each node would take as long as nodes times lines.
    lines: Vec<&'a str>,
    nodes: Vec<Node>,
    /// The collections that are not closed yet.
    open: Vec<Open>,
    anchors: BTreeMap<usize, NodeId>,
    root: Option<NodeId>,
}

/// A collection that is not closed yet.
struct Open {
    id: NodeId,
    /// A mapping's key that waits for its value.
    waiting: Option<NodeId>,
    /// A mapping's keys so far, with their lines.
    keys: BTreeMap<String, usize>,
}

impl<'a> Builder<'a> {
    fn new(source: Source<'a>, noun: &'static str, limits: Limits) -> Self {
        let lines = source.text.split('\n').collect();
        Self { source, noun, limits, lines, nodes: Vec::new(), open: Vec::new(), anchors: BTreeMap::new(), root: None }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                let advice = format!("a file holds one {}; take `---` away", self.noun);
                return Err(self.error(span, "a second document").advise(advice));
            }
            Event::Scalar(text, _, anchor, _) => {
                // A value that is left out arrives as `~` of no width.
                let text = if span.is_empty() { String::new() } else { text.into_owned() };
                let id = self.add(span, Content::Scalar(text))?;
                self.anchors.insert(anchor, id);
                self.place_in_parent(id)?;
            }
            Event::SequenceStart(_, anchor, _) => self.open(span, Content::List(Vec::new()), anchor)?,
            Event::MappingStart(_, anchor, _) => self.open(span, Content::Map(Vec::new()), anchor)?,
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(closed) = self.open.pop() {
                    self.place_in_parent(closed.id)?;
                }
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor).copied() {
                // An anchor is known before its collection is closed; an alias to it from within would be a cycle.
                Some(id) if !self.open.iter().any(|open| open.id == id) => self.place_in_parent(id)?,
                _ => return Err(self.error(span, "an alias within what it stands for").advise("write it out")),
            },
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, span: Span, content: Content, anchor: usize) -> Result<(), Diagnostic> {
        if self.open.len() >= self.limits.depth {
            return Err(self.error(span, too_deep(self.limits)));
        }
        let id = self.add(span, content)?;
        self.anchors.insert(anchor, id);
        self.open.push(Open { id, waiting: None, keys: BTreeMap::new() });
        Ok(())
    }

    fn add(&mut self, span: Span, content: Content) -> Result<NodeId, Diagnostic> {
        if self.nodes.len() >= self.limits.values {
            return Err(self.error(span, format!("more than {} values in one file", self.limits.values)));
        }
        let (line, column) = (span.start.line(), span.start.col() + 1);
        let width = self.width(span);
        self.nodes.push(Node { line, column, width, content });
        Ok(NodeId(self.nodes.len() - 1))
    }

    fn place_in_parent(&mut self, id: NodeId) -> Result<(), Diagnostic> {
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(id);
            return Ok(());
        };
        match &mut self.nodes[parent.id.0].content {
            Content::List(items) => items.push(id),
            Content::Map(entries) => match parent.waiting.take() {
                Some(key) => entries.push((key, id)),
                None => {
                    parent.waiting = Some(id);
                    return self.take_key(id);
                }
            },
            Content::Scalar(_) => {}
        }
        Ok(())
    }

    /// Takes a key of the innermost mapping, unless it has that key already.
    fn take_key(&mut self, key: NodeId) -> Result<(), Diagnostic> {
        let Node { line, column, width, content } = &self.nodes[key.0];
        let (Content::Scalar(name), Some(map)) = (content, self.open.last_mut()) else { return Ok(()) };
        match map.keys.insert(name.clone(), *line) {
            None => Ok(()),
            Some(first) => {
                let advice = format!("it was given on line {first}; keep one of them");
                Err(self.source.error(*line, *column, *width, format!("`{name}` is given twice")).advise(advice))
            }
        }
    }

    fn error(&self, span: Span, message: impl AsRef<str>) -> Diagnostic {
        self.source.error(span.start.line(), span.start.col() + 1, self.width(span), message)
    }

    /// How many characters of its first line a span covers.
    fn width(&self, span: Span) -> usize {
        if span.start.line() == span.end.line() {
            return span.end.col() - span.start.col();
        }
        let line = self.lines.get(span.start.line().saturating_sub(1)).copied().unwrap_or_default();
        line.trim_end().chars().count().saturating_sub(span.start.col())
    }
}

fn too_deep(limits: Limits) -> String {
    format!("nested more than {} levels deep", limits.depth)
}

/// YAML has no place for control characters but tabs and line ends (YAML 1.2.2, 5.1).
fn refuse_control_characters(source: Source<'_>) -> Result<(), Diagnostic> {
    for (line, text) in source.text.split('\n').enumerate() {
        if let Some((column, ch)) = text.chars().enumerate().find(|(_, ch)| ch.is_control() && *ch != '\t') {
            let message = format!("the control character U+{:04X}", u32::from(ch));
            return Err(source
                .error(line + 1, column + 1, 1, message)
                .advise("write it as an escape in double quotes, as in \"\\u0000\""));
        }
    }
    Ok(())
}

/// What the parser says of text that is not YAML, with the advice that it calls for.
fn syntax_error(source: Source<'_>, limits: Limits, cause: &ScanError) -> Diagnostic {
    let mark = cause.marker();
    let advice = match cause.kind() {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation => Some("indent with spaces"),
        ErrorKind::UnknownAnchor => {
            Some("no `&anchor` of this name stands before it; quote a text that begins with `*`")
        }
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => {
            Some("is a `]`, a comma or a quotation mark missing?")
        }
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::ExpectedFlowMappingSeparator => {
            Some("is a `}`, a comma or a quotation mark missing?")
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockSequenceEntry => {
            Some("is the indentation that of the lines around it?")
        }
        ErrorKind::SimpleKeyExpected => Some("is a `:` missing?"),
        _ => None,
    };
    let info = cause.info();
    let advice = advice
        .or_else(|| info.contains("unclosed bracket").then_some("is its other end missing, or a quotation mark?"))
        .or_else(|| info.contains("unclosed quote").then_some("where is its other end?"))
        .or_else(|| info.contains("tab").then_some("indent with spaces"));
    // The parser points to the start of what it was reading, which may be lines before the tab.
    let tab = source.text.split('\n').enumerate().skip(mark.line().saturating_sub(1)).find_map(|(line, text)| {
        let indent = text.len() - text.trim_start().len();
        text[..indent].find('\t').map(|column| (line + 1, column + 1))
    });
    let (line, column) = tab.filter(|_| info.contains("tab")).unwrap_or((mark.line(), mark.col() + 1));
    let message = if info.contains("recursion limit") { too_deep(limits) } else { format!("{NOT_YAML}{info}") };
    let diagnostic = source.error(line, column, 1, message);
    match advice {
        Some(advice) => diagnostic.advise(advice),
        None => diagnostic,
    }
}
