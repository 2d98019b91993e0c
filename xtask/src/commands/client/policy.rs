//! What the administrator of this machine allows, held before a server is connected to.

use std::path::Path;

use agent::{
    config::Configuration,
    policy::{Origin, Place, Platform, Policy},
};
use anyhow::anyhow;
use client::ServerConfig;

use super::trouble::Trouble;

/// The policy of this machine.
pub(crate) fn of_this_machine() -> Policy {
    Policy::read(&Place::own(Platform::this()), Path::new("/"))
}

/// The servers of the administrator, where there are no others.
pub(super) fn configuration(policy: &Policy) -> Option<Configuration> {
    policy.exclusive()?;
    Some(Configuration::load_file(&Place::own(Platform::this()).exclusive(Path::new("/"))))
}

/// Refuses a server that the administrator does not allow. `named` is one that the configuration has.
pub(super) fn hold(policy: &Policy, server: &ServerConfig, named: bool) -> Result<(), Trouble> {
    let origin = if named && policy.exclusive().is_some() { Origin::Managed } else { Origin::User };
    let ruling = policy.judge(server, origin);
    if ruling.allowed {
        return Ok(());
    }
    let refused = anyhow!("the server `{}` may not be used: {}", server.name, ruling.reason);
    Err(Trouble::refused("not-allowed", refused).advise("ask whoever administers this machine"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use client::{Endpoint, StdioEndpoint};

    use super::*;

    /// What becomes of a program under a policy of this machine that says so.
    fn held(settings: &str, exclusive: Option<&str>, named: bool) -> Option<String> {
        let (root, place) = (tempfile::tempdir().expect("a folder"), Place::own(Platform::Linux));
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
        hold(&Policy::read(&place, root.path()), &server, named).err().map(|trouble| format!("{trouble:?}"))
    }

    #[test]
    fn what_the_administrator_does_not_allow_is_refused() {
        assert_eq!(held("{}", None, false), None);
        assert_eq!(held(r#"{"allowedMcpServers": [{"serverCommand": ["files"]}]}"#, None, false), None);
        for settings in [
            r#"{"deniedMcpServers": [{"serverName": "files"}]}"#,
            r#"{"allowedMcpServers": []}"#,
            r#"{"allowedMcpServers": [{"serverCommand": ["files", "--safe"]}]}"#,
            "{ broken",
        ] {
            assert!(
                held(settings, None, true).is_some_and(|refused| refused.contains("may not be used")),
                "{settings}"
            );
        }
    }

    #[test]
    fn where_the_administrator_has_set_the_servers_only_they_are_used() {
        let exclusive = Some(r#"{"mcpServers": {"files": {"command": "files"}}}"#);
        assert_eq!(held("{}", exclusive, true), None);
        assert!(held("{}", exclusive, false).is_some());
    }
}
