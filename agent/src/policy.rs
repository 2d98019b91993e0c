//! The servers that an administrator allows.
//!
//! The policy is in two optional files of a directory that only an administrator can write to ([`PolicyDirectory`]), in JSON or,
//! with the ending `.toml`, in TOML (`mcp_servers`, `allowed_mcp_servers`, `server_name`, …):
//!
//! - `managed-mcp.json`, `{"mcpServers": {…}}`: if it exists, all other servers are rejected.
//! - `managed-settings.json`, with the lists `allowedMcpServers` and `deniedMcpServers`. An entry is one of
//!   `{"serverName": "x"}`, `{"serverCommand": ["npx", "-y", "x"]}` and `{"serverUrl": "https://*.example.com/*"}`.
//!
//! The rules are those of the files of the same names in Claude Code (code.claude.com, "Control MCP server access"):
//!
//! 1. If there is an exclusive file, only its servers exist. The lists apply to them as well.
//! 2. The deny list takes precedence. It matches name, command or URL.
//! 3. Without an allow list, all other servers are allowed. An empty allow list allows none.
//! 4. If the allow list contains commands, a stdio server must match one of them. Its name is not sufficient, because the user
//!    chooses the name. The same applies to remote servers and URLs. Otherwise the allow list must contain the name.
//!
//! A command matches if the program and all arguments are equal after expansion. The environment, `PATH` included, is not
//! compared. [`UrlPattern`] describes how URLs match.
//!
//! **A file that cannot be read or has any error rejects all servers**: skipping a rule could allow what it denies. Errors
//! include unknown keys, duplicate keys and entries with two kinds. A missing file is not an error.

mod directory;
mod file;
#[cfg(test)]
mod tests;
mod url_pattern;

use std::{borrow::Cow, path::Path};

use client::{Endpoint, ServerConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use directory::{Platform, PolicyDirectory};
pub use file::PolicyError;
pub use url_pattern::{UrlPattern, UrlPatternError};

use file::{Entry, ExclusiveServers};

/// The servers that an administrator allows.
#[derive(Debug, Default)]
pub struct Policy {
    exclusive: Option<ExclusiveServers>,
    allowed: Option<Vec<Entry>>,
    denied: Vec<Entry>,
    problem: Option<PolicyError>,
}

/// The source of the entry of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The exclusive file ([`Policy::exclusive`]).
    Managed,
    /// Any other configuration.
    User,
}

/// The decision of the policy about one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDecision {
    /// Whether it may be used.
    pub allowed: bool,
    /// The reason, as a lower-case fragment.
    pub reason: Cow<'static, str>,
}

impl Policy {
    /// Reads the files of a directory below a root, which is `/` except in tests. If a file has an error, the policy rejects
    /// all servers, and [`Self::problem`] returns the error.
    #[must_use]
    pub fn read(directory: &PolicyDirectory, root: &Path) -> Self {
        Self::try_read(directory, root).unwrap_or_else(|problem| Self { problem: Some(problem), ..Self::default() })
    }

    /// Reads the policy of a machine: the files of the workbench or, if it has none, those of Claude Code.
    #[must_use]
    pub fn machine(platform: Platform, root: &Path) -> Self {
        let (own, other) = (PolicyDirectory::own(platform), PolicyDirectory::claude_code(platform));
        Self::read(if own.has_files(root) { &own } else { &other }, root)
    }

    fn try_read(directory: &PolicyDirectory, root: &Path) -> Result<Self, PolicyError> {
        let exclusive = file::read_exclusive(&directory.exclusive(root))?;
        let settings = file::read_settings(&directory.settings(root), directory.is_shared())?;
        Ok(Self { exclusive, allowed: settings.allowed, denied: settings.denied, problem: None })
    }

    /// The error because of which all servers are rejected.
    #[must_use]
    pub fn problem(&self) -> Option<&PolicyError> {
        self.problem.as_ref()
    }

    /// The servers of the exclusive file, as in `.mcp.json`. If present, no other configuration applies.
    #[must_use]
    pub fn exclusive(&self) -> Option<&Map<String, Value>> {
        self.exclusive.as_ref().map(|(_, servers)| servers)
    }

    /// The path of the exclusive file.
    #[must_use]
    pub fn exclusive_path(&self) -> Option<&Path> {
        self.exclusive.as_ref().map(|(path, _)| path.as_path())
    }

    /// Decides whether a server may be used. The variables of the server must be expanded.
    #[must_use]
    pub fn decide(&self, server: &ServerConfig, origin: Origin) -> PolicyDecision {
        if let Some(problem) = &self.problem {
            return PolicyDecision::rejected(format!("the policy of the administrator is invalid: {problem}"));
        }
        if self.exclusive.is_some() && origin != Origin::Managed {
            return PolicyDecision::rejected("the administrator allows only the managed servers");
        }
        match self.denied.iter().find(|entry| entry.denies(server)) {
            Some(entry) => PolicyDecision::rejected(format!("the administrator denies {entry}")),
            None => self.decide_by_allow_list(server),
        }
    }

    fn decide_by_allow_list(&self, server: &ServerConfig) -> PolicyDecision {
        let Some(allowed) = &self.allowed else {
            return PolicyDecision { allowed: true, reason: "the administrator does not deny it".into() };
        };
        let stdio = matches!(server.endpoint, Endpoint::Stdio(_));
        let (special, kind) =
            if stdio { (Entry::is_command as fn(&Entry) -> bool, "command") } else { (Entry::is_url as _, "URL") };
        let strict = allowed.iter().any(special);
        let candidates = allowed.iter().filter(|entry| if strict { special(entry) } else { entry.is_name() });
        match candidates.into_iter().find(|entry| entry.allows(server)) {
            Some(entry) => PolicyDecision { allowed: true, reason: format!("the administrator allows {entry}").into() },
            None if strict => {
                PolicyDecision::rejected(format!("its {kind} is not on the allow list of the administrator"))
            }
            None => PolicyDecision::rejected("its name is not on the allow list of the administrator"),
        }
    }
}

impl PolicyDecision {
    fn rejected(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { allowed: false, reason: reason.into() }
    }
}
