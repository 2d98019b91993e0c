//! `mock`: this program as a mock server.

use std::{ffi::OsString, fs, path::PathBuf};

use anyhow::Context as _;
use clap::Subcommand;
use mock_servers::{
    Recorder, Script,
    script::ChildScript,
    stdio::{self, StdioMock},
};
use scenarios::model::Revision;

use crate::failure::{CommandResult, Failure};

/// The arguments of `mock`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Serve a script (JSON) over standard input and output.
    Stdio(StdioArgs),
    /// Be a process that such a server starts and never looks after.
    #[command(hide = true)]
    Child {
        /// Anything, to be recognised by in a list of processes.
        mark: String,
        /// What to do, as JSON.
        script: String,
    },
}

#[derive(Debug, clap::Args)]
struct StdioArgs {
    /// The script: what stands under `server:` in a scenario, as JSON.
    script: PathBuf,
    /// The revision to speak where the script names none.
    #[arg(long, default_value = "2025-11-25")]
    revision: Revision,
    /// The seed of everything drawn at random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The name of the server in what is recorded.
    #[arg(long, default_value = "mock")]
    name: String,
    /// A file to append every frame to, one JSON value a line.
    #[arg(long)]
    record: Option<PathBuf>,
    /// A file that counts how often the server was started.
    #[arg(long)]
    runs: Option<PathBuf>,
}

/// Is a mock server until it is told to end.
pub(crate) fn run(args: Args) -> CommandResult {
    match args.kind {
        Kind::Stdio(args) => serve_stdio(args),
        Kind::Child { script, .. } => {
            let script: ChildScript = serde_json::from_str(&script).map_err(Failure::input)?;
            stdio::run_child(&script).map_err(Failure::environment)
        }
    }
}

fn serve_stdio(args: StdioArgs) -> CommandResult {
    let recorder = match &args.record {
        Some(path) => Recorder::to_file(&args.name, path).map_err(Failure::environment)?,
        None => Recorder::disabled(),
    };
    let mark = args.script.parent().map(|folder| folder.as_os_str().to_owned()).unwrap_or_default();
    let mock = StdioMock {
        script: read(&args.script)?,
        revision: args.revision.to_string(),
        seed: args.seed,
        recorder,
        run_file: args.runs,
        child_arguments: vec![OsString::from("mock"), OsString::from("child"), mark],
    };
    stdio::run(mock).map_err(Failure::environment)
}

fn read(path: &PathBuf) -> Result<Script, Failure> {
    let text = fs::read(path).with_context(|| format!("cannot read the script {}", path.display()));
    let script = serde_json::from_slice(&text.map_err(Failure::input)?);
    script.with_context(|| format!("{} is not a script of a mock server", path.display())).map_err(Failure::input)
}
