//! `init`: writes a project file with an example scenario, an empty baseline and a CI workflow.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, anyhow};
use toml::Value;

use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The files and their templates.
const FILES: [(&str, &str); 4] = [
    (crate::project::FILE, include_str!("init/mcp-workbench.toml")),
    ("scenarios/{name}/tools.yaml", include_str!("init/tools.yaml")),
    ("baseline.txt", include_str!("init/baseline.txt")),
    (".github/workflows/mcp-workbench.yml", include_str!("init/workflow.yml")),
];

/// The arguments of `init`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the server.
    #[arg(long, default_value = "my-server", value_parser = name)]
    name: String,
    /// URL of the server.
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
    /// Command that starts the server, which uses stdio [default: a mock server, so that the first run passes].
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Writes the files that do not exist, and prints a line for each file.
pub(crate) fn run(args: &Args) -> CommandResult {
    let mut existing = Vec::new();
    for (path, template) in FILES {
        let path = path.replace("{name}", &args.name);
        let text = template
            .replace("{name}", &args.name)
            .replace("{server}", &args.server())
            .replace("{repository}", env!("CARGO_PKG_REPOSITORY"));
        match write(Path::new(&path), &text, args.force) {
            Ok(()) => print::line(&format!("wrote   {path}"))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                print::line(&format!("exists  {path}"))?;
                existing.push(path);
            }
            Err(error) => {
                let error = Err::<(), _>(error).with_context(|| format!("cannot write {path}"));
                return error.map(|()| ExitCode::SUCCESS).map_err(CommandError::environment);
            }
        }
    }
    if existing.len() == FILES.len() {
        let error = CommandError::input(anyhow!("all files exist: {}", existing.join(", ")));
        return Err(error.with_help("`--force` replaces them"));
    }
    print::line("run `mcp-workbench run` to test the server")?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// The line of the project file that names the server.
    fn server(&self) -> String {
        if let Some(url) = &self.url {
            return format!("url = {}", Value::String(url.clone()));
        }
        let mock = ["mcp-workbench", "mock", "stdio", "minimal"].map(str::to_owned);
        let command = if self.command.is_empty() { &mock } else { self.command.as_slice() };
        let command = Value::Array(command.iter().cloned().map(Value::String).collect());
        format!("command = {command}")
    }
}

/// Writes a file, and the directories above it. An existing file is an error, unless it may be replaced.
fn write(path: &Path, text: &str, force: bool) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = if force { File::create(path) } else { File::create_new(path) }?;
    file.write_all(text.as_bytes())
}

/// A name that needs no quotation marks, neither as a key of TOML nor as a part of the id of a scenario.
fn name(text: &str) -> Result<String, String> {
    let plain = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '-';
    let valid = !text.is_empty() && text.chars().all(plain);
    if valid { Ok(text.to_owned()) } else { Err("use lower-case letters, digits and `-`".to_owned()) }
}
