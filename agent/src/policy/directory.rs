//! Directories of the policy files.

use std::path::{Path, PathBuf};

/// An operating system with directories of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux, WSL and other Unix systems.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// The operating system of this process.
    #[must_use]
    pub fn this() -> Self {
        match std::env::consts::OS {
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }
}

/// A directory with policy files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDirectory {
    directory: PathBuf,
    shared: bool,
}

impl PolicyDirectory {
    /// The directory of the workbench: `/etc/mcp-workbench`, `/Library/Application Support/mcp-workbench` or
    /// `Program Files\mcp-workbench`. On Windows it is not in `ProgramData`, where every user can create directories.
    #[must_use]
    pub fn own(platform: Platform) -> Self {
        Self { directory: directory(platform, "mcp-workbench", "mcp-workbench"), shared: false }
    }

    /// The directory of Claude Code: `/etc/claude-code`, `/Library/Application Support/ClaudeCode` or
    /// `Program Files\ClaudeCode`. Its settings contain other keys, so an unknown key is an error only if it is similar to a
    /// known one.
    #[must_use]
    pub fn claude_code(platform: Platform) -> Self {
        Self { directory: directory(platform, "claude-code", "ClaudeCode"), shared: true }
    }

    /// The file with the only servers that exist, in JSON. It may be `managed-mcp.toml` instead.
    #[must_use]
    pub fn exclusive(&self, root: &Path) -> PathBuf {
        root.join(&self.directory).join("managed-mcp.json")
    }

    /// The file with the allow and deny lists, in JSON. It may be `managed-settings.toml` instead.
    #[must_use]
    pub fn settings(&self, root: &Path) -> PathBuf {
        root.join(&self.directory).join("managed-settings.json")
    }

    /// Whether a policy file exists. A file that cannot be examined exists, because it may contain rules.
    pub(super) fn has_files(&self, root: &Path) -> bool {
        let files = [self.exclusive(root), self.settings(root)];
        files.iter().flat_map(|json| [json.clone(), json.with_extension("toml")]).any(|path| exists(&path))
    }

    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }
}

/// Whether something is at a path, also if it cannot be examined.
pub(super) fn exists(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    !matches!(std::fs::symlink_metadata(path), Err(error) if matches!(error.kind(), NotFound | NotADirectory))
}

fn directory(platform: Platform, unix: &str, other: &str) -> PathBuf {
    let parents: &[&str] = match platform {
        Platform::Linux => return ["etc", unix].iter().collect(),
        Platform::MacOs => &["Library", "Application Support"],
        Platform::Windows => &["Program Files"],
    };
    parents.iter().chain([&other]).collect()
}
