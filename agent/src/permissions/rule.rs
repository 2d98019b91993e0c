//! Syntax and matching of one rule.

use client::{NameLimit, qualified_name};

use super::{
    glob::{Glob, GlobError},
    target::PermissionTarget,
};

const PREFIX: &str = "mcp__";
const HASH: &str = "___";
const HASH_LENGTH: usize = 26;

/// A rule for tools or elicitations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    pattern: Pattern,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// One qualified name with a hash.
    Name(String),
    /// Tools by server and tool name; `joined` is the pattern of the qualified name, if the rule has that form.
    Tools { server: Glob, tool: Glob, joined: Option<Glob> },
    /// Elicitations by server name.
    Elicitations { server: Glob },
}

/// How an ambiguous rule is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// For allow rules: only the certain meaning.
    Narrow,
    /// For deny and ask rules: all possible meanings.
    Wide,
}

/// Why a rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleErrorKind {
    /// The rule is empty.
    #[error("is empty; write `*/*` for all tools")]
    Empty,
    /// The rule begins or ends with whitespace.
    #[error("begins or ends with a space")]
    Space,
    /// The server or the tool is missing.
    #[error(
        "names no {missing}; write `<server>/<tool>`, `mcp__<server>__<tool>` or `mcp__<server>`, with `*` for any"
    )]
    Missing {
        /// `server` or `tool`.
        missing: &'static str,
    },
    /// Neither a tool nor `Elicit(…)`.
    #[error("has the unknown kind `{kind}`; write a rule for tools, or `Elicit(<server>)` for elicitations")]
    Kind {
        /// The text before the parenthesis.
        kind: String,
    },
    /// The rule applies to another server.
    #[error("is in the rules of server `{server}` and applies to another; write only the name of the tool")]
    OtherServer {
        /// The server whose rules contain it.
        server: String,
    },
    /// A pattern is invalid.
    #[error("is invalid: {0}")]
    Pattern(#[from] GlobError),
}

impl Rule {
    /// Parses a global rule.
    ///
    /// # Errors
    /// If it is invalid. The caller must not skip it, because it may be a deny rule.
    pub fn global(text: &str) -> Result<Self, RuleErrorKind> {
        check(text)?;
        let pattern = Pattern::parse(text)?.ok_or(RuleErrorKind::Missing { missing: "server" })?;
        Ok(Self { text: text.to_owned(), pattern })
    }

    /// Parses a rule of one server, where the name of a tool is sufficient.
    ///
    /// # Errors
    /// As [`Self::global`], and if it applies to another server.
    pub fn for_server(text: &str, server: &str) -> Result<Self, RuleErrorKind> {
        check(text)?;
        let pattern = match Pattern::parse(text)? {
            Some(pattern) if pattern.may_apply_to(server) => pattern,
            Some(_) => return Err(RuleErrorKind::OtherServer { server: server.to_owned() }),
            None => Pattern::Tools { server: Glob::exactly(server), tool: Glob::parse(text)?, joined: None },
        };
        Ok(Self { text: text.to_owned(), pattern })
    }

    /// The unparsed rule.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn applies(&self, target: &PermissionTarget<'_>, reading: Reading) -> bool {
        match (&self.pattern, target) {
            (Pattern::Elicitations { server }, PermissionTarget::Elicitation { server: asking }) => {
                server.is_match(asking)
            }
            (Pattern::Name(name), PermissionTarget::Tool { server, tool }) => {
                qualified_names(server, tool.name()).contains(name)
            }
            (Pattern::Tools { server: wanted, tool: pattern, joined }, PermissionTarget::Tool { server, tool }) => {
                let pair = wanted.is_match(server) && pattern.is_match(tool.name());
                pair || (reading == Reading::Wide
                    && joined.as_ref().is_some_and(|joined| matches_any_name(joined, server, tool.name())))
            }
            _ => false,
        }
    }
}

fn check(text: &str) -> Result<(), RuleErrorKind> {
    match text {
        "" => Err(RuleErrorKind::Empty),
        _ if text.trim() != text => Err(RuleErrorKind::Space),
        _ => Ok(()),
    }
}

impl Pattern {
    /// Returns `None` for the name of a tool without a server.
    fn parse(text: &str) -> Result<Option<Self>, RuleErrorKind> {
        if let Some((kind, server)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            if !kind.ends_with('\\') {
                return Self::elicitations(kind, server).map(Some);
            }
        } else if text == "Elicit" {
            return Err(RuleErrorKind::Missing { missing: "server" });
        }
        if let Some(rest) = text.strip_prefix(PREFIX) {
            return Self::joined(text, rest).map(Some);
        }
        let Some((server, tool)) = text.split_once('/') else { return Ok(None) };
        Self::pair(server, tool, None).map(Some)
    }

    fn elicitations(kind: &str, server: &str) -> Result<Self, RuleErrorKind> {
        match (kind, server) {
            ("Elicit", "") => Err(RuleErrorKind::Missing { missing: "server" }),
            ("Elicit", _) => Ok(Self::Elicitations { server: Glob::parse(server)? }),
            _ => Err(RuleErrorKind::Kind { kind: kind.to_owned() }),
        }
    }

    /// Splits the *rule* at its first `__`; names of tools are never split.
    fn joined(text: &str, rest: &str) -> Result<Self, RuleErrorKind> {
        if is_hashed(text) {
            return Ok(Self::Name(text.to_owned()));
        }
        match rest.split_once("__") {
            Some((server, tool)) => Self::pair(server, tool, Some(Glob::parse(text)?)),
            None => Self::pair(rest, "*", Some(Glob::parse(&format!("{text}__*"))?)),
        }
    }

    fn pair(server: &str, tool: &str, joined: Option<Glob>) -> Result<Self, RuleErrorKind> {
        match (server, tool) {
            ("", _) => Err(RuleErrorKind::Missing { missing: "server" }),
            (_, "") => Err(RuleErrorKind::Missing { missing: "tool" }),
            _ => Ok(Self::Tools { server: Glob::parse(server)?, tool: Glob::parse(tool)?, joined }),
        }
    }

    fn may_apply_to(&self, name: &str) -> bool {
        match self {
            // The hash does not show its server. If it is another server, the rule never matches.
            Self::Name(_) => true,
            Self::Tools { server, .. } | Self::Elicitations { server } => server.is_match(name),
        }
    }
}

/// Whether the text ends with the hash of a qualified name; see `client::names`.
fn is_hashed(text: &str) -> bool {
    text.rsplit_once(HASH).is_some_and(|(_, hash)| {
        hash.len() == HASH_LENGTH && hash.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
    })
}

fn qualified_names(server: &str, tool: &str) -> [String; 2] {
    [NameLimit::Chars64, NameLimit::Chars128].map(|limit| qualified_name(server, tool, limit))
}

/// Whether the pattern matches any qualified name of this tool.
fn matches_any_name(joined: &Glob, server: &str, tool: &str) -> bool {
    joined.is_match(&format!("{PREFIX}{server}__{tool}"))
        || qualified_names(server, tool).iter().any(|name| joined.is_match(name))
}
