//! A project directory with a configuration of its own.

use std::{fs, path::PathBuf};

use tempfile::TempDir;
use tokio::process::Command;

use crate::kit::{Ran, command};

/// A project with a user who works in a subdirectory.
pub(crate) struct Project {
    directory: TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("project/.git")).unwrap();
        fs::create_dir_all(directory.path().join("project/deep/er")).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    /// Content of the only file of the local scope.
    pub(crate) fn local(&self) -> String {
        let mut files = fs::read_dir(self.path("config/projects")).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        fs::read_to_string(file).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("MCP_WORKBENCH_CONFIG_DIR", self.path("config")).current_dir(self.path("project/deep/er"));
        command.env_remove("TOKEN");
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        Ran::run(self.command(arguments)).await
    }
}
