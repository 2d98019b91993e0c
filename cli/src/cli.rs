//! The command line. The arguments of each command are declared in its module.

use std::ffi::OsString;

use clap::{
    CommandFactory as _, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    commands::{
        bench, check, client, completions, conformance, doctor, explain, init, judge, list, lock, man, mock, record,
        report, run, schema, serve, ui, validate,
    },
    error::{CommandError, CommandResult},
};

/// The workbench for Model Context Protocol clients and servers.
#[derive(Debug, Parser)]
#[command(
    name = "mcp-workbench",
    version,
    after_help = "Exit codes: 0 success; 1 a check or threshold failed; 2 invalid input; 3 environment error; 4 internal \
                  error. Set MCP_WORKBENCH_LOG=debug to log to stderr."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run conformance scenarios against a client.
    Conformance(conformance::Args),
    /// Validate a server against the specification.
    Validate(validate::Args),
    /// Load-test a server.
    Bench(Box<bench::Args>),
    /// Write a project file, an example scenario and a CI workflow.
    Init(init::Args),
    /// Run the targets of the project file `mcp-workbench.toml`.
    Run(run::Args),
    /// Render the journal of a run.
    Report(report::Args),
    /// Re-evaluate the checks on recorded evidence, or check a recording.
    Judge(judge::Args),
    /// Record a session between any client and any server.
    Record(record::Args),
    /// List scenarios, their cases, or requirements.
    List(list::Args),
    /// Explain a requirement or a check, with its source in the specification.
    Explain(explain::Args),
    /// Check scenario files without running them.
    Check(check::Args),
    /// Run a mock server.
    Mock(mock::Args),
    /// Convert and compare tool schemas, or print the JSON Schema of a public format.
    Schema(schema::Args),
    /// Lock a server's tool definitions and detect changes.
    Lock(lock::Args),
    /// Show what this machine and the configuration allow, and what is missing.
    Doctor(doctor::Args),
    /// Print a completion script for a shell.
    Completions(completions::Args),
    /// Write man pages.
    Man(man::Args),
    /// Connect to a server and use its tools, resources and prompts.
    Client(client::Args),
    /// Serve the workbench as an MCP server, or serve the management API.
    Serve(serve::Args),
    /// Open a local page to validate servers and call their tools.
    Ui(ui::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self) -> CommandResult {
        match self {
            Self::Conformance(args) => conformance::run(args),
            Self::Validate(args) => validate::run(args),
            Self::Bench(args) => bench::run(*args),
            Self::Init(args) => init::run(&args),
            Self::Run(args) => run::run(&args, &Cli::command(), execute),
            Self::Report(args) => report::run(&args),
            Self::Judge(args) => judge::run(&args),
            Self::Record(args) => record::run(&args),
            Self::List(args) => list::run(args),
            Self::Explain(args) => explain::run(&args),
            Self::Check(args) => check::run(&args, &Cli::command()),
            Self::Mock(args) => mock::run(args),
            Self::Schema(args) => schema::run(&args),
            Self::Lock(args) => lock::run(args),
            Self::Doctor(args) => doctor::run(&args),
            Self::Completions(args) => completions::run(&args),
            Self::Man(args) => man::run(&args, Cli::command()),
            Self::Client(args) => client::run(args),
            Self::Serve(args) => serve::run(&args),
            Self::Ui(args) => ui::run(&args),
        }
    }
}

/// Parses and executes a command line.
fn execute(arguments: Vec<OsString>) -> CommandResult {
    parse(arguments).map_err(CommandError::input)?.command.run()
}

/// The arguments of one command.
#[derive(Debug, Parser)]
struct Only<A: clap::Args> {
    #[command(flatten)]
    args: A,
}

/// Parses the command of a process that a run starts for each case, without describing all commands: that takes longer than
/// the rest of its start. Errors and help come from the complete command line.
fn parse_process(arguments: &[OsString]) -> Option<Cli> {
    let own = arguments.get(1..)?;
    let command = match (own.first()?.to_str()?, own.get(1)?.to_str()?) {
        ("client", "drive") => Command::Client(client::Args::drive(Only::try_parse_from(&own[1..]).ok()?.args)),
        ("mock", _) => Command::Mock(Only::try_parse_from(own).ok()?.args),
        _ => return None,
    };
    Some(Cli { command })
}

/// Parses the command line.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    if let Some(cli) = parse_process(&arguments) {
        return Ok(cli);
    }
    Cli::try_parse_from(&arguments).map_err(|mut error| {
        if let Some(line) = with_separator(&arguments, &error) {
            let suggestion = format!("to name a server, write: {line}");
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![suggestion.into()]));
        }
        error
    })
}

/// The command line with `--` or `--url` before an unexpected argument, if the subcommand takes a server.
fn with_separator(arguments: &[OsString], error: &clap::Error) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(unexpected))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let words: Option<Vec<&str>> = arguments.iter().skip(1).map(|argument| argument.to_str()).collect();
    let words = words?;
    let position = words.iter().position(|word| word == unexpected).filter(|_| !unexpected.starts_with('-'))?;
    let mut command = Cli::command();
    for word in &words[..position] {
        if let Some(subcommand) = command.find_subcommand(word) {
            command = subcommand.clone();
        }
    }
    let takes_command = command.get_arguments().any(|argument| argument.is_last_set());
    let option = if unexpected.contains("://") { "--url" } else { "--" };
    let line = [&words[..position], &[option], &words[position..]].concat().join(" ");
    takes_command.then(|| format!("mcp-workbench {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_shows_where_the_command_of_a_server_belongs() {
        let error = |line: &str| {
            let arguments = line.split(' ').map(OsString::from).collect();
            parse(arguments).expect_err(line).to_string()
        };
        for (line, expected) in [
            ("w validate my-server --flag", "write: mcp-workbench validate -- my-server --flag"),
            ("w validate --quiet npx server", "write: mcp-workbench validate --quiet -- npx server"),
            ("w validate http://[::1]/mcp", "write: mcp-workbench validate --url http://[::1]/mcp"),
            ("w client connect server", "write: mcp-workbench client connect -- server"),
        ] {
            let text = error(line);
            assert!(text.contains(expected), "{text}");
        }
        assert!(!error("w validate --wrong").contains("mcp-workbench validate --"));
        assert!(!error("w check a.yaml --wrong").contains("to name a server"));
    }
}
