//! `tidy`: the conventions of this repository, held by a check.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use crate::{
    failure::{CommandResult, Failure, VERDICT},
    tidy::{self, Generated},
};

/// The arguments of `tidy`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the generated files anew instead of complaining about them.
    #[arg(long)]
    write: bool,
}

/// Holds the conventions.
pub(crate) fn run(args: &Args) -> CommandResult {
    let root = root()?;
    let schemas = [
        scenarios::schema::schema_file(),
        reports::schema_file(),
        mock_servers::schema::script_file(),
        mock_servers::schema::authorization_script_file(),
    ];
    let generated: Vec<Generated> =
        schemas.into_iter().map(|(path, content)| Generated { path: path.to_owned(), content }).collect();
    let mut out = std::io::stdout().lock();
    if args.write {
        for path in tidy::write(&root, &generated).map_err(Failure::environment)? {
            writeln!(out, "wrote {path}").map_err(Failure::environment)?;
        }
    }
    let problems = tidy::run(&root, &generated).map_err(Failure::environment)?;
    for problem in &problems {
        writeln!(out, "{problem}").map_err(Failure::environment)?;
    }
    if problems.is_empty() {
        writeln!(out, "tidy").map_err(Failure::environment)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{} problems", problems.len()).map_err(Failure::environment)?;
    Ok(ExitCode::from(VERDICT))
}

/// The root of the repository that this program was built in.
pub(crate) fn root() -> Result<PathBuf, Failure> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    match here.parent() {
        Some(root) if root.join("Cargo.toml").exists() => Ok(root.to_owned()),
        _ => Err(Failure::environment(anyhow::anyhow!(
            "the repository that this program was built in is not there; run `cargo xtask` inside a checkout"
        ))),
    }
}
