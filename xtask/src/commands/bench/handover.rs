//! Figures of an unoptimised program say nothing, and `cargo xtask` runs one: it builds the optimised program and hands
//! the whole command over to it.

use std::{
    env,
    ffi::OsString,
    io::Write as _,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context as _, anyhow};

use crate::{
    cargo::cargo,
    commands::tidy::root,
    failure::{CommandResult, Failure},
};

/// The argument that tells the other program that it is the other program.
pub(super) const HANDED: &str = "--handed-over";

/// Builds the optimised program, and lets it do this command.
pub(super) fn run() -> CommandResult {
    let program = build()?;
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let status = Command::new(&program).args(arguments).arg(HANDED).status();
    let status = status.with_context(|| format!("cannot start {}", program.display()));
    let code = status.map_err(Failure::environment)?.code();
    // Ended by a signal: the same one has usually ended this process too.
    let code = code.and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn build() -> Result<PathBuf, Failure> {
    let say = "building the optimised program: cargo build --release --package mcp-workbench";
    // A log that cannot be written is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{say}");
    let built = cargo()
        .args(["build", "--release", "--package", "mcp-workbench", "--message-format", "json-render-diagnostics"])
        .current_dir(root()?)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo");
    let built = built.map_err(Failure::environment)?;
    if !built.status.success() {
        return Err(Failure::environment(anyhow!("cargo could not build the optimised program")));
    }
    executable(&String::from_utf8_lossy(&built.stdout))
        .ok_or_else(|| Failure::environment(anyhow!("cargo does not say where the optimised program is")))
}

/// The program that cargo's messages speak of last.
fn executable(messages: &str) -> Option<PathBuf> {
    let message = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    messages
        .lines()
        .filter_map(message)
        .filter_map(|one| one.get("executable")?.as_str().map(PathBuf::from))
        .next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_program_in_what_cargo_says() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\nnoise\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"/t/release/mcp-workbench\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some("/t/release/mcp-workbench".into()));
        assert_eq!(executable("{\"reason\":\"build-finished\"}"), None);
    }
}
