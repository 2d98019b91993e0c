//! The script of a mock server: a profile or a file.

use std::{convert::Infallible, ffi::OsString, path::PathBuf, str::FromStr};

use mock_servers::{Script, profile};

use crate::error::CommandError;

/// Name of a profile, or path of a script.
#[derive(Debug, Clone)]
pub(super) struct Source(PathBuf);

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.into()))
    }
}

impl Source {
    /// Reads the script, with what it extends.
    pub(super) fn read(&self) -> Result<Script, CommandError> {
        // A path that is not UTF-8 is not a profile either; only the message is less exact.
        profile::load(&self.0.to_string_lossy()).map_err(CommandError::input)
    }

    /// The directory of the script, which marks its processes in a process list.
    pub(super) fn directory(&self) -> OsString {
        self.0.parent().map(|directory| directory.as_os_str().to_owned()).unwrap_or_default()
    }
}
