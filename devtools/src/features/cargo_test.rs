//! Tests as proofs: cargo builds their programs, those that are needed are run, and what they print says what came of each.
//!
//! The whole workspace is built as `cargo test --workspace` builds it, so that nothing is built twice.

use std::{
    collections::BTreeMap,
    env, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow};
use serde::Deserialize;

use super::{Known, proof::Verdict};
use crate::error::CommandError;

/// Runs these tests: each is `<file>::<name>`, the file seen from the root.
pub(super) fn run(root: &Path, wanted: &[&str]) -> Result<Known, CommandError> {
    let mut known: Known = wanted.iter().map(|&name| (name.to_owned(), Verdict::NotRun)).collect();
    if wanted.is_empty() {
        return Ok(known);
    }
    let programs = build(root)?;
    let mut of_programs: BTreeMap<&Program, Vec<&str>> = BTreeMap::new();
    for &test in wanted {
        if let Some(program) = programs.iter().find(|program| program.has(root, test)) {
            of_programs.entry(program).or_default().push(test);
        }
    }
    for (program, tests) in of_programs {
        let ran = program.run(&tests).with_context(|| format!("cannot run {}", program.executable.display()));
        let printed = ran.map_err(CommandError::environment)?;
        known.extend(tests.into_iter().map(|test| (test.to_owned(), verdict(test, &printed))));
    }
    Ok(known)
}

/// A program of tests.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Program {
    /// Where it is.
    executable: PathBuf,
    /// The file that it is built from.
    source: PathBuf,
    /// The folder of its crate.
    folder: PathBuf,
}

/// What cargo says of something that it has built (The Cargo Book, "External tools", JSON messages).
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

/// The program that a message of cargo speaks of.
fn program(message: &str) -> Option<Program> {
    let artifact = serde_json::from_str::<Artifact>(message).ok().filter(|artifact| artifact.profile.test)?;
    let folder = artifact.manifest_path.parent()?.to_owned();
    Some(Program { executable: artifact.executable?, source: artifact.target.src_path, folder })
}

impl Program {
    /// Whether it is built from the file of a test, or from one above it: `tests/http/main.rs` or `tests/http.rs` for
    /// `tests/http/unix.rs`, and the root of the crate for whatever lies in `src`.
    fn has(&self, root: &Path, test: &str) -> bool {
        let file = root.join(test.split("::").next().unwrap_or_default());
        let Ok(below) = self.source.strip_prefix(&self.folder) else { return false };
        if below.starts_with("src") {
            return file.starts_with(self.folder.join("src"));
        }
        let inside = if self.source.ends_with("main.rs") { self.source.parent() } else { None };
        let inside = inside.map_or_else(|| self.source.with_extension(""), Path::to_owned);
        file == self.source || file.starts_with(inside)
    }

    /// Runs the tests of these names, and what else has them in its own; what it prints.
    fn run(&self, tests: &[&str]) -> io::Result<String> {
        let names = tests.iter().filter_map(|test| Some(test.rsplit_once("::")?.1));
        let ran = Command::new(&self.executable)
            .args(names)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

/// What came of a test, in what its program printed.
fn verdict(wanted: &str, printed: &str) -> Verdict {
    let Some((file, name)) = wanted.split_once("::") else { return Verdict::Failed };
    let results = printed.lines().filter_map(|line| line.trim().strip_prefix("test ")?.split_once(" ... "));
    let meant = results.filter(|(path, _)| is_meant(path.trim(), file, name));
    let verdicts = meant.map(|(_, outcome)| match outcome.split([' ', ',']).next() {
        Some("ok") => Verdict::Passed,
        Some("ignored") => Verdict::NotRun,
        _ => Verdict::Failed,
    });
    verdicts.max().unwrap_or(Verdict::NotRun)
}

/// Whether a test of this path is the one of this name in this file: of several with the name, the path has the file's module.
fn is_meant(path: &str, file: &str, name: &str) -> bool {
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
    fn a_program_has_the_tests_of_the_files_below_it() {
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
    fn the_verdict_is_that_of_the_test_of_this_name_in_this_file() {
        let printed = "running 4 tests\ntest manager::status::tests::has_a_name ... ok\ntest ends ... FAILED\n\
                       test unix::is_reached   ... ok <0.2s>\ntest sse::ends ... ignored, no daemon\n";
        for (wanted, expected) in [
            ("client/src/manager/status.rs::has_a_name", Verdict::Passed),
            ("client/src/manager/status/tests.rs::has_a_name", Verdict::Passed),
            ("client/src/manager/other.rs::has_a_name", Verdict::NotRun),
            ("client/tests/calls.rs::ends", Verdict::Failed),
            ("client/tests/http/unix.rs::is_reached", Verdict::Passed),
            ("client/tests/http/unix.rs::is", Verdict::NotRun),
        ] {
            assert_eq!(verdict(wanted, printed), expected, "{wanted}");
        }
        assert_eq!(verdict("client/tests/http/sse.rs::ends", "test sse::ends ... ignored, no daemon"), Verdict::NotRun);
    }
}
