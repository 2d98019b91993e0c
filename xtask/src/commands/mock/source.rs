//! Where a mock server's script comes from: a profile, or a file.

use std::{convert::Infallible, ffi::OsString, path::PathBuf, str::FromStr};

use mock_servers::{Script, profile};

use crate::failure::Failure;

/// A profile's name, or the path of a script.
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
    pub(super) fn read(&self) -> Result<Script, Failure> {
        // A name that is no text is no profile's either, so that nothing is lost but the message's exactness.
        profile::load(&self.0.to_string_lossy()).map_err(Failure::input)
    }

    /// The folder of the script, which marks what belongs to it in a list of processes.
    pub(super) fn folder(&self) -> OsString {
        self.0.parent().map(|folder| folder.as_os_str().to_owned()).unwrap_or_default()
    }
}
