//! The administrator's policy, enforced before a server is connected to.

use std::path::Path;

use agent::{
    config::Configuration,
    policy::{Origin, Platform, Policy},
};
use anyhow::anyhow;
use client::ServerConfig;

use super::error::ClientCommandError;

/// The policy of this machine.
pub(crate) fn machine_policy() -> Policy {
    Policy::machine(Platform::this(), Path::new("/"))
}

/// The servers of the administrator, if no others are allowed.
pub(super) fn configuration(policy: &Policy) -> Option<Configuration> {
    policy.exclusive_path().map(Configuration::load_file)
}

/// Rejects a server that the policy does not allow. `named`: it is configured.
pub(super) fn enforce(policy: &Policy, server: &ServerConfig, named: bool) -> Result<(), ClientCommandError> {
    let origin = if named && policy.exclusive().is_some() { Origin::Managed } else { Origin::User };
    let ruling = policy.decide(server, origin);
    if ruling.allowed {
        return Ok(());
    }
    let refused = anyhow!("the server `{}` may not be used: {}", server.name, ruling.reason);
    Err(ClientCommandError::rejected("not-allowed", refused).with_help("ask the administrator of this machine"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use agent::policy::PolicyDirectory;
    use client::{Endpoint, StdioEndpoint};

    use super::*;

    /// The error for a server under this policy.
    fn rejection(settings: &str, exclusive: Option<&str>, named: bool) -> Option<String> {
        let (root, place) = (tempfile::tempdir().expect("a folder"), PolicyDirectory::own(Platform::Linux));
        let write = |path: std::path::PathBuf, text: &str| {
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        write(place.settings(root.path()), settings);
        if let Some(text) = exclusive {
            write(place.exclusive(root.path()), text);
        }
        let command = StdioEndpoint { command: "files".to_owned(), ..StdioEndpoint::default() };
        let server = ServerConfig::new("files", Endpoint::Stdio(command));
        enforce(&Policy::read(&place, root.path()), &server, named).err().map(|error| format!("{error:?}"))
    }

    #[test]
    fn rejects_servers_that_the_administrator_does_not_allow() {
        assert_eq!(rejection("{}", None, false), None);
        assert_eq!(rejection(r#"{"allowedMcpServers": [{"serverCommand": ["files"]}]}"#, None, false), None);
        for settings in [
            r#"{"deniedMcpServers": [{"serverName": "files"}]}"#,
            r#"{"allowedMcpServers": []}"#,
            r#"{"allowedMcpServers": [{"serverCommand": ["files", "--safe"]}]}"#,
            "{ broken",
        ] {
            assert!(
                rejection(settings, None, true).is_some_and(|refused| refused.contains("may not be used")),
                "{settings}"
            );
        }
    }

    #[test]
    fn allows_only_managed_servers_if_the_administrator_defines_them() {
        let exclusive = Some(r#"{"mcpServers": {"files": {"command": "files"}}}"#);
        assert_eq!(rejection("{}", exclusive, true), None);
        assert!(rejection("{}", exclusive, false).is_some());
    }
}
