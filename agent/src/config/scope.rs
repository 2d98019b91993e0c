//! Where configuration is looked for, and which of it counts.
//!
//! | scope | file | why there |
//! | --- | --- | --- |
//! | local | `<config>/projects/<project>-<hash>.toml` | what one person adds to one project. It is *not* in the project: what a repository brings along must not count more than what its user wrote |
//! | project | `.mcp.json`, the nearest from the working directory up to the top of the repository | shared by all who work on it, and read by other clients too |
//! | user | `<config>/config.toml` | one person's, everywhere |
//! | plugin | `.mcp.json` or `.claude-plugin/plugin.json` of each folder under `plugins` in the files of the user | what somebody else wrote |
//!
//! `<config>` is `$MCP_WORKBENCH_CONFIG_DIR`, else `$XDG_CONFIG_HOME/mcp-workbench`, else `~/.config/mcp-workbench`, on Windows
//! `%APPDATA%\mcp-workbench`. Outside of a repository only the working directory itself is looked at: a `.mcp.json` in `/tmp`
//! may be anybody's.

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// The variable that names the folder of the user's files.
pub const FOLDER_VARIABLE: &str = "MCP_WORKBENCH_CONFIG_DIR";

/// The name of a project's file.
pub const PROJECT_FILE: &str = ".mcp.json";

/// What stands at the top of a repository.
const TOPS: [&str; 3] = [".git", ".hg", ".jj"];

/// Where a server was configured. The first counts most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// In a file that was named.
    Explicit,
    /// For one person in one project.
    Local,
    /// For all who work on a project.
    Project,
    /// For one person.
    User,
    /// By a plugin.
    Plugin,
}

impl Scope {
    /// All of them; the first counts most.
    pub const ALL: [Self; 5] = [Self::Explicit, Self::Local, Self::Project, Self::User, Self::Plugin];

    /// How it is called.
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
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where the files of each scope are, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPaths {
    /// The top of the project: of its repository, or the working directory.
    pub top: PathBuf,
    /// The file of the project.
    pub project: PathBuf,
    /// The user's file for this project; `None` where the user has no folder.
    pub local: Option<PathBuf>,
    /// The user's file.
    pub user: Option<PathBuf>,
}

impl ConfigPaths {
    /// The places for somebody who works in this folder, which is absolute.
    #[must_use]
    pub fn discover(folder: &Path, variables: impl Fn(&str) -> Option<OsString>) -> Self {
        let top = folder.ancestors().find(|folder| TOPS.iter().any(|name| folder.join(name).exists()));
        let top = top.unwrap_or(folder).to_owned();
        let below = folder.ancestors().take_while(|folder| folder.starts_with(&top));
        let found = below.map(|folder| folder.join(PROJECT_FILE)).find(|file| file.exists());
        let config = config_folder(variables);
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

/// The folder of the user's files.
fn config_folder(variables: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // What is relative means nothing there (XDG Base Directory Specification).
    let set = |name: &str| variables(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || set("HOME").map(|home| home.join(".config"));
    let base = || if cfg!(windows) { set("APPDATA") } else { set("XDG_CONFIG_HOME").or_else(home) };
    set(FOLDER_VARIABLE).or_else(|| base().map(|base| base.join("mcp-workbench")))
}

/// The name of the user's file for a project: readable, and no other project's.
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

    fn places(folder: &Path, variables: &[(&str, &str)]) -> ConfigPaths {
        ConfigPaths::discover(folder, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_nearest_project_file_counts_and_none_above_the_repository() {
        let root = tempfile::tempdir().unwrap();
        let (top, inner) = (root.path().join("a"), root.path().join("a/b/c"));
        fs::create_dir_all(&inner).unwrap();
        fs::write(root.path().join(PROJECT_FILE), "{}").unwrap();
        // No repository: what is above may be anybody's.
        assert_eq!(places(&inner, &[]).project, inner.join(PROJECT_FILE));
        fs::create_dir(top.join(".git")).unwrap();
        let found = places(&inner, &[]);
        assert_eq!((found.project, found.top), (top.join(PROJECT_FILE), top.clone()));
        fs::write(top.join(PROJECT_FILE), "{}").unwrap();
        fs::write(root.path().join("a/b").join(PROJECT_FILE), "{}").unwrap();
        assert_eq!(places(&inner, &[]).project, root.path().join("a/b").join(PROJECT_FILE));
        assert_eq!(places(&top, &[]).project, top.join(PROJECT_FILE));
    }

    #[test]
    fn the_user_s_files_are_where_the_environment_says() {
        let folder = Path::new("/src/my project");
        assert_eq!(places(folder, &[]).user, None);
        for (variables, expected) in [
            (&[("HOME", "/h")] as &[(&str, &str)], "/h/.config/mcp-workbench/config.toml"),
            (&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], "/x/mcp-workbench/config.toml"),
            (&[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")], "/h/.config/mcp-workbench/config.toml"),
            (&[("HOME", "/h"), (FOLDER_VARIABLE, "/own")], "/own/config.toml"),
        ] {
            assert_eq!(places(folder, variables).user.as_deref(), Some(Path::new(expected)));
        }
        let local = places(folder, &[(FOLDER_VARIABLE, "/own")]).local.unwrap();
        let name = local.file_name().unwrap().to_str().unwrap();
        assert!(local.starts_with("/own/projects") && name.starts_with("my_project-") && name.ends_with(".toml"));
        let other = places(Path::new("/other/my project"), &[(FOLDER_VARIABLE, "/own")]).local.unwrap();
        assert_ne!(local, other);
    }
}
