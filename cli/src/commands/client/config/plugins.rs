//! `client plugins`: directories with servers in the format of Claude Code.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use agent::config::{Configuration, Diagnostic, Plugin, Scope, edit::Edit};
use anyhow::anyhow;
use clap::Subcommand;
use diagnostics::nearest::nearest;
use serde_json::{Value, json};

use super::Files;
use crate::{
    commands::client::error::{ClientCommandError, settle},
    error::{CommandError, CommandResult, INPUT},
    print,
};

/// The arguments of `client plugins`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// List the plugins and their servers.
    List(ListArgs),
    /// Enable a plugin in all projects, or in this one.
    Enable(EnableArgs),
    /// Disable a plugin: remove it from the configuration, and keep its directory.
    Disable(DisableArgs),
}

/// The arguments of `client plugins list`.
#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    files: Files,
    /// Print JSON, including errors.
    #[arg(long)]
    json: bool,
}

/// The arguments of `client plugins enable`.
#[derive(Debug, clap::Args)]
struct EnableArgs {
    /// Directory of the plugin.
    directory: PathBuf,
    /// Scope of the plugin.
    #[arg(long, value_name = "SCOPE", default_value = "user", conflicts_with = "config")]
    scope: PluginScope,
    #[command(flatten)]
    list: ListArgs,
}

/// The arguments of `client plugins disable`.
#[derive(Debug, clap::Args)]
struct DisableArgs {
    /// Name or directory of the plugin.
    plugin: String,
    #[command(flatten)]
    list: ListArgs,
}

/// A scope that can name plugins. A project cannot, because it would start them on the machines of its users.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum PluginScope {
    /// For you in this project.
    Local,
    /// For you in all projects.
    User,
}

/// Lists, enables or disables plugins.
pub(crate) fn run(args: &Args) -> CommandResult {
    match &args.kind {
        Kind::List(args) => settle(list(args), args.json),
        Kind::Enable(args) => settle(enable(args), args.list.json),
        Kind::Disable(args) => settle(disable(args), args.list.json),
    }
}

fn list(args: &ListArgs) -> Result<ExitCode, ClientCommandError> {
    let plugins = args.files.load()?.plugins;
    if args.json {
        let view = |plugin: &Plugin| -> Value {
            json!({
                "name": plugin.name, "directory": plugin.directory, "scope": plugin.scope.as_str(),
                "servers": plugin.servers,
                "problems": plugin.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        };
        print::json(&json!({ "plugins": plugins.iter().map(view).collect::<Vec<_>>() }))?;
    } else {
        plugins.iter().try_for_each(print_plugin)?;
        if plugins.is_empty() {
            print::text("no plugins")?;
        }
    }
    let invalid = plugins.iter().flat_map(|plugin| &plugin.problems).any(Diagnostic::is_error);
    Ok(if invalid { ExitCode::from(INPUT) } else { ExitCode::SUCCESS })
}

fn print_plugin(plugin: &Plugin) -> Result<(), CommandError> {
    let name = plugin.name.replace('\n', " ");
    print::text(&format!("{name} ({}): {}", plugin.scope, plugin.directory.display()))?;
    plugin.servers.iter().try_for_each(|server| print::text(&format!("  {}", server.replace('\n', " "))))?;
    plugin.problems.iter().for_each(|problem| print::note(&problem.to_string()));
    Ok(())
}

fn enable(args: &EnableArgs) -> Result<ExitCode, ClientCommandError> {
    let invalid = |cause: anyhow::Error| ClientCommandError::input("no-plugin", cause);
    let shown = args.directory.display();
    let directory = args.directory.canonicalize().map_err(|cause| invalid(anyhow!("{shown}: {cause}")))?;
    let has_servers = [".mcp.json", "plugin.json", ".claude-plugin/plugin.json"].map(|file| directory.join(file));
    if !has_servers.iter().any(|file| file.is_file()) {
        let missing = invalid(anyhow!("{shown} is not the directory of a plugin"));
        return Err(missing.with_help("a plugin has `.mcp.json`, `plugin.json` or `.claude-plugin/plugin.json`"));
    }
    if args.list.files.load()?.plugins.iter().any(|plugin| is_at(plugin, &directory)) {
        print::note(&format!("{} is already enabled", directory.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let directory = directory.to_str().ok_or_else(|| invalid(anyhow!("{shown} is not UTF-8")))?.to_owned();
    let scope = match args.scope {
        PluginScope::Local => Scope::Local,
        PluginScope::User => Scope::User,
    };
    let target = args.list.files.target(scope)?;
    target.edit(&Edit::Plugin { directory, enabled: true }, "enabled in", args.list.json)?;
    Ok(ExitCode::SUCCESS)
}

fn disable(args: &DisableArgs) -> Result<ExitCode, ClientCommandError> {
    let configuration = args.list.files.load()?;
    let found = find(&configuration, &args.plugin);
    if found.is_empty() {
        let unknown = ClientCommandError::input("unknown-plugin", anyhow!("no plugin `{}` is enabled", args.plugin));
        let names = configuration.plugins.iter().map(|plugin| plugin.name.as_str());
        return Err(unknown.with_help(match nearest(&args.plugin, names) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "`client plugins list` lists the plugins".to_owned(),
        }));
    }
    for plugin in found {
        let directory = plugin.written.to_string_lossy().into_owned();
        let target = args.list.files.target(plugin.scope)?;
        target.edit(&Edit::Plugin { directory, enabled: false }, "disabled in", args.list.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The plugins of this name or directory. Several files may name the same one.
fn find<'c>(configuration: &'c Configuration, wanted: &str) -> Vec<&'c Plugin> {
    let directory = Path::new(wanted).canonicalize().ok();
    let is_wanted =
        |plugin: &&Plugin| plugin.name == wanted || directory.as_ref().is_some_and(|path| is_at(plugin, path));
    configuration.plugins.iter().filter(is_wanted).collect()
}

fn is_at(plugin: &Plugin, directory: &Path) -> bool {
    plugin.directory.canonicalize().is_ok_and(|known| known == directory)
}
