//! Which servers an administrator allows.
//!
//! Two files of a directory that only an administrator can write to ([`PolicyDirectory`]), both optional:
//!
//! - `managed-mcp.json`, `{"mcpServers": {…}}`: where it exists, only its servers do.
//! - `managed-settings.json`, with the lists `allowedMcpServers` and `deniedMcpServers`. An entry is one of
//!   `{"serverName": "x"}`, `{"serverCommand": ["npx", "-y", "x"]}` and `{"serverUrl": "https://*.example.com/*"}`.
//!
//! What they mean is what Claude Code documents of files of the same names (code.claude.com, "Control MCP server access"):
//!
//! 1. Where there are servers of an exclusive file, no other exists. The lists apply to them as well.
//! 2. What the deny list matches, by any of name, command and URL, is denied. Nothing beats that.
//! 3. Without an allow list everything else is allowed; an empty one allows nothing.
//! 4. If the allow list has any entry about commands, a program has to match one of those: its name is not enough, since
//!    whoever adds a server chooses its name. The same goes for remote servers and entries about URLs.
//!    Otherwise an entry with the name of the server is needed.
//!
//! A command is matched whole: program and all arguments, in order, as they are after expansion. It says nothing about the
//! environment, `PATH` included. How URLs are matched, see [`UrlPattern`].
//!
//! **A file that cannot be read, or not be understood, refuses everything** rather than allow what it was to forbid: also an
//! unknown key, a duplicate one, an entry of two kinds. Only a file that does not exist is no policy.

mod directory;
mod file;
#[cfg(test)]
mod tests;
mod url_pattern;

use std::path::Path;

use client::{Endpoint, ServerConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use directory::{Platform, PolicyDirectory};
pub use file::PolicyError;
pub use url_pattern::{UrlPattern, UrlPatternError};

use file::Entry;

/// What an administrator allows.
#[derive(Debug, Default)]
pub struct Policy {
    exclusive: Option<Map<String, Value>>,
    allowed: Option<Vec<Entry>>,
    denied: Vec<Entry>,
    problem: Option<PolicyError>,
}

/// Where the entry of a server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The exclusive file: [`Policy::exclusive`].
    Managed,
    /// Any other configuration.
    User,
}

/// What the policy says of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDecision {
    /// Whether it may be used.
    pub allowed: bool,
    /// Why, in a sentence without its end.
    pub reason: String,
}

impl Policy {
    /// Reads the files of this place below a root: `/` but in tests. It never fails: where a file cannot be read or
    /// understood, what is returned refuses everything, and [`Self::problem`] says why.
    #[must_use]
    pub fn read(place: &PolicyDirectory, root: &Path) -> Self {
        Self::try_read(place, root).unwrap_or_else(|problem| Self { problem: Some(problem), ..Self::default() })
    }

    fn try_read(place: &PolicyDirectory, root: &Path) -> Result<Self, PolicyError> {
        let exclusive = file::read(&place.exclusive(root))?.map(|file| file.parse_exclusive()).transpose()?;
        let settings = file::read(&place.settings(root))?;
        let settings = settings.map(|file| file.parse_settings(place.is_shared())).transpose()?.unwrap_or_default();
        Ok(Self { exclusive, allowed: settings.allowed, denied: settings.denied, problem: None })
    }

    /// Why everything is refused, if a file is broken. It names the file, and line and column where there are any.
    #[must_use]
    pub fn problem(&self) -> Option<&PolicyError> {
        self.problem.as_ref()
    }

    /// The servers of the exclusive file, as `.mcp.json` would have them. Where this is some, nothing else is to be read.
    #[must_use]
    pub fn exclusive(&self) -> Option<&Map<String, Value>> {
        self.exclusive.as_ref()
    }

    /// Whether this server may be used. It is given as it will be connected to, with its variables expanded.
    #[must_use]
    pub fn judge(&self, server: &ServerConfig, origin: Origin) -> PolicyDecision {
        if let Some(problem) = &self.problem {
            return PolicyDecision::refused(format!("the administrator's policy cannot be read: {problem}"));
        }
        if self.exclusive.is_some() && origin != Origin::Managed {
            return PolicyDecision::refused(
                "the administrator has set which servers there are, and this is none of them".into(),
            );
        }
        match self.denied.iter().find(|entry| entry.denies(server)) {
            Some(entry) => PolicyDecision::refused(format!("the administrator denies {entry}")),
            None => self.judge_by_allow_list(server),
        }
    }

    fn judge_by_allow_list(&self, server: &ServerConfig) -> PolicyDecision {
        let Some(allowed) = &self.allowed else {
            return PolicyDecision { allowed: true, reason: "the administrator does not deny it".into() };
        };
        let stdio = matches!(server.endpoint, Endpoint::Stdio(_));
        let (special, kind) =
            if stdio { (Entry::is_command as fn(&Entry) -> bool, "command") } else { (Entry::is_url as _, "URL") };
        let strict = allowed.iter().any(special);
        let candidates = allowed.iter().filter(|entry| if strict { special(entry) } else { entry.is_name() });
        match candidates.into_iter().find(|entry| entry.allows(server)) {
            Some(entry) => PolicyDecision { allowed: true, reason: format!("the administrator allows {entry}") },
            None if strict => {
                PolicyDecision::refused(format!("its {kind} is none of those that the administrator allows"))
            }
            None => PolicyDecision::refused("it is none of the servers that the administrator allows".into()),
        }
    }
}

impl PolicyDecision {
    fn refused(reason: String) -> Self {
        Self { allowed: false, reason }
    }
}
