//! YAML: the parser's events as a tree, and help for syntax errors.

use std::{collections::BTreeMap, ops::Range};

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{Builder, Content, Keys, NodeId, ParseError, Source, reject_control_characters};

/// Parses one YAML document; `None` if there is none.
pub(super) fn parse(source: &Source, builder: &mut Builder) -> Result<Option<NodeId>, ParseError> {
    // YAML 1.2.2, 5.1.
    reject_control_characters(source.text(), char::is_control)?;
    let depth = builder.limits.depth;
    let options = granit_parser::options! {
        flow_nesting_limit: depth,
        block_nesting_limit: depth,
    };
    let mut tree = TreeBuilder {
        source,
        builder,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        sizes: Vec::new(),
        root: None,
        aliases: 0,
        expanded: 0,
    };
    for event in Parser::new_from_str_with_options(source.text(), options) {
        let (event, span) = event.map_err(|cause| syntax_error(source.text(), tree.builder, &cause))?;
        tree.add(event, bytes(span))?;
    }
    // A comment or `---` alone is an empty file.
    let root = tree.root.filter(|root| !matches!(builder.nodes[root.0].content, Content::Null));
    Ok(root)
}

fn bytes(span: Span) -> Range<usize> {
    let offset = |marker: granit_parser::Marker| marker.byte_offset().unwrap_or_default();
    offset(span.start)..offset(span.end)
}

/// Size and depth of a subtree with its aliases expanded.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    values: usize,
    depth: usize,
}

/// Builds the tree without recursion.
struct TreeBuilder<'a> {
    source: &'a Source,
    builder: &'a mut Builder,
    /// Collections that are not closed yet.
    open: Vec<Open>,
    anchors: BTreeMap<usize, NodeId>,
    /// By node.
    sizes: Vec<Extent>,
    root: Option<NodeId>,
    aliases: usize,
    expanded: usize,
}

struct Open {
    id: NodeId,
    /// The key that waits for its value.
    key: Option<NodeId>,
    keys: Keys,
    extent: Extent,
}

impl TreeBuilder<'_> {
    fn add(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), ParseError> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                let help = format!("a file contains one {}; remove `---`", self.builder.noun);
                return Err(ParseError::new(span, "more than one document").with_help(help));
            }
            Event::Scalar(text, style, anchor, tag) => {
                let content = scalar(&text, style, tag.as_deref(), &span)?;
                let id = self.node(span, content, anchor)?;
                self.attach(id, Extent { values: 1, depth: 1 })?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open(span, Content::Array(Vec::new()), anchor, tag.as_deref())?
            }
            Event::MappingStart(_, anchor, tag) => {
                self.open(span, Content::Table(Vec::new()), anchor, tag.as_deref())?
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(closed) = self.open.pop() {
                    let extent = Extent { values: closed.extent.values + 1, depth: closed.extent.depth + 1 };
                    self.attach(closed.id, extent)?;
                }
            }
            Event::Alias(anchor) => self.alias(anchor, span)?,
            _ => {}
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Range<usize>) -> Result<(), ParseError> {
        // An anchor is known before its collection is closed; an alias inside it would be a cycle.
        let Some(id) = self.anchors.get(&anchor).copied().filter(|id| !self.open.iter().any(|open| open.id == *id))
        else {
            return Err(ParseError::new(span, "alias inside its own anchor").with_help("write the value out"));
        };
        let extent = self.sizes[id.0];
        self.aliases += 1;
        self.expanded = self.expanded.saturating_add(extent.values);
        if self.aliases > self.builder.limits.aliases || self.expanded > self.builder.limits.expanded {
            return Err(ParseError::new(span, "aliases expand to too many values").with_help("write the values out"));
        }
        if self.open.len() + extent.depth > self.builder.limits.depth {
            return Err(self.builder.too_deep(span));
        }
        self.attach(id, extent)
    }

    fn open(
        &mut self,
        span: Range<usize>,
        content: Content,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), ParseError> {
        if let Some(tag) = tag.filter(|tag| !tag.is_yaml_core_schema()) {
            return Err(unsupported(tag, span));
        }
        let id = self.node(span, content, anchor)?;
        self.open.push(Open { id, key: None, keys: Keys::default(), extent: Extent::default() });
        Ok(())
    }

    fn node(&mut self, span: Range<usize>, content: Content, anchor: usize) -> Result<NodeId, ParseError> {
        let id = self.builder.add(span.clone(), content, self.open.len() + 1)?;
        self.sizes.push(Extent::default());
        if anchor > 0 {
            self.anchors.insert(anchor, id);
            if self.anchors.len() > self.builder.limits.aliases {
                return Err(ParseError::new(span, "too many anchors").with_help("write the values out"));
            }
        }
        Ok(id)
    }

    /// Adds a complete node to the innermost open collection.
    fn attach(&mut self, id: NodeId, extent: Extent) -> Result<(), ParseError> {
        self.sizes[id.0] = extent;
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(id);
            return Ok(());
        };
        parent.extent.values = parent.extent.values.saturating_add(extent.values);
        parent.extent.depth = parent.extent.depth.max(extent.depth);
        let is_collection = matches!(self.builder.nodes[id.0].content, Content::Array(_) | Content::Table(_));
        let (span, name) = (self.builder.nodes[id.0].span.clone(), key_name(self.source, self.builder, id));
        match &mut self.builder.nodes[parent.id.0].content {
            Content::Array(items) => items.push(id),
            Content::Table(entries) => match parent.key.take() {
                Some(key) => entries.push((key, id)),
                None if is_collection => {
                    return Err(ParseError::new(span, "a collection as a key").with_help("keys are strings"));
                }
                None => {
                    parent.key = Some(id);
                    return parent.keys.add(&name, &span, self.source);
                }
            },
            _ => {}
        }
        Ok(())
    }
}

