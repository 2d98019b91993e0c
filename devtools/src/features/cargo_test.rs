//! Tests as proofs: cargo builds the test programs, and the needed ones are run.
//!
//! The whole workspace is built as `cargo test --workspace` builds it, so that no crate is built twice.

use std::{
    collections::BTreeMap,
    env,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow};
use serde::Deserialize;

use super::{Results, proof::ProofStatus};
use crate::error::CommandError;

/// Runs these tests, which are given as `<file>::<name>` with the path of the file below the root.
pub(super) fn run(root: &Path, wanted: &[&str]) -> Result<Results, CommandError> {
    let mut results: Results = wanted.iter().map(|&name| (name.to_owned(), ProofStatus::NotRun)).collect();
    if wanted.is_empty() {
        return Ok(results);
    }
    let programs = build(root)?;
    let mut tests_of: BTreeMap<&Program, Vec<&str>> = BTreeMap::new();
    for &test in wanted {
        if let Some(program) = programs.iter().find(|program| program.has(root, test)) {
            tests_of.entry(program).or_default().push(test);
        }
    }
    for (program, tests) in tests_of {
        let output = program.run(&tests).with_context(|| format!("cannot run {}", program.executable.display()));
        let printed = output.map_err(CommandError::environment)?;
        if let Some(failures) = failures(&printed) {
            // Write errors are ignored.
            let _ = writeln!(io::stderr(), "{}: {failures}", program.source.display());
        }
        results.extend(tests.into_iter().map(|test| (test.to_owned(), status(test, &printed))));
    }
    Ok(results)
}

/// A test program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Program {
    executable: PathBuf,
    /// The root file of the target.
    source: PathBuf,
    /// The directory of the crate.
    directory: PathBuf,
}

/// A message of cargo about a built target (The Cargo Book, "External tools", JSON messages).
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

fn build(root: &Path) -> Result<Vec<Program>, CommandError> {
    // `cargo xtask` has removed the variables that would make build scripts run again.
    let built = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo");
    let built = built.map_err(CommandError::environment)?;
    if !built.status.success() {
        return Err(CommandError::environment(anyhow!("cargo could not build the tests")));
    }
    Ok(String::from_utf8_lossy(&built.stdout).lines().filter_map(program).collect())
}

/// The test program in a message of cargo.
fn program(message: &str) -> Option<Program> {
    let artifact = serde_json::from_str::<Artifact>(message).ok().filter(|artifact| artifact.profile.test)?;
    let directory = artifact.manifest_path.parent()?.to_owned();
    Some(Program { executable: artifact.executable?, source: artifact.target.src_path, directory })
}

impl Program {
    /// Whether it contains the file of a test: `tests/http/main.rs` and `tests/http.rs` contain `tests/http/unix.rs`, and the
    /// root of the crate contains all files in `src`.
    fn has(&self, root: &Path, test: &str) -> bool {
        let file = root.join(test.split("::").next().unwrap_or_default());
        let Ok(below) = self.source.strip_prefix(&self.directory) else { return false };
        if below.starts_with("src") {
            return file.starts_with(self.directory.join("src"));
        }
        let inside = if self.source.ends_with("main.rs") { self.source.parent() } else { None };
        let inside = inside.map_or_else(|| self.source.with_extension(""), Path::to_owned);
        file == self.source || file.starts_with(inside)
    }

    /// Runs the tests whose names contain these names, and returns the output.
    fn run(&self, tests: &[&str]) -> io::Result<String> {
        let names = tests.iter().filter_map(|test| Some(test.rsplit_once("::")?.1));
        let output = Command::new(&self.executable)
            .args(names)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// What the failed tests of a program printed: libtest's section `failures:`.
fn failures(printed: &str) -> Option<&str> {
    printed.find("\nfailures:\n").map(|start| printed[start..].trim())
}

/// The status of a test in the output of its program.
fn status(wanted: &str, printed: &str) -> ProofStatus {
    let Some((file, name)) = wanted.split_once("::") else { return ProofStatus::Failed };
    let results = printed.lines().filter_map(|line| line.trim().strip_prefix("test ")?.split_once(" ... "));
    let matching = results.filter(|(path, _)| matches(path.trim(), file, name));
    let statuses = matching.map(|(_, outcome)| match outcome.split([' ', ',']).next() {
        Some("ok") => ProofStatus::Passed,
        Some("ignored") => ProofStatus::NotRun,
        _ => ProofStatus::Failed,
    });
    statuses.max().unwrap_or(ProofStatus::NotRun)
}

/// Whether a test path has this name and, unless it has no modules, the module of the file.
fn matches(path: &str, file: &str, name: &str) -> bool {
    let mut modules: Vec<&str> = path.split("::").collect();
    let module = file.trim_end_matches(".rs").rsplit('/').find(|part| !matches!(*part, "tests" | "main" | "lib"));
    modules.pop() == Some(name) && (modules.is_empty() || module.is_some_and(|module| modules.contains(&module)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(source: &str) -> Program {
        let message = format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/r/client/Cargo.toml","target":{{"src_path":"/r/client/{source}"}},
            "profile":{{"test":true}},"executable":"/t/x"}}"#
        );
        program(&message).expect("a program")
    }

    #[test]
    fn a_program_has_the_tests_of_its_files() {
        let root = Path::new("/r");
        for (source, test, expected) in [
            ("src/lib.rs", "client/src/manager/status.rs::t", true),
            ("src/lib.rs", "client/tests/calls.rs::t", false),
            ("src/lib.rs", "agent/src/lists.rs::t", false),
            ("tests/calls.rs", "client/tests/calls.rs::t", true),
            ("tests/calls.rs", "client/tests/calls/late.rs::t", true),
            ("tests/http/main.rs", "client/tests/http/unix.rs::t", true),
            ("tests/http/main.rs", "client/tests/stdio/unix.rs::t", false),
        ] {
            assert_eq!(built(source).has(root, test), expected, "{source} {test}");
        }
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn only_the_output_of_failed_tests_is_shown() {
        let passed = "running 1 test\ntest starts ... ok\n\ntest result: ok. 1 passed; 0 failed\n";
        assert_eq!(failures(passed), None);
        let failed = "running 1 test\ntest ends ... FAILED\n\nfailures:\n\n---- ends stdout ----\nexit status 3\n";
        assert_eq!(failures(failed), Some("failures:\n\n---- ends stdout ----\nexit status 3"));
    }

    #[test]
    fn the_status_is_that_of_the_test_with_this_name_and_file() {
        let printed = "running 4 tests\ntest manager::status::tests::has_a_name ... ok\ntest ends ... FAILED\n\
                       test unix::is_reached   ... ok <0.2s>\ntest sse::ends ... ignored, no daemon\n";
        for (wanted, expected) in [
            ("client/src/manager/status.rs::has_a_name", ProofStatus::Passed),
            ("client/src/manager/status/tests.rs::has_a_name", ProofStatus::Passed),
            ("client/src/manager/other.rs::has_a_name", ProofStatus::NotRun),
            ("client/tests/calls.rs::ends", ProofStatus::Failed),
            ("client/tests/http/unix.rs::is_reached", ProofStatus::Passed),
            ("client/tests/http/unix.rs::is", ProofStatus::NotRun),
        ] {
            assert_eq!(status(wanted, printed), expected, "{wanted}");
        }
        assert_eq!(
            status("client/tests/http/sse.rs::ends", "test sse::ends ... ignored, no daemon"),
            ProofStatus::NotRun
        );
    }
}
