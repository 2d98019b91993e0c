//! `mock`: runs mock servers.

mod listening;
mod oauth;
mod profiles;
mod script;
mod serve;
mod source;
mod stdio;

use std::ffi::OsString;

use anyhow::anyhow;
use clap::Subcommand;
use evidence::Recorder;
use mock_servers::{Script, script::ChildScript};
use scenarios::model::Revision;

use crate::{
    completion,
    error::{CommandError, CommandResult},
};

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
    /// Run a mock OAuth authorization server and a protected resource.
    Oauth(oauth::Args),
    /// List the profiles, or show one.
    Profiles(profiles::Args),
    /// Print a script that repeats a recorded server.
    Script(script::Args),
    /// Run a child process that a mock server leaves behind.
    #[command(hide = true)]
    Child {
        /// Marks the process in a process list.
        mark: String,
        /// What to do, as JSON.
        script: String,
    },
}

/// Arguments of all mock servers.
#[derive(Debug, clap::Args)]
struct Common {
    /// Name of a profile (see `mcp-workbench mock profiles`), or path of a script: the `server:` section of a scenario,
    /// as YAML or JSON.
    #[arg(value_name = "PROFILE-OR-SCRIPT", required_unless_present = "from", add = completion::profiles_and_paths())]
    source: Option<source::Source>,
    /// Recording to repeat: requests with the recorded method and parameters get the recorded responses.
    #[arg(long, value_name = "RECORDING", conflicts_with = "source")]
    from: Option<std::path::PathBuf>,
    /// Protocol revision, unless the script names one [default: 2025-11-25 over stdio, otherwise all that the transport
    /// supports].
    #[arg(long, add = completion::revisions())]
    revision: Option<Revision>,
    /// Random seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Name of the server in recordings.
    #[arg(long, default_value = "mock")]
    name: String,
    /// Append every frame to this file, as JSON Lines.
    #[arg(long, value_name = "FILE")]
    record: Option<std::path::PathBuf>,
    /// Maximum size of that file in bytes. A server over stdio exits when it is nearly full.
    #[arg(long, value_name = "BYTES", requires = "record", hide = true)]
    record_limit: Option<usize>,
}

impl Common {
    /// The script of the profile, the file or the recording.
    fn script(&self) -> Result<Script, CommandError> {
        match (&self.from, &self.source) {
            (Some(recording), _) => script::recorded(recording),
            (None, Some(source)) => source.read(),
            (None, None) => Err(CommandError::input(anyhow!("no profile, script or recording is named"))),
        }
    }

    /// The directory of the script or of the recording, which marks its processes in a process list.
    fn directory(&self) -> OsString {
        let recording = || self.from.as_ref().map(|path| path.as_os_str().to_owned());
        self.source.as_ref().map(source::Source::directory).or_else(recording).unwrap_or_default()
    }

    fn recorder(&self) -> Result<Recorder, CommandError> {
        let recorder = match (&self.record, self.record_limit) {
            (Some(path), Some(limit)) => Recorder::to_bounded_file(&self.name, path, limit),
            (Some(path), None) => Recorder::to_file(&self.name, path),
            (None, _) => Ok(Recorder::disabled()),
        };
        recorder.map_err(CommandError::environment)
    }
}

/// Runs a mock server until it is stopped.
pub(crate) fn run(args: Args) -> CommandResult {
    match args.kind {
        Kind::Serve(args) => serve::run(args),
        Kind::Stdio(args) => stdio::run(args),
        Kind::Oauth(args) => oauth::run(args),
        Kind::Profiles(args) => profiles::run(&args),
        Kind::Script(args) => script::run(&args),
        Kind::Child { script, .. } => {
            let script: ChildScript = serde_json::from_str(&script).map_err(CommandError::input)?;
            mock_servers::stdio::run_child(&script).map_err(CommandError::environment)
        }
    }
}
