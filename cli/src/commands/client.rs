//! `client`: the built-in client, for users at a terminal and for conformance cases. One file per command.

mod access;
mod approval;
mod call;
pub(crate) mod config;
mod conformance;
mod connect;
pub(crate) mod drive;
mod elicitation;
pub(super) mod error;
mod explain;
pub(super) mod host;
mod lines;
pub(super) mod login;
mod logout;
mod overview;
mod ping;
pub(super) mod policy;
mod prompt;
mod read;
mod request;
mod run;
mod search;
pub(super) mod session;
mod skills;
mod status;
pub(super) mod target;
mod terminal;
mod tools;
mod values;

use clap::Subcommand;

use crate::error::CommandResult;

/// The arguments of `client`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Connect to a server and print its identity, revision and capabilities.
    Connect(connect::Args),
    /// List the tools of a server, or of all configured servers.
    Tools(tools::Args),
    /// Show servers, states, tools, effective rules, and the origin of each setting.
    Overview(overview::Args),
    /// Search the tools of all configured servers.
    Search(search::Args),
    /// Call a tool.
    Call(call::Args),
    /// Run a prompt (`/mcp__server__prompt`) or resolve the resources that a text mentions (`@server:uri`).
    Run(run::Args),
    /// Complete a prompt, a value of its arguments, or a mention.
    Complete(run::CompleteArgs),
    /// Read a resource.
    Read(read::Args),
    /// List the skills of a server, or load and verify one.
    Skills(skills::Args),
    /// Get a prompt.
    Prompt(prompt::Args),
    /// Send a request of any method, and print its result.
    Request(request::Args),
    /// Measure the time of a response that needs no work.
    Ping(ping::Args),
    /// Show connection and authorization status.
    Status(status::Args),
    /// Log in to a server and store the tokens.
    Login(login::Args),
    /// Revoke and delete the stored tokens of a server.
    Logout(config::LoginServerArgs),
    /// Revoke and delete the stored tokens of all servers.
    Clear(logout::ClearArgs),
    /// Configure a server: a URL, or a command after `--`.
    Add(config::add::Args),
    /// Configure a server with the JSON of an `.mcp.json` entry.
    AddJson(config::add::JsonArgs),
    /// Import the servers of another client: Claude Code, Codex, OpenCode, Cursor or VS Code.
    Import(config::import::Args),
    /// List the configured servers.
    List(config::list::Args),
    /// Show the configuration of a server, without secrets.
    Get(config::NameArgs),
    /// Remove a server from the configuration.
    Remove(config::EntryArgs),
    /// Enable a configured server.
    Enable(config::EntryArgs),
    /// Disable a configured server.
    Disable(config::EntryArgs),
    /// List, enable or disable plugins.
    Plugins(config::plugins::Args),
    /// Explain the permission decision for a tool.
    Explain(explain::Args),
    /// Execute the steps of a conformance case.
    #[command(hide = true)]
    Drive(drive::Args),
    /// Execute a client scenario of the official conformance suite.
    #[command(hide = true)]
    Conformance(conformance::Args),
}

impl Args {
    /// The arguments of `client drive`.
    pub(crate) fn drive(args: drive::Args) -> Self {
        Self { kind: Kind::Drive(args) }
    }
}

/// Runs a client command.
pub(crate) fn run(args: Args) -> CommandResult {
    match args.kind {
        Kind::Connect(args) => connect::run(&args),
        Kind::Tools(args) => tools::run(&args),
        Kind::Overview(args) => overview::run(&args),
        Kind::Search(args) => search::run(&args),
        Kind::Run(args) => run::run(&args),
        Kind::Complete(args) => run::complete(&args),
        Kind::Call(args) => call::run(&args),
        Kind::Read(args) => read::run(&args),
        Kind::Skills(args) => skills::run(&args),
        Kind::Prompt(args) => prompt::run(&args),
        Kind::Request(args) => request::run(&args),
        Kind::Ping(args) => ping::run(&args),
        Kind::Status(args) => status::run(&args),
        Kind::Login(args) => login::run(&args),
        Kind::Logout(args) => logout::run(&args),
        Kind::Clear(args) => logout::clear(&args),
        Kind::Add(args) => config::add::run(&args),
        Kind::AddJson(args) => config::add::run_json(&args),
        Kind::Import(args) => config::import::run(&args),
        Kind::List(args) => config::list::run(&args),
        Kind::Get(args) => config::get::run(&args),
        Kind::Remove(args) => config::remove::run(&args),
        Kind::Enable(args) => config::switch::enable(&args),
        Kind::Disable(args) => config::switch::disable(&args),
        Kind::Plugins(args) => config::plugins::run(&args),
        Kind::Explain(args) => explain::run(&args),
        Kind::Drive(args) => drive::run(args),
        Kind::Conformance(args) => conformance::run(args),
    }
}
