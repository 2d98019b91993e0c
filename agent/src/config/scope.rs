//! Scopes of configuration, and their files. The first scope that defines a server takes precedence.
//!
//! | scope | file | purpose |
//! | --- | --- | --- |
//! | local | `<config>/projects/<project>-<hash>.toml` | settings of one user for one project. The file is *not* in the project, because a repository must not override its user |
//! | project | `.mcp.json` and `.mcp.toml`, the nearest from the working directory up to the top of the repository | settings of all users of the project, which other clients read too |
//! | user | `<config>/config.toml` | settings of one user for all projects |
//! | plugin | `.mcp.json` or `.claude-plugin/plugin.json` of each directory under `plugins` in the files of the user | settings of the author of the plugin |
//!
//! `<config>` is `$MCP_WORKBENCH_CONFIG_DIR`, else `$XDG_CONFIG_HOME/mcp-workbench`, else `~/.config/mcp-workbench`, on Windows
//! `%APPDATA%\mcp-workbench`. Outside a repository only the working directory is searched: any user can write `/tmp/.mcp.json`.

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// The environment variable with the directory of the files of the user.
pub const DIRECTORY_VARIABLE: &str = "MCP_WORKBENCH_CONFIG_DIR";

/// The name of the file of a project.
pub const PROJECT_FILE: &str = ".mcp.json";

/// The name of the file of a project in TOML.
pub const PROJECT_TOML: &str = ".mcp.toml";

/// Directories at the top of a repository.
const REPOSITORY_MARKERS: [&str; 3] = [".git", ".hg", ".jj"];

/// The scope of a configuration file, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// A file named on the command line.
    Explicit,
    /// One user in one project.
    Local,
    /// All users of one project.
    Project,
    /// One user.
    User,
    /// A plugin.
    Plugin,
}

impl Scope {
    /// All scopes, in order of precedence.
    pub const ALL: [Self; 5] = [Self::Explicit, Self::Local, Self::Project, Self::User, Self::Plugin];

    /// The name of the scope.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Explicit => "given",
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
            Self::Plugin => "plugin",
        }
    }

    /// Whether allow rules of this scope apply. The user did not write the rules of a repository or a plugin.
    #[must_use]
    pub fn may_allow(self) -> bool {
        match self {
            Self::Explicit | Self::Local | Self::User => true,
            Self::Project | Self::Plugin => false,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The paths of the files of each scope. The files may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPaths {
    /// The top of the repository, or the working directory.
    pub top: PathBuf,
    /// The file of the project.
    pub project: PathBuf,
    /// The file of the user for this project; `None` if the user has no configuration directory.
    pub local: Option<PathBuf>,
    /// The file of the user; `None` if the user has no configuration directory.
    pub user: Option<PathBuf>,
}

impl ConfigPaths {
    /// Finds the paths for a working directory, which is absolute.
    #[must_use]
    pub fn discover(directory: &Path, variables: impl Fn(&str) -> Option<OsString>) -> Self {
        let is_top = |path: &&Path| REPOSITORY_MARKERS.iter().any(|name| path.join(name).exists());
        let top = directory.ancestors().find(is_top).unwrap_or(directory).to_owned();
        let below = directory.ancestors().take_while(|path| path.starts_with(&top));
        let found = below.flat_map(|path| [PROJECT_FILE, PROJECT_TOML].map(|name| path.join(name)));
        let found = { found }.find(|file| file.exists());
        let config = config_directory(variables);
        Self {
            project: found.unwrap_or_else(|| top.join(PROJECT_FILE)),
            local: config.as_ref().map(|config| config.join("projects").join(local_name(&top))),
            user: config.map(|config| config.join("config.toml")),
            top,
        }
    }

    /// The file of a scope, if it has one.
    #[must_use]
    pub fn file(&self, scope: Scope) -> Option<&Path> {
        match scope {
            Scope::Local => self.local.as_deref(),
            Scope::Project => Some(&self.project),
            Scope::User => self.user.as_deref(),
            Scope::Explicit | Scope::Plugin => None,
        }
    }
}

/// The directory of the files of the user.
fn config_directory(variables: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // Relative paths are invalid (XDG Base Directory Specification).
    let set = |name: &str| variables(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || set("HOME").map(|home| home.join(".config"));
    let base = || if cfg!(windows) { set("APPDATA") } else { set("XDG_CONFIG_HOME").or_else(home) };
    set(DIRECTORY_VARIABLE).or_else(|| base().map(|base| base.join("mcp-workbench")))
}

/// The name of the local file of a project: readable and unique.
fn local_name(top: &Path) -> String {
    let hash = Sha256::digest(top.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let name = top.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = |ch: char| if ch.is_ascii_alphanumeric() || "-_.".contains(ch) { ch } else { '_' };
    let name: String = name.chars().take(40).map(plain).collect();
    format!("{name}-{hash}.toml")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn paths(directory: &Path, variables: &[(&str, &str)]) -> ConfigPaths {
        ConfigPaths::discover(directory, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_nearest_project_file_in_the_repository_is_used() {
        let root = tempfile::tempdir().unwrap();
        let (top, inner) = (root.path().join("a"), root.path().join("a/b/c"));
        fs::create_dir_all(&inner).unwrap();
        fs::write(root.path().join(PROJECT_FILE), "{}").unwrap();
        // Outside a repository, parent directories are not searched.
        assert_eq!(paths(&inner, &[]).project, inner.join(PROJECT_FILE));
        fs::create_dir(top.join(".git")).unwrap();
        let found = paths(&inner, &[]);
        assert_eq!((found.project, found.top), (top.join(PROJECT_FILE), top.clone()));
        fs::write(top.join(PROJECT_FILE), "{}").unwrap();
        fs::write(root.path().join("a/b").join(PROJECT_FILE), "{}").unwrap();
        assert_eq!(paths(&inner, &[]).project, root.path().join("a/b").join(PROJECT_FILE));
        assert_eq!(paths(&top, &[]).project, top.join(PROJECT_FILE));
    }

    #[test]
    fn environment_variables_determine_the_directory_of_the_user() {
        let directory = Path::new("/src/my project");
        assert_eq!(paths(directory, &[]).user, None);
        for (variables, expected) in [
            (&[("HOME", "/h")] as &[(&str, &str)], "/h/.config/mcp-workbench/config.toml"),
            (&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], "/x/mcp-workbench/config.toml"),
            (&[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")], "/h/.config/mcp-workbench/config.toml"),
            (&[("HOME", "/h"), (DIRECTORY_VARIABLE, "/own")], "/own/config.toml"),
        ] {
            assert_eq!(paths(directory, variables).user.as_deref(), Some(Path::new(expected)));
        }
        let local = paths(directory, &[(DIRECTORY_VARIABLE, "/own")]).local.unwrap();
        let name = local.file_name().unwrap().to_str().unwrap();
        assert!(local.starts_with("/own/projects") && name.starts_with("my_project-") && name.ends_with(".toml"));
        let other = paths(Path::new("/other/my project"), &[(DIRECTORY_VARIABLE, "/own")]).local.unwrap();
        assert_ne!(local, other);
    }
}
