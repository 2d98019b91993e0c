//! The sandbox of the program, for servers that adapt to it.

use std::path::PathBuf;

use diagnostics::document::TreeCursor;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    keys::{self, SandboxKey},
    reader::Reader,
};

/// The sandbox in which the program runs the actions of the model, in the format of Codex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum SandboxPolicy {
    /// No restriction.
    DangerFullAccess,
    /// Files can be read only.
    ReadOnly,
    /// Files below some directories can be written too.
    WorkspaceWrite {
        /// Directories in addition to the working directory.
        writable_roots: Vec<PathBuf>,
        /// Whether the network can be used.
        network_access: bool,
    },
}

/// A policy and the working directory that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// The policy.
    pub policy: SandboxPolicy,
    /// The working directory; `None` for that of the process.
    pub cwd: Option<PathBuf>,
}

impl Sandbox {
    /// The state as Codex sends it.
    #[must_use]
    pub fn state(&self) -> Value {
        let cwd = self.cwd.clone().or_else(|| std::env::current_dir().ok());
        json!({ "sandboxPolicy": self.policy, "sandboxCwd": cwd })
    }
}

/// Reads the table `sandbox`.
pub(super) fn read(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Sandbox> {
    let before = reader.errors;
    let (mut mode, mut roots, mut network, mut cwd) = (None, None, None, None);
    for entry in reader.table(entry)? {
        let Some(row) = reader.row(entry, keys::SANDBOX) else { continue };
        match row.key {
            SandboxKey::Mode => {
                let words = ["read-only", "workspace-write", "danger-full-access"].map(|word| (word, word));
                mode = reader.one_of(entry, &words);
            }
            SandboxKey::Roots => roots = reader.names(entry).map(|names| (entry, names)),
            SandboxKey::Network => network = reader.boolean(entry).map(|allowed| (entry, allowed)),
            SandboxKey::Cwd => cwd = reader.string(entry).map(|text| PathBuf::from(text.expose())),
        }
    }
    if mode.is_none() && reader.errors == before {
        reader.error(entry.key_span(), "missing key `mode`", "write `mode = \"read-only\"` or `\"workspace-write\"`");
    }
    if mode != Some("workspace-write") && reader.errors == before {
        for key in roots.iter().map(|(entry, _)| entry).chain(network.iter().map(|(entry, _)| entry)) {
            reader.error(key.key_span(), "valid only for the mode `workspace-write`", "remove the key");
        }
    }
    let policy = match mode? {
        "read-only" => SandboxPolicy::ReadOnly,
        "danger-full-access" => SandboxPolicy::DangerFullAccess,
        _ => SandboxPolicy::WorkspaceWrite {
            writable_roots: roots.map(|(_, names)| names).into_iter().flatten().map(PathBuf::from).collect(),
            network_access: network.is_some_and(|(_, allowed)| allowed),
        },
    };
    (reader.errors == before).then_some(Sandbox { policy, cwd })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::{ConfigFile, Format};

    #[test]
    fn a_policy_has_the_format_of_codex() {
        for (text, policy) in [
            ("{ mode = \"read-only\" }", json!({ "type": "read-only" })),
            ("{ mode = \"danger-full-access\", cwd = \"/w\" }", json!({ "type": "danger-full-access" })),
            (
                "{ mode = \"workspace-write\", writable_roots = [\"/a\"], network_access = true, cwd = \"/w\" }",
                json!({ "type": "workspace-write", "writable_roots": ["/a"], "network_access": true }),
            ),
        ] {
            let file = ConfigFile::parse(&format!("sandbox = {text}\n"), "f", Format::Toml);
            assert!(file.problems.is_empty(), "{:?}", file.problems);
            let state = file.sandbox.expect("a sandbox").state();
            assert_eq!(state["sandboxPolicy"], policy);
            assert_eq!(state["sandboxCwd"] == "/w", text.contains("cwd"), "{state}");
        }
    }

    #[test]
    fn errors_have_a_location() {
        for (text, part) in [
            ("{ mode = \"read\" }", "unknown mode `read`"),
            ("{ }", "missing key `mode`"),
            ("{ mode = \"read-only\", network_access = true }", "valid only for the mode"),
            ("{ mode = \"read-only\", network = true }", "unknown key `network`"),
            ("true", "expected a table"),
        ] {
            let file = ConfigFile::parse(&format!("sandbox = {text}\n"), "f", Format::Toml);
            let problem = file.problems.first().expect(text).to_string();
            assert!(problem.contains(part) && problem.contains("f:1:") && file.sandbox.is_none(), "{problem}");
        }
    }
}
