//! Positioned document trees of YAML, JSON and TOML files, and typed values read from them.
//!
//! A file is hostile until proven otherwise: size, depth, number of values and expansion of aliases are limited while the
//! tree is built, without recursion in the case of YAML. [`Document::read`] deserializes a value and reports all errors
//! of the file at once; [`TreeCursor`] navigates the tree where an owner checks more than the shape of a value.
//!
//! ```
//! use std::collections::BTreeMap;
//! use mcp_workbench_diagnostics::document::{Document, Format, Limits, Source};
//!
//! let format = Format { noun: "budget", example: "contains keys, as in `rent: 900`", limits: Limits::SMALL, noun_of: |_, _| None, renamed: &[] };
//! let mut document = Document::parse(Source::named("mine.yaml", "rent: 900\nfood: none\nfun: []\n"), &format).unwrap();
//! let errors = document.read::<BTreeMap<String, u32>>().unwrap_err();
//! assert_eq!(errors.as_slice().len(), 2);
//! assert_eq!(
//!     errors.as_slice()[0].to_string(),
//!     "error: expected a whole number, 0 or more, found `none`\n  mine.yaml:2:7\n2 | food: none\n  |       ^^^^ write a number, as in `10`"
//! );
//! ```

mod cursor;
mod deserializer;
mod error;
mod json;
mod read;
mod source;
mod toml;
mod yaml;

use std::{collections::BTreeMap, ops::Range, path::Path, sync::Arc};

pub use self::{cursor::TreeCursor, json::options as json_options, read::Partial, source::Source};
use crate::{Diagnostic, nearest};

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// YAML 1.2 with the core schema.
    Yaml,
    /// JSON with comments and trailing commas.
    Json,
    /// TOML 1.1.
    Toml,
}

impl Syntax {
    /// Returns the syntax that a file name ends in. YAML is the default.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match Path::new(name).extension().and_then(|extension| extension.to_str()) {
            Some("json" | "jsonc") => Self::Json,
            Some("toml") => Self::Toml,
            _ => Self::Yaml,
        }
    }

    /// Returns the name of a collection of keys and values.
    #[must_use]
    pub fn table_noun(self) -> &'static str {
        match self {
            Self::Yaml => "a mapping",
            Self::Json => "an object",
            Self::Toml => "a table",
        }
    }
}

/// A file format that users write.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Name of such a file, used after an article: `scenario`.
    pub noun: &'static str,
    /// A predicate that shows what a file starts with: ``begins with `scenario: <area>/<name>` ``.
    pub example: &'static str,
    /// Maximum size of a file.
    pub limits: Limits,
    /// Returns what the values of an enum are called (`fault`, `transport`), given the valid values and the key.
    pub noun_of: fn(valid: &[&str], key: Option<&str>) -> Option<&'static str>,
    /// Earlier names of keys and their present names, for suggestions only.
    pub renamed: &'static [(&'static str, &'static str)],
}

impl Format {
    /// The valid key that a key means: itself, its present name or the nearest name.
    #[must_use]
    pub fn meant<'v>(&self, key: &str, valid: &[&'v str]) -> Option<&'v str> {
        let present = self.renamed.iter().find(|(earlier, _)| *earlier == key).map(|(_, present)| *present);
        let renamed = valid.iter().copied().find(|valid| Some(*valid) == present);
        renamed.or_else(|| nearest::nearest(key, valid.iter().copied()))
    }
}

/// Maximum size of a file and of its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Size of the file in bytes.
    pub bytes: usize,
    /// Nesting depth, with aliases expanded.
    pub depth: usize,
    /// Number of values.
    pub values: usize,
    /// Number of aliases, and of anchors.
    pub aliases: usize,
    /// Number of values that all aliases expand to.
    pub expanded: usize,
}

impl Limits {
    /// Limits of a file that describes one thing, such as a scenario.
    pub const SMALL: Self = Self { bytes: 1 << 20, depth: 64, values: 20_000, aliases: 200, expanded: 20_000 };
}

/// Index of a node in a [`Document`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NodeId(usize);

#[derive(Debug)]
struct Node {
    /// Bytes of the source.
    span: Range<usize>,
    content: Content,
}

/// The value of a node. Numbers keep their notation, because the reader of the value decides on its type.
#[derive(Debug, Clone)]
enum Content {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Date,
    Array(Vec<NodeId>),
    Table(Vec<(NodeId, NodeId)>),
    /// Any value, in place of a missing key while the other missing keys are searched.
    Placeholder,
}

/// A file as a tree with positions. Aliases point to the node of their anchor, so the tree may be an acyclic graph.
#[derive(Debug)]
pub struct Document {
    source: Arc<Source>,
    format: Format,
    nodes: Vec<Node>,
    root: NodeId,
}

