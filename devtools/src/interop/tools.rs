//! Installs the packages that the checks need, in the ignored directory `/interop` of the workspace.
//!
//! They are installed once. A stamp file contains the installed versions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Map, Value, json};

use super::{
    child::{self, Output},
    log_progress,
    pins::{NPM, PIP},
};
use crate::{error::CommandError, product};

/// Timeout of an installation, which downloads 240 MB.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(600);
/// File with the installed versions.
const STAMP: &str = "installed.json";

/// Programs on the SDKs. They are copied to the directory of their SDK.
const NODE_PROGRAMS: [(&str, &str); 6] = [
    ("steps.mjs", include_str!("../../interop/steps.mjs")),
    ("typescript-1.mjs", include_str!("../../interop/typescript-1.mjs")),
    ("typescript-2.mjs", include_str!("../../interop/typescript-2.mjs")),
    ("notebook.mjs", include_str!("../../interop/notebook.mjs")),
    ("server-typescript-1.mjs", include_str!("../../interop/server-typescript-1.mjs")),
    ("server-typescript-2.mjs", include_str!("../../interop/server-typescript-2.mjs")),
];
const PYTHON_PROGRAMS: [(&str, &str); 3] = [
    ("locust_check.py", include_str!("../../interop/locust_check.py")),
    ("python.py", include_str!("../../interop/python.py")),
    ("server_python.py", include_str!("../../interop/server_python.py")),
];
/// Adapters of SDK clients. They are copied to subdirectories, as they have the names of programs above.
const ADAPTERS: &str = "adapters";
const NODE_ADAPTERS: [(&str, &str); 4] = [
    ("authorization.mjs", include_str!("../../../adapters/authorization.mjs")),
    ("contract.mjs", include_str!("../../../adapters/contract.mjs")),
    ("typescript-1.mjs", include_str!("../../../adapters/typescript-1.mjs")),
    ("typescript-2.mjs", include_str!("../../../adapters/typescript-2.mjs")),
];
const PYTHON_ADAPTERS: [(&str, &str); 3] = [
    ("authorization.py", include_str!("../../../adapters/authorization.py")),
    ("contract.py", include_str!("../../../adapters/contract.py")),
    ("python-2.py", include_str!("../../../adapters/python-2.py")),
];
/// Script of the mock servers for SDK clients.
const PAGED: &str = include_str!("../../interop/paged.yaml");

/// Package managers whose packages are needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requirements {
    /// npm.
    pub(super) node: bool,
    /// pip.
    pub(super) python: bool,
}

/// The installed tools.
#[derive(Debug)]
pub(super) struct Tools {
    node: PathBuf,
    python: PathBuf,
    /// Path of the product.
    pub(super) workbench: PathBuf,
    /// Script of the mock servers for SDK clients.
    pub(super) paged: PathBuf,
    /// Directory with the outputs of the last run.
    pub(super) output: PathBuf,
}

impl Tools {
    /// Installs the missing packages.
    pub(super) async fn install(root: &Path, requirements: Requirements) -> Result<Self, CommandError> {
        let directory = root.join("interop");
        let tools = Self {
            node: directory.join("node"),
            python: directory.join("python"),
            workbench: product().map_err(CommandError::environment)?,
            paged: directory.join("paged.yaml"),
            output: directory.join("last"),
        };
        let mut missing = Vec::new();
        if requirements.node {
            missing.extend(tools.install_node().await.err());
        }
        if requirements.python {
            missing.extend(tools.install_python().await.err());
        }
        if missing.is_empty() {
            fs::write(&tools.paged, PAGED).map_err(CommandError::environment)?;
            return Ok(tools);
        }
        let missing: Vec<_> = missing.iter().map(|error| format!("{error:#}")).collect();
        Err(CommandError::environment(anyhow!("cannot install the tools for interop: {}", missing.join("; "))))
    }

    /// Path of Node.js.
    pub(super) fn node(&self) -> PathBuf {
        self.node.join("node_modules/node/bin/node")
    }

    /// Directory of the official suite.
    pub(super) fn suite(&self) -> PathBuf {
        self.node.join("node_modules/@modelcontextprotocol/conformance")
    }

    /// Path of a published server on Node.js.
    pub(super) fn published_server(&self, name: &str) -> PathBuf {
        self.node.join(format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js"))
    }

    /// Path of a program for Node.js.
    pub(super) fn node_program(&self, name: &str) -> PathBuf {
        self.node.join(name)
    }

    /// Path of the adapter of an SDK client.
    pub(super) fn adapter(&self, file: &str, is_python: bool) -> PathBuf {
        if is_python { self.python.join(ADAPTERS).join(file) } else { self.node.join(ADAPTERS).join(file) }
    }

    /// Path of Python.
    pub(super) fn python(&self) -> PathBuf {
        self.python.join("bin/python")
    }

    /// Path of a program for Python.
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
            // A package manager that runs no scripts of packages does not install Node.js, without an error.
            is_there(&self.node().to_string_lossy(), &["--version"]).context("npm did not install Node.js")?;
            finish(&self.node, &NPM)?;
        }
        write_all(&self.node, &NODE_PROGRAMS)?;
        write_all(&self.node.join(ADAPTERS), &NODE_ADAPTERS)
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
        write_all(&self.python, &PYTHON_PROGRAMS)?;
        write_all(&self.python.join(ADAPTERS), &PYTHON_ADAPTERS)
    }

    async fn step(&self, what: &str, command: Command, directory: &Path) -> anyhow::Result<()> {
        log_progress(&format!("installing for interop: {what} …"));
        let output = Output::in_directory(directory, "install");
        let code = child::run(command, &output, INSTALL_TIMEOUT).await.with_context(|| format!("`{what}` failed"))?;
        if code != 0 {
            bail!("`{what}` failed (see {}): {}", output.stderr.display(), output.last_lines());
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

fn is_installed(directory: &Path, pins: &[(&str, &str)]) -> bool {
    fs::read_to_string(directory.join(STAMP)).is_ok_and(|text| text == stamp(pins))
}

/// Creates an empty directory, so that no file of other versions remains.
fn begin(directory: &Path) -> anyhow::Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot empty {}", directory.display()))?;
    }
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))
}

fn finish(directory: &Path, pins: &[(&str, &str)]) -> anyhow::Result<()> {
    fs::write(directory.join(STAMP), stamp(pins)).with_context(|| format!("cannot write into {}", directory.display()))
}

fn write_all(directory: &Path, files: &[(&str, &str)]) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    for (name, text) in files {
        fs::write(directory.join(name), text).with_context(|| format!("cannot write into {}", directory.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installs_again_when_a_version_changes() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_installed(directory.path(), &NPM));
        finish(directory.path(), &NPM).unwrap();
        assert!(is_installed(directory.path(), &NPM));
        assert!(!is_installed(directory.path(), &[("node", "22.0.0")]));
    }

    #[test]
    fn says_which_program_is_missing() {
        let error = is_there("mcp-workbench-no-such-program", &[]).unwrap_err();
        assert_eq!(error.to_string(), "`mcp-workbench-no-such-program` is missing");
        assert!(is_there("true", &[]).is_ok());
        assert!(is_there("false", &["x"]).unwrap_err().to_string().contains("`false x` failed"));
    }
}
