//! Runs the tools of this repository, and forwards every other command to the product (`mcp-workbench`).
//!
//! This program has no dependencies, so that it adds nothing to the first build. It builds the program that
//! implements a command and then replaces itself by that program.

mod build;
mod ci;
mod package;

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    process::ExitCode,
};

use build::{Profile, Program};

/// Exit code if a program cannot be built or started; the product uses the same.
const ENVIRONMENT: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    run(&arguments).unwrap_or_else(|error| {
        // The exit code still reports the error if stderr is closed.
        let _ = writeln!(io::stderr(), "error: {error}");
        ExitCode::from(ENVIRONMENT)
    })
}

fn run(arguments: &[OsString]) -> io::Result<ExitCode> {
    let (program, profile) = match Command::parse(arguments) {
        Command::Help => {
            io::stdout().write_all(include_bytes!("help.txt"))?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Ci => return ci::run(&arguments[1..]),
        Command::Package => return package::run(&arguments[1..]),
        Command::Run(program, profile) => (program, profile),
    };
    // The tools start the product.
    let needed = if program == Program::Product { vec![program] } else { vec![Program::Product, program] };
    for program in needed {
        if !build::build(program, profile)? {
            return Ok(ExitCode::from(ENVIRONMENT));
        }
    }
    Err(build::exec(&program.path(profile)?, arguments))
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Help,
    Ci,
    Package,
    Run(Program, Profile),
}

impl Command {
    fn parse(arguments: &[OsString]) -> Self {
        let word = |index: usize| arguments.get(index).and_then(|argument| argument.to_str());
        match (word(0), word(1)) {
            (None, _) if arguments.is_empty() => Self::Help,
            (Some("-h" | "--help"), _) | (Some("help"), None) => Self::Help,
            (Some("ci"), _) => Self::Ci,
            (Some("package"), _) => Self::Package,
            (Some("tidy"), _) => Self::Run(Program::Tidy, Profile::Dev),
            (Some("features" | "requirements" | "interop" | "prove"), _) => Self::Run(Program::Devtools, Profile::Dev),
            (Some("bench"), Some("mock" | "client" | "host")) => {
                // Figures of a debug build are not meaningful.
                let any_build = arguments.iter().any(|argument| argument == OsStr::new("--any-build"));
                Self::Run(Program::Devtools, if any_build { Profile::Dev } else { Profile::Release })
            }
            _ => Self::Run(Program::Product, Profile::Dev),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_every_command_that_is_not_a_repository_tool() {
        let product = Command::Run(Program::Product, Profile::Dev);
        let tool = |profile| Command::Run(Program::Devtools, profile);
        for (line, expected) in [
            ("", Command::Help),
            ("--help", Command::Help),
            ("help", Command::Help),
            ("ci --keep-going", Command::Ci),
            ("package npm", Command::Package),
            ("tidy --write", Command::Run(Program::Tidy, Profile::Dev)),
            ("features T1", tool(Profile::Dev)),
            ("requirements --gaps", tool(Profile::Dev)),
            ("prove tools", tool(Profile::Dev)),
            ("interop --list", tool(Profile::Dev)),
            ("bench mock", tool(Profile::Release)),
            ("bench client --quick --any-build", tool(Profile::Dev)),
            ("bench host", tool(Profile::Release)),
            ("bench load.yaml", Command::Run(Program::Product, Profile::Dev)),
            ("help conformance", Command::Run(Program::Product, Profile::Dev)),
            ("--version", Command::Run(Program::Product, Profile::Dev)),
            ("conformance tidy", product),
        ] {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(Command::parse(&arguments), expected, "{line}");
        }
    }
}