impl Document {
    /// Parses a file whose root is a mapping, an object or a table.
    ///
    /// # Errors
    /// If the text has a syntax error, a duplicate key, another root, or exceeds a limit of the format.
    pub fn parse(source: impl Into<Arc<Source>>, format: &Format) -> Result<Self, Diagnostic> {
        let source = source.into();
        let Format { noun, example, .. } = format;
        let document = Self::parse_any(Arc::clone(&source), format).map_err(|error| error.diagnostic(&source))?;
        let Some(document) = document else {
            return Err(source.error(&(0..0), "the file is empty").with_help(format!("a {noun} {example}")));
        };
        match &document.node(document.root).content {
            Content::Table(_) => Ok(document),
            _ => {
                let message = format!("a {noun} must be {}", source.syntax().table_noun());
                Err(source.error(&document.node(document.root).span, message).with_help(format!("it {example}")))
            }
        }
    }

    /// Parses a file with any root; `None` if it is empty. The caller locates the error, because it may have to mask
    /// secrets in the excerpt.
    ///
    /// # Errors
    /// If the text has a syntax error or a duplicate key, or exceeds a limit of the format.
    pub fn parse_any(source: impl Into<Arc<Source>>, format: &Format) -> Result<Option<Self>, ParseError> {
        let source = source.into();
        if source.text().len() > format.limits.bytes {
            return Err(ParseError::new(0..0, format!("larger than {} bytes", format.limits.bytes)));
        }
        let mut builder = Builder { limits: format.limits, noun: format.noun, nodes: Vec::new() };
        let root = match source.syntax() {
            Syntax::Yaml => yaml::parse(&source, &mut builder),
            Syntax::Json => json::parse(&source, &mut builder),
            Syntax::Toml => toml::parse(&source, &mut builder).map(Some),
        }?;
        Ok(root.map(|root| Self { source, format: *format, nodes: builder.nodes, root }))
    }

    /// The text that the document was parsed from.
    #[must_use]
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The cursor of the root.
    #[must_use]
    pub fn root(&self) -> TreeCursor<'_> {
        TreeCursor::new(self, self.root)
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    /// The source of a scalar.
    fn written(&self, id: NodeId) -> &str {
        self.source.text().get(self.node(id).span.clone()).unwrap_or_default()
    }

    /// The string of a key.
    fn key(&self, id: NodeId) -> &str {
        match &self.node(id).content {
            Content::String(text) => text,
            _ => self.written(id),
        }
    }
}

/// A reason why a text is not a document.
#[derive(Debug)]
pub struct ParseError {
    /// Bytes of the source.
    pub span: Range<usize>,
    /// A lower-case fragment.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
}

impl ParseError {
    fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None }
    }

    fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    fn with_optional_help(self, help: Option<&str>) -> Self {
        Self { help: help.map(str::to_owned), ..self }
    }

    /// Locates the error, without masking anything.
    #[must_use]
    pub fn diagnostic(self, source: &Source) -> Diagnostic {
        let diagnostic = source.error(&self.span, self.message);
        match self.help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}

/// Collects nodes within the limits.
struct Builder {
    limits: Limits,
    noun: &'static str,
    nodes: Vec<Node>,
}

impl Builder {
    fn add(&mut self, span: Range<usize>, content: Content, depth: usize) -> Result<NodeId, ParseError> {
        if self.nodes.len() >= self.limits.values {
            return Err(ParseError::new(span, format!("more than {} values in one file", self.limits.values)));
        }
        if depth > self.limits.depth {
            return Err(self.too_deep(span));
        }
        self.nodes.push(Node { span, content });
        Ok(NodeId(self.nodes.len() - 1))
    }

    fn too_deep(&self, span: Range<usize>) -> ParseError {
        ParseError::new(span, format!("nested more than {} levels deep", self.limits.depth))
    }
}

/// The keys of a table, each with the line of its first occurrence.
#[derive(Default)]
struct Keys(BTreeMap<String, usize>);

impl Keys {
    fn add(&mut self, key: &str, span: &Range<usize>, source: &Source) -> Result<(), ParseError> {
        let line = source.line(span.start);
        match self.0.insert(key.to_owned(), line) {
            None => Ok(()),
            Some(first) => Err(ParseError::new(span.clone(), format!("duplicate key `{key}`"))
                .with_help(format!("first defined on line {first}; keep one of them"))),
        }
    }
}

fn out_of_range(span: Range<usize>) -> ParseError {
    ParseError::new(span, "number out of range").with_help("write a smaller number")
}

/// Tabs and line ends are always accepted.
fn reject_control_characters(text: &str, is_rejected: impl Fn(char) -> bool) -> Result<(), ParseError> {
    let found = text.char_indices().find(|&(_, ch)| is_rejected(ch) && !matches!(ch, '\t' | '\n' | '\r'));
    found.map_or(Ok(()), |(at, ch)| {
        let message = format!("control character U+{:04X}", u32::from(ch));
        let help = "write it as an escape in double quotes, as in \"\\u0000\"";
        Err(ParseError::new(at..at + ch.len_utf8(), message).with_help(help))
    })
}

#[cfg(test)]
mod tests;