fn key_name(source: &Source, builder: &Builder, id: NodeId) -> String {
    let node = &builder.nodes[id.0];
    match &node.content {
        Content::String(text) => text.clone(),
        Content::Array(_) | Content::Table(_) => String::new(),
        _ => source.text().get(node.span.clone()).unwrap_or_default().to_owned(),
    }
}

fn unsupported(tag: &Tag, span: Range<usize>) -> ParseError {
    ParseError::new(span, format!("unsupported YAML tag `{}{}`", tag.original_handle(), tag.suffix()))
        .with_help("remove it")
}

/// Resolves a scalar by the core schema (YAML 1.2.2, 10.3.2).
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Range<usize>) -> Result<Content, ParseError> {
    if let Some(tag) = tag {
        return match tag.core_suffix() {
            Some("str") => Ok(Content::String(text.to_owned())),
            Some("null" | "bool" | "int" | "float") => Ok(plain(text)),
            _ => Err(unsupported(tag, span.clone())),
        };
    }
    Ok(match style {
        // A missing value arrives as `~` with an empty span.
        _ if span.is_empty() => Content::Null,
        ScalarStyle::Plain => plain(text),
        _ => Content::String(text.to_owned()),
    })
}

fn plain(text: &str) -> Content {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Content::Null,
        "true" | "True" | "TRUE" => Content::Bool(true),
        "false" | "False" | "FALSE" => Content::Bool(false),
        _ if is_number(text) => Content::Number(text.to_owned()),
        _ => Content::String(text.to_owned()),
    }
}

/// Whether a plain scalar is an integer or a float. Decimal integers with leading zeros are strings, as in JSON.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(digits) = unsigned.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    if let Some(digits) = unsigned.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|byte| (b'0'..b'8').contains(&byte));
    }
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let leading_zero = unsigned.len() > 1 && unsigned.starts_with('0') && unsigned.as_bytes()[1].is_ascii_digit();
    let is_decimal = unsigned.starts_with(|ch: char| ch.is_ascii_digit() || ch == '.')
        && unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    is_decimal && !leading_zero && unsigned.parse::<f64>().is_ok()
}

fn syntax_error(text: &str, builder: &Builder, cause: &ScanError) -> ParseError {
    let mark = cause.marker();
    let info = cause.info();
    // The parser reports where the current construct starts, which may be lines before the tab.
    let lines = || text.split('\n').enumerate().skip(mark.line().saturating_sub(1));
    let tab = info.contains("tab").then(|| {
        lines().find_map(|(_, line)| {
            let indent = &line[..line.len() - line.trim_start().len()];
            indent.find('\t').map(|column| line.as_ptr() as usize - text.as_ptr() as usize + column)
        })
    });
    let at = tab.flatten().unwrap_or_else(|| mark.byte_offset().unwrap_or_default());
    let span = at..at + 1;
    if info.contains("recursion limit") {
        return builder.too_deep(span);
    }
    ParseError::new(span, format!("not YAML: {info}")).with_optional_help(help(cause.kind(), &info))
}

fn help(kind: &ErrorKind, info: &str) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation => "indent with spaces",
        ErrorKind::UnknownAnchor => "define `&anchor` before this alias; quote a string that starts with `*`",
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => {
            "is a `]`, a comma or a quotation mark missing?"
        }
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::ExpectedFlowMappingSeparator => {
            "is a `}`, a comma or a quotation mark missing?"
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockSequenceEntry => {
            "check the indentation of this line and of the lines around it"
        }
        ErrorKind::SimpleKeyExpected => "is a `:` missing?",
        _ if info.contains("unclosed bracket") => "is the closing bracket or a quotation mark missing?",
        _ if info.contains("unclosed quote") => "add the closing quotation mark",
        _ if info.contains("tab") => "indent with spaces",
        _ => return None,
    })
}
