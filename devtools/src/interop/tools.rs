//! What the checks need from the registries, in the ignored folder `/interop` of the workspace.
//!
//! It is installed once: a stamp beside it says which versions are there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Map, Value, json};

use super::{
    check::Check,
    child::{self, Output},
    pins::{NPM, PIP},
    say,
};
use crate::{error::CommandError, product};

/// How long an installation may take; most of it is downloading some 240 MB.
const INSTALLING: Duration = Duration::from_secs(600);
/// The file that says which versions are installed.
const STAMP: &str = "installed.json";

/// The programs that drive the SDKs. They are copied to where their SDK is found.
const NODE_PROGRAMS: [(&str, &str); 6] = [
    ("steps.mjs", include_str!("../../interop/steps.mjs")),
    ("typescript-1.mjs", include_str!("../../interop/typescript-1.mjs")),
    ("typescript-2.mjs", include_str!("../../interop/typescript-2.mjs")),
    ("notebook.mjs", include_str!("../../interop/notebook.mjs")),
    ("server-typescript-1.mjs", include_str!("../../interop/server-typescript-1.mjs")),
    ("server-typescript-2.mjs", include_str!("../../interop/server-typescript-2.mjs")),
];
const PYTHON_PROGRAMS: [(&str, &str); 2] = [
    ("python.py", include_str!("../../interop/python.py")),
    ("server_python.py", include_str!("../../interop/server_python.py")),
];
/// The script of the mock servers that the SDKs meet.
const PAGED: &str = include_str!("../../interop/paged.yaml");

/// Everything, ready.
#[derive(Debug)]
pub(super) struct Tools {
    node: PathBuf,
    python: PathBuf,
    /// The product.
    pub(super) workbench: PathBuf,
    /// The script of the mock servers that the SDKs meet.
    pub(super) paged: PathBuf,
    /// Where the outputs of the last run are kept.
    pub(super) output: PathBuf,
}

impl Tools {
    /// Installs what these checks need and is not there yet.
    pub(super) async fn ready(root: &Path, checks: &[Check]) -> Result<Self, CommandError> {
        let folder = root.join("interop");
        let tools = Self {
            node: folder.join("node"),
            python: folder.join("python"),
            workbench: product().map_err(CommandError::environment)?,
            paged: folder.join("paged.yaml"),
            output: folder.join("last"),
        };
        let mut missing = Vec::new();
        if checks.iter().any(Check::needs_node) {
            missing.extend(tools.install_node().await.err());
        }
        if checks.iter().any(Check::needs_python) {
            missing.extend(tools.install_python().await.err());
        }
        if missing.is_empty() {
            fs::write(&tools.paged, PAGED).map_err(CommandError::environment)?;
            return Ok(tools);
        }
        let missing: Vec<_> = missing.iter().map(|error| format!("{error:#}")).collect();
        Err(CommandError::environment(anyhow!("the tools for interop cannot be had: {}", missing.join("; "))))
    }

    /// Node itself.
    pub(super) fn node(&self) -> PathBuf {
        self.node.join("node_modules/node/bin/node")
    }

    /// The folder of the official suite.
    pub(super) fn suite(&self) -> PathBuf {
        self.node.join("node_modules/@modelcontextprotocol/conformance")
    }

    /// A published server, as an argument of Node.
    pub(super) fn published_server(&self, name: &str) -> PathBuf {
        self.node.join(format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js"))
    }

    /// A program for Node, as an argument of it.
    pub(super) fn node_program(&self, name: &str) -> PathBuf {
        self.node.join(name)
    }

    /// Python itself.
    pub(super) fn python(&self) -> PathBuf {
        self.python.join("bin/python")
    }

    /// A program for Python, as an argument of it.
    pub(super) fn python_program(&self, name: &str) -> PathBuf {
        self.python.join(name)
    }

    async fn install_node(&self) -> anyhow::Result<()> {
        if !is_installed(&self.node, &NPM) || !self.node().exists() {
            is_there("npm", &["--version"])?;
            begin(&self.node)?;
            let dependencies: Map<String, Value> =
                NPM.iter().map(|(name, version)| ((*name).to_owned(), Value::from(*version))).collect();
            let package = json!({ "private": true, "type": "module", "dependencies": dependencies });
            fs::write(self.node.join("package.json"), package.to_string())?;
            let mut npm = child::command("npm")?;
            npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock"]).current_dir(&self.node);
            self.step("npm install", npm, &self.node).await?;
            // A package manager that runs no scripts of packages leaves Node out without a word.
            is_there(&self.node().to_string_lossy(), &["--version"]).context("npm has not brought Node")?;
            finish(&self.node, &NPM)?;
        }
        write_all(&self.node, &NODE_PROGRAMS)
    }

    async fn install_python(&self) -> anyhow::Result<()> {
        if !is_installed(&self.python, &PIP) || !self.python().exists() {
            is_there("python3", &["-c", "import venv, ensurepip"]).context("Python 3 with venv and pip is needed")?;
            begin(&self.python)?;
            let mut venv = child::command("python3")?;
            venv.args(["-m", "venv"]).arg(&self.python);
            self.step("python3 -m venv", venv, &self.python).await?;
            let mut pip = child::command(self.python())?;
            pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet"]);
            pip.args(PIP.iter().map(|(name, version)| format!("{name}=={version}")));
            self.step("pip install", pip, &self.python).await?;
            finish(&self.python, &PIP)?;
        }
        write_all(&self.python, &PYTHON_PROGRAMS)
    }

    async fn step(&self, what: &str, command: Command, folder: &Path) -> anyhow::Result<()> {
        say(&format!("installing for interop: {what} …"));
        let output = Output::in_folder(folder, "install");
        let code = child::run(command, &output, INSTALLING).await.with_context(|| format!("`{what}` failed"))?;
        if code != 0 {
            bail!("`{what}` failed (see {}): {}", output.stderr.display(), output.complaint());
        }
        Ok(())
    }
}

/// Whether a program of the system answers.
fn is_there(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    let quiet = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = quiet.status().with_context(|| format!("`{program}` is missing"))?;
    if !status.success() {
        bail!("`{program} {}` failed", arguments.join(" "));
    }
    Ok(())
}

fn stamp(pins: &[(&str, &str)]) -> String {
    pins.iter().map(|(name, version)| format!("{name} {version}\n")).collect()
}

fn is_installed(folder: &Path, pins: &[(&str, &str)]) -> bool {
    fs::read_to_string(folder.join(STAMP)).is_ok_and(|text| text == stamp(pins))
}

/// A folder from scratch, so that nothing of other versions stays.
fn begin(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

fn finish(folder: &Path, pins: &[(&str, &str)]) -> anyhow::Result<()> {
    fs::write(folder.join(STAMP), stamp(pins)).with_context(|| format!("cannot write into {}", folder.display()))
}

fn write_all(folder: &Path, files: &[(&str, &str)]) -> anyhow::Result<()> {
    for (name, text) in files {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write into {}", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installs_again_when_a_version_changes() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_installed(folder.path(), &NPM));
        finish(folder.path(), &NPM).unwrap();
        assert!(is_installed(folder.path(), &NPM));
        assert!(!is_installed(folder.path(), &[("node", "22.0.0")]));
    }

    #[test]
    fn says_which_program_is_missing() {
        let error = is_there("mcp-workbench-no-such-program", &[]).unwrap_err();
        assert_eq!(error.to_string(), "`mcp-workbench-no-such-program` is missing");
        assert!(is_there("true", &[]).is_ok());
        assert!(is_there("false", &["x"]).unwrap_err().to_string().contains("`false x` failed"));
    }
}
