//! Where a mock server's script comes from: a profile, or a file.

use std::{
    convert::Infallible,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::Context as _;
use mock_servers::Script;

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
    /// Reads the script.
    pub(super) fn read(&self) -> Result<Script, Failure> {
        if let Some(profile) = self.0.to_str().and_then(profile) {
            return Ok(profile);
        }
        let bytes = fs::read(&self.0).with_context(|| format!("cannot read the script {}", self.0.display()));
        parse(&self.0, &bytes.map_err(Failure::input)?)
            .with_context(|| format!("{} is not a script of a mock server", self.0.display()))
            .map_err(Failure::input)
    }

    /// The folder of the script, which marks what belongs to it in a list of processes.
    pub(super) fn folder(&self) -> OsString {
        self.0.parent().map(|folder| folder.as_os_str().to_owned()).unwrap_or_default()
    }
}

/// JSON is YAML too, but has the quicker reader, and a stdio server must start at once.
fn parse(path: &Path, bytes: &[u8]) -> anyhow::Result<Script> {
    if path.extension().is_some_and(|extension| extension == "json") {
        return Ok(serde_json::from_slice(bytes)?);
    }
    Ok(serde_saphyr::from_slice(bytes)?)
}

fn profile(name: &str) -> Option<Script> {
    let text = match name {
        "minimal" => r#"{"tools": [{"name": "echo", "reply": {"text": "{{arguments.text}}"}}]}"#,
        "everything" => {
            r#"{"tools": [{"name": "echo", "reply": {"text": "{{arguments.text}}"}},
                {"name": "test_simple_text", "reply": {"text": "This is a simple text response for testing."}}],
                "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}, "logging": {},
                "completions": {}}}"#
        }
        _ => return None,
    };
    serde_json::from_str(text).ok()
}
