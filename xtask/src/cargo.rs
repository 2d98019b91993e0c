//! cargo, called from a program that cargo runs.

use std::{env, process::Command};

/// The cargo that built this program, so that no other toolchain gets mixed in.
///
/// `cargo run` tells a program about its package in variables. Handed on, they would look like a change to build scripts
/// that watch `CARGO_MANIFEST_DIR` (ring's, for one), and everything that stands on those crates would be built anew each
/// time cargo is called from here and from a shell in turn.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_the_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether cargo sets this variable for a program that it runs ("Environment Variables", The Cargo Book).
fn is_of_the_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_PRIMARY_PACKAGE"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_this_package_is_not_handed_on() {
        // cargo sets these for tests as it does for programs.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        let command = cargo();
        let removed = |wanted: &str| command.get_envs().any(|(name, value)| name == wanted && value.is_none());
        assert!(removed("CARGO_MANIFEST_DIR") && removed("CARGO_PKG_VERSION"));
        assert!(!removed("CARGO_TARGET_DIR") && !removed("CARGO") && !removed("PATH"));
    }
}
