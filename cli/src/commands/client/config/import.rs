//! `client import`: servers from the configuration of other clients.

use std::{
    io::{IsTerminal as _, stderr, stdin},
    path::{Path, PathBuf},
    process::ExitCode,
};

use agent::config::{
    ConfigFile, Format,
    edit::{Edit, EditError, WriteError, edit_file},
    import::{Import, ImportSource, ImportedServer, import_file},
};
use anyhow::anyhow;
use serde_json::{Value, json};

use super::{Destination, Files, write_error};
use crate::{
    commands::client::error::{ClientCommandError, settle},
    error::{CommandError, CommandResult, INPUT},
    print, system,
};

/// A client whose configuration can be imported.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SourceArg {
    /// Claude Code: `.mcp.json` and `~/.claude.json`.
    Claude,
    /// Codex: `config.toml`.
    Codex,
    /// OpenCode: `opencode.json`.
    Opencode,
    /// Cursor: `mcp.json`.
    Cursor,
    /// Visual Studio Code: `mcp.json`.
    Vscode,
}

/// The arguments of `client import`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The client.
    source: SourceArg,
    /// Its file [default: the files of the project and of the user].
    file: Option<PathBuf>,
    /// Add the servers without a question.
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    into: Destination,
}

/// A file and its servers.
struct ImportedFile {
    path: PathBuf,
    import: Import,
}

/// Shows the servers, and adds them if the user agrees. If a server was rejected, the exit code is 2.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(import(args), args.into.json)
}

fn import(args: &Args) -> Result<ExitCode, ClientCommandError> {
    let files = read(args)?;
    if !args.into.json {
        files.iter().try_for_each(show)?;
    }
    let count = files.iter().map(|file| file.import.servers.len()).sum::<usize>();
    let added = if count > 0 && agreed(args, count) { add(args, &files)? } else { Vec::new() };
    if args.into.json {
        print::json(&json!({ "files": files.iter().map(file_json).collect::<Vec<_>>(), "added": added }))?;
    }
    let rejected = files.iter().any(|file| !file.import.rejected.is_empty());
    Ok(if rejected { ExitCode::from(INPUT) } else { ExitCode::SUCCESS })
}

fn read(args: &Args) -> Result<Vec<ImportedFile>, ClientCommandError> {
    let source = match args.source {
        SourceArg::Claude => ImportSource::Claude,
        SourceArg::Codex => ImportSource::Codex,
        SourceArg::Opencode => ImportSource::OpenCode,
        SourceArg::Cursor => ImportSource::Cursor,
        SourceArg::Vscode => ImportSource::VsCode,
    };
    let project = Files::places()?.top;
    let home = system::home().unwrap_or_default();
    let paths = args.file.clone().map_or_else(|| source.files(&project, &home), |file| vec![file]);
    let mut files: Vec<ImportedFile> = Vec::new();
    for path in paths {
        let import = import_file(source, &path, &project);
        let import = import.map_err(|problem| ClientCommandError::input("invalid-config", anyhow!("{problem}")))?;
        let Some(mut import) = import else { continue };
        // As in the client, the more specific file takes precedence.
        import.servers.retain(|server| !files.iter().any(|file| has(file, &server.name)));
        files.push(ImportedFile { path, import });
    }
    if files.is_empty() {
        let missing = ClientCommandError::input("no-file", anyhow!("no configuration of `{source}` exists"));
        return Err(missing.with_help(format!("name the file: `client import {source} FILE`")));
    }
    Ok(files)
}

fn has(file: &ImportedFile, name: &str) -> bool {
    file.import.servers.iter().any(|server| server.name == name)
}

fn show(file: &ImportedFile) -> Result<(), CommandError> {
    for server in &file.import.servers {
        print::text(&format!("{}: {}", server.name.replace('\n', " "), endpoint(server)))?;
        server.notes.iter().try_for_each(|note| print::text(&format!("    {note}")))?;
    }
    for rejected in &file.import.rejected {
        let name = if rejected.name.is_empty() { "the file" } else { &rejected.name };
        print::note(&format!("rejected {name} ({}:{}): {}", file.path.display(), rejected.line, rejected.reason));
        if !rejected.help.is_empty() {
            print::note(&format!("  help: {}", rejected.help));
        }
    }
    Ok(())
}

/// The transport, and the command line or URL without secrets.
fn endpoint(server: &ImportedServer) -> String {
    let text = json!({ "mcpServers": { "server": server.entry } }).to_string();
    let file = ConfigFile::parse(&text, "entry", Format::Json);
    let read = file.servers.first().and_then(|named| named.server.as_ref());
    read.map(|server| format!("{} {}", server.transport_name(), server.endpoint_line())).unwrap_or_default()
}

fn file_json(file: &ImportedFile) -> Value {
    let servers = file
        .import
        .servers
        .iter()
        .map(|server| json!({ "name": server.name, "endpoint": endpoint(server), "notes": server.notes }));
    let rejected = file.import.rejected.iter().map(|rejected| {
        json!({ "name": rejected.name, "line": rejected.line, "reason": rejected.reason, "help": rejected.help })
    });
    json!({
        "file": file.path.display().to_string(),
        "servers": servers.collect::<Vec<_>>(),
        "rejected": rejected.collect::<Vec<_>>(),
    })
}

fn agreed(args: &Args, count: usize) -> bool {
    if args.write {
        return true;
    }
    if !(stdin().is_terminal() && stderr().is_terminal()) || args.into.json {
        print::note("nothing was written; `--write` adds the servers");
        return false;
    }
    print::prompt(&format!("add {count} servers? [y/N] "));
    let mut line = String::new();
    stdin().read_line(&mut line).is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}

/// Adds the servers, and returns the names of those that were added.
fn add(args: &Args, files: &[ImportedFile]) -> Result<Vec<String>, ClientCommandError> {
    let target = args.into.target()?;
    let mut added = Vec::new();
    for server in files.iter().flat_map(|file| &file.import.servers) {
        let edit = Edit::Add { name: server.name.clone(), entry: server.entry.clone(), replace: args.into.force };
        match edit_file(target.path(), &edit, target.is_private()) {
            Ok(path) => {
                added.push(server.name.clone());
                report(args, &server.name, &path)?;
            }
            Err(WriteError::Edit(EditError::Exists { name })) => {
                print::note(&format!("`{name}` exists already; `--force` replaces it"));
            }
            Err(error) => return Err(write_error(error)),
        }
    }
    Ok(added)
}

fn report(args: &Args, name: &str, path: &Path) -> Result<(), CommandError> {
    if args.into.json { Ok(()) } else { print::text(&format!("added {name} to {}", path.display())) }
}
