//! Builds the programs of this workspace with cargo, and replaces this process by one of them.

use std::{
    env,
    ffi::OsString,
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// A program of the workspace: package and binary have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// The product.
    Product,
    /// Feature tests, interoperability tests and benchmarks.
    Devtools,
    /// The checks of conventions.
    Tidy,
}

impl Program {
    /// The name of the package and of the binary.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Product => "mcp-workbench",
            Self::Devtools => "devtools",
            Self::Tidy => "tidy",
        }
    }

    /// The path of the built binary, next to this program's directory.
    pub(crate) fn path(self, profile: Profile) -> io::Result<PathBuf> {
        let this = env::current_exe()?;
        let target = this.parent().and_then(Path::parent).ok_or_else(|| io::Error::other("no build directory"))?;
        Ok(target.join(profile.directory()).join(self.name()))
    }
}

/// A cargo profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// `dev`.
    Dev,
    /// `release`.
    Release,
}

impl Profile {
    fn directory(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

/// Builds a program. Returns whether cargo succeeded; cargo prints why it failed.
pub(crate) fn build(program: Program, profile: Profile) -> io::Result<bool> {
    let mut command = cargo();
    // `devtools` starts an example of its own.
    command
        .args(["build", "--bins", "--examples", "--package", program.name(), "--manifest-path"])
        .arg(root().join("Cargo.toml"));
    if profile == Profile::Release {
        command.arg("--release");
    }
    Ok(command.status()?.success())
}

/// Replaces this process by a program, so that signals, terminal and exit code are the program's own.
/// Returns only if the program cannot be started.
pub(crate) fn exec(program: &Path, arguments: &[OsString]) -> io::Error {
    let error = clean(Command::new(program)).args(arguments).exec();
    io::Error::new(error.kind(), format!("cannot start {}: {error}", program.display()))
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The cargo that built this program, so that toolchains are not mixed.
pub(crate) fn cargo() -> Command {
    clean(Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())))
}

/// Removes the variables that `cargo run` sets for this package.
///
/// Build scripts that watch `CARGO_MANIFEST_DIR` (ring's, for example) would otherwise run again whenever cargo is called
/// alternately from here and from a shell, and their dependents would be rebuilt.
pub(crate) fn clean(mut command: Command) -> Command {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(describes_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether cargo sets this variable for a program that it runs ("Environment Variables", The Cargo Book).
fn describes_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_PRIMARY_PACKAGE"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_the_variables_of_this_package() {
        // cargo sets these for tests as it does for programs.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        let command = cargo();
        let removed = |wanted: &str| command.get_envs().any(|(name, value)| name == wanted && value.is_none());
        assert!(removed("CARGO_MANIFEST_DIR") && removed("CARGO_PKG_VERSION"));
        assert!(!removed("CARGO_TARGET_DIR") && !removed("CARGO") && !removed("PATH"));
    }
}
