//! `ci`: all required checks, cheapest first.
//!
//! cargo compiles the workspace twice if a program and the tests need different features of a dependency. After the
//! tests have been built, the remaining steps therefore run the binaries that this build produced.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    process::{Command, ExitCode},
    time::Instant,
};

use crate::{
    ENVIRONMENT,
    build::{self, Profile, Program},
};

const HELP: &str = "\
Run all required checks

Usage: cargo xtask ci [OPTIONS]

Options:
      --keep-going  Continue after a failed step
      --interop     Also run the interoperability tests; skipped if their tools cannot be installed
  -h, --help        Print help
";

/// One step.
struct Step {
    name: &'static str,
    /// `None`: cargo.
    program: Option<Program>,
    arguments: &'static [&'static str],
    /// An unusable environment (exit code 3) skips the step instead of failing it.
    optional: bool,
}

const fn step(name: &'static str, program: Option<Program>, arguments: &'static [&'static str]) -> Step {
    Step { name, program, arguments, optional: false }
}

const STEPS: [Step; 10] = [
    step("format", None, &["fmt", "--all", "--check"]),
    step("lints", None, &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
    step("build", None, &["test", "--workspace", "--no-run"]),
    step("conventions", Some(Program::Tidy), &["tidy"]),
    // Without `--all-targets`: unit, integration and documentation tests, and the examples that tests start.
    step("tests", None, &["test", "--workspace"]),
    step("conformance", Some(Program::Product), &["conformance"]),
    // With the scenario that the catalog leaves out because it takes long.
    step("load on clients", Some(Program::Product), &["conformance", "client-load/*"]),
    step("features", Some(Program::Devtools), &["features"]),
    step("requirements", Some(Program::Devtools), &["requirements"]),
    step("mutants", Some(Program::Devtools), &["prove"]),
];
const INTEROP: Step =
    Step { name: "interop", program: Some(Program::Devtools), arguments: &["interop"], optional: true };

/// Runs the steps.
pub(crate) fn run(arguments: &[OsString]) -> io::Result<ExitCode> {
    let mut steps = Vec::from(STEPS);
    let mut keep_going = false;
    for argument in arguments {
        match argument.to_str() {
            Some("--keep-going") => keep_going = true,
            Some("--interop") => steps.push(INTEROP),
            Some("-h" | "--help") => {
                io::stdout().write_all(HELP.as_bytes())?;
                return Ok(ExitCode::SUCCESS);
            }
            _ => {
                writeln!(io::stderr(), "error: unexpected argument `{}`\n\n{HELP}", argument.display())?;
                return Ok(ExitCode::from(2));
            }
        }
    }
    let mut failed = Vec::new();
    for step in &steps {
        if !step.passes()? {
            failed.push(step.name);
            if !keep_going {
                break;
            }
        }
    }
    if failed.is_empty() {
        print("== all steps passed")?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&format!("== failed: {}", failed.join(", ")))?;
    Ok(ExitCode::FAILURE)
}

impl Step {
    fn passes(&self) -> io::Result<bool> {
        let line = self.arguments.join(" ");
        print(&format!("== {}: cargo {}{line}", self.name, if self.program.is_some() { "xtask " } else { "" }))?;
        let began = Instant::now();
        let mut command = match self.program {
            None => build::cargo(),
            Some(program) => build::clean(Command::new(program.path(Profile::Dev)?)),
        };
        let status = command.args(self.arguments).current_dir(build::root()).status()?;
        if self.optional && status.code() == Some(ENVIRONMENT.into()) {
            print(&format!("== {}: skipped, its tools cannot be installed here", self.name))?;
            return Ok(true);
        }
        print(&format!("== {}: {:.1} s", self.name, began.elapsed().as_secs_f64()))?;
        Ok(status.success())
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush())
}
