//! One rule, as a person writes it.

use client::{NameLimit, qualified_name};

use super::{
    glob::{Glob, GlobError},
    target::PermissionTarget,
};

const PREFIX: &str = "mcp__";
const HASH: &str = "___";
const HASH_LENGTH: usize = 26;

/// A rule about tools or about elicitations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    pattern: Pattern,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// One qualified name, with the hash that makes it one.
    Name(String),
    /// Tools, by the names of server and tool; `joined` is the pattern of the whole, if it was written in that form.
    Tools { server: Glob, tool: Glob, joined: Option<Glob> },
    /// Elicitations, by the name of the server.
    Elicitations { server: Glob },
}

/// How a rule is read where its text could mean more than one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// For rules that allow: only what it surely means.
    Narrow,
    /// For rules that deny or ask: whatever it could mean.
    Wide,
}

/// Why a rule means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleProblem {
    /// Nothing is written there.
    #[error("is empty; `*/*` stands for all tools")]
    Empty,
    /// A space in front or behind belongs to no name.
    #[error("begins or ends with a space")]
    Space,
    /// No server, or no tool, is named.
    #[error(
        "names no {missing}; write `<server>/<tool>`, `mcp__<server>__<tool>` or `mcp__<server>`, with `*` for any"
    )]
    Missing {
        /// `server` or `tool`.
        missing: &'static str,
    },
    /// Neither a tool nor `Elicit(…)`.
    #[error(
        "is about `{kind}`, which is not known; rules are about tools, or about elicitations as `Elicit(<server>)`"
    )]
    Kind {
        /// What stands in front of the parenthesis.
        kind: String,
    },
    /// A rule of one server that is about another.
    #[error("stands among the rules of the server `{server}` and is about another; write the name of the tool alone")]
    OtherServer {
        /// The server among whose rules it stands.
        server: String,
    },
    /// A pattern that means nothing.
    #[error("cannot be read: {0}")]
    Pattern(#[from] GlobError),
}

impl Rule {
    /// Reads a rule that stands among those for all servers.
    ///
    /// # Errors
    /// If it means nothing. It must then not be left out: a rule that denies would become none.
    pub fn global(text: &str) -> Result<Self, RuleProblem> {
        check(text)?;
        let pattern = Pattern::parse(text)?.ok_or(RuleProblem::Missing { missing: "server" })?;
        Ok(Self { text: text.to_owned(), pattern })
    }

    /// Reads a rule that stands among those of one server; the name of a tool alone will do there.
    ///
    /// # Errors
    /// As [`Self::global`], and if it is about another server.
    pub fn for_server(text: &str, server: &str) -> Result<Self, RuleProblem> {
        check(text)?;
        let pattern = match Pattern::parse(text)? {
            Some(pattern) if pattern.can_be_about(server) => pattern,
            Some(_) => return Err(RuleProblem::OtherServer { server: server.to_owned() }),
            None => Pattern::Tools { server: Glob::exactly(server), tool: Glob::parse(text)?, joined: None },
        };
        Ok(Self { text: text.to_owned(), pattern })
    }

    /// The rule as it was written.
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
                    && joined.as_ref().is_some_and(|joined| any(joined, server, tool.name())))
            }
            _ => false,
        }
    }
}

fn check(text: &str) -> Result<(), RuleProblem> {
    match text {
        "" => Err(RuleProblem::Empty),
        _ if text.trim() != text => Err(RuleProblem::Space),
        _ => Ok(()),
    }
}

impl Pattern {
    /// `None` for a bare name, which is about a tool of a server that is not named.
    fn parse(text: &str) -> Result<Option<Self>, RuleProblem> {
        if let Some((kind, server)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            if !kind.ends_with('\\') {
                return Self::elicitations(kind, server).map(Some);
            }
        } else if text == "Elicit" {
            return Err(RuleProblem::Missing { missing: "server" });
        }
        if let Some(rest) = text.strip_prefix(PREFIX) {
            return Self::joined(text, rest).map(Some);
        }
        let Some((server, tool)) = text.split_once('/') else { return Ok(None) };
        Self::pair(server, tool, None).map(Some)
    }

    fn elicitations(kind: &str, server: &str) -> Result<Self, RuleProblem> {
        match (kind, server) {
            ("Elicit", "") => Err(RuleProblem::Missing { missing: "server" }),
            ("Elicit", _) => Ok(Self::Elicitations { server: Glob::parse(server)? }),
            _ => Err(RuleProblem::Kind { kind: kind.to_owned() }),
        }
    }

    /// The *rule* is split, at its first `__`; the name of a tool never is.
    fn joined(text: &str, rest: &str) -> Result<Self, RuleProblem> {
        if is_hashed(text) {
            return Ok(Self::Name(text.to_owned()));
        }
        match rest.split_once("__") {
            Some((server, tool)) => Self::pair(server, tool, Some(Glob::parse(text)?)),
            None => Self::pair(rest, "*", Some(Glob::parse(&format!("{text}__*"))?)),
        }
    }

    fn pair(server: &str, tool: &str, joined: Option<Glob>) -> Result<Self, RuleProblem> {
        match (server, tool) {
            ("", _) => Err(RuleProblem::Missing { missing: "server" }),
            (_, "") => Err(RuleProblem::Missing { missing: "tool" }),
            _ => Ok(Self::Tools { server: Glob::parse(server)?, tool: Glob::parse(tool)?, joined }),
        }
    }

    fn can_be_about(&self, name: &str) -> bool {
        match self {
            // Which server a hash belongs to cannot be seen. If it is another's, the rule matches nothing here.
            Self::Name(_) => true,
            Self::Tools { server, .. } | Self::Elicitations { server } => server.is_match(name),
        }
    }
}

/// Whether the text ends as qualified names do that cannot be written plainly; see `client::names`.
fn is_hashed(text: &str) -> bool {
    text.rsplit_once(HASH).is_some_and(|(_, hash)| {
        hash.len() == HASH_LENGTH && hash.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
    })
}

fn qualified_names(server: &str, tool: &str) -> [String; 2] {
    [NameLimit::Chars64, NameLimit::Chars128].map(|limit| qualified_name(server, tool, limit))
}

/// Whether the pattern is for any of the names by which somebody may know this tool.
fn any(joined: &Glob, server: &str, tool: &str) -> bool {
    joined.is_match(&format!("{PREFIX}{server}__{tool}"))
        || qualified_names(server, tool).iter().any(|name| joined.is_match(name))
}
