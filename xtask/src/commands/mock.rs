//! `mock`: this program as a mock server.

mod listening;
mod oauth;
mod profiles;
mod serve;
mod source;
mod stdio;

use clap::Subcommand;
use mock_servers::{Recorder, script::ChildScript};
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
    /// Serve a profile or a script on a port until SIGTERM or SIGINT.
    Serve(serve::Args),
    /// Serve a profile or a script over standard input and output.
    Stdio(stdio::Args),
    /// Be an OAuth authorization server, and a resource that it protects, until SIGTERM or SIGINT.
    Oauth(oauth::Args),
    /// List the profiles, or show one.
    Profiles(profiles::Args),
    /// Be a process that such a server starts and never looks after.
    #[command(hide = true)]
    Child {
        /// Anything, to be recognised by in a list of processes.
        mark: String,
        /// What to do, as JSON.
        script: String,
    },
}

/// What all mock servers are told in the same words.
#[derive(Debug, clap::Args)]
struct Common {
    /// The name of a profile (`mcp-workbench mock profiles` lists them), or a script: what stands under `server:` in a
    /// scenario, as YAML or JSON.
    #[arg(value_name = "PROFILE-OR-SCRIPT")]
    source: source::Source,
    /// The revision to speak where the script names none; absent: 2025-11-25 over standard input and output, all that
    /// the transport can carry where the server listens.
    #[arg(long)]
    revision: Option<Revision>,
    /// The seed of everything drawn at random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The name of the server in what is recorded.
    #[arg(long, default_value = "mock")]
    name: String,
    /// A file to append every frame to, one JSON value a line.
    #[arg(long, value_name = "FILE")]
    record: Option<std::path::PathBuf>,
}

impl Common {
    fn recorder(&self) -> Result<Recorder, Failure> {
        match &self.record {
            Some(path) => Recorder::to_file(&self.name, path).map_err(Failure::environment),
            None => Ok(Recorder::disabled()),
        }
    }
}

/// Is a mock server until it is told to end.
pub(crate) fn run(args: Args) -> CommandResult {
    match args.kind {
        Kind::Serve(args) => serve::run(args),
        Kind::Stdio(args) => stdio::run(args),
        Kind::Oauth(args) => oauth::run(args),
        Kind::Profiles(args) => profiles::run(&args),
        Kind::Child { script, .. } => {
            let script: ChildScript = serde_json::from_str(&script).map_err(Failure::input)?;
            mock_servers::stdio::run_child(&script).map_err(Failure::environment)
        }
    }
}
