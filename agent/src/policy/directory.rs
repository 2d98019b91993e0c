//! Where an administrator puts the files.

use std::path::{Path, PathBuf};

/// An operating system, as far as its directories go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux, WSL, and the other Unixes.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one that this program runs on.
    #[must_use]
    pub fn this() -> Self {
        match std::env::consts::OS {
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }
}

/// A directory with the files of an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDirectory {
    /// The directory, from the root on.
    directory: PathBuf,
    shared: bool,
}

impl PolicyDirectory {
    /// Ours: `/etc/mcp-workbench`, `/Library/Application Support/mcp-workbench`, `Program Files\mcp-workbench`. (On Windows not
    /// `ProgramData`, in which every user may make directories.)
    #[must_use]
    pub fn own(platform: Platform) -> Self {
        Self { directory: directory(platform, "mcp-workbench", "mcp-workbench"), shared: false }
    }

    /// Claude Code's: `/etc/claude-code`, `/Library/Application Support/ClaudeCode`, `Program Files\ClaudeCode`. Its settings
    /// are about much else, so keys that are not known here are left alone, unless they look like a misspelt one of ours.
    #[must_use]
    pub fn claude_code(platform: Platform) -> Self {
        Self { directory: directory(platform, "claude-code", "ClaudeCode"), shared: true }
    }

    /// The file whose servers are the only ones.
    #[must_use]
    pub fn exclusive(&self, root: &Path) -> PathBuf {
        root.join(&self.directory).join("managed-mcp.json")
    }

    /// The file with the lists.
    #[must_use]
    pub fn settings(&self, root: &Path) -> PathBuf {
        root.join(&self.directory).join("managed-settings.json")
    }

    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }
}

fn directory(platform: Platform, unix: &str, other: &str) -> PathBuf {
    let parents: &[&str] = match platform {
        Platform::Linux => return ["etc", unix].iter().collect(),
        Platform::MacOs => &["Library", "Application Support"],
        Platform::Windows => &["Program Files"],
    };
    parents.iter().chain([&other]).collect()
}
