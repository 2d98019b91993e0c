//! `client`: the built-in client, for people at a terminal and for conformance cases. One file a command.

mod access;
mod asking;
mod call;
mod config;
mod conformance;
mod connect;
mod drive;
mod explain;
mod lines;
mod login;
mod logout;
pub(super) mod policy;
mod prompt;
mod read;
pub(super) mod say;
pub(super) mod session;
mod status;
pub(super) mod target;
mod tools;
pub(super) mod trouble;
mod values;

use clap::Subcommand;

use crate::failure::CommandResult;

/// The arguments of `client`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Connect to a server, and tell what it is and what it speaks.
    Connect(connect::Args),
    /// List the tools of a server.
    Tools(tools::Args),
    /// Call a tool.
    Call(call::Args),
    /// Read a resource.
    Read(read::Args),
    /// Get a prompt.
    Prompt(prompt::Args),
    /// Tell whether a server can be used, and if not, what it wants.
    Status(status::Args),
    /// Log in at a server, and keep what it grants.
    Login(login::Args),
    /// Forget what is kept for a server, and have it revoked.
    Logout(logout::Args),
    /// Forget what is kept for every server, and have it revoked.
    Clear(logout::ClearArgs),
    /// Configure a server: a URL, or a command after `--`.
    Add(config::add::Args),
    /// Configure a server with what `.mcp.json` would hold.
    AddJson(config::add::JsonArgs),
    /// List the servers that are configured.
    List(config::list::Args),
    /// Show how a server is configured, without its secrets.
    Get(config::get::Args),
    /// Take a server out of the configuration.
    Remove(config::remove::Args),
    /// Let a configured server be used.
    Enable(config::switch::Args),
    /// Keep a configured server from being used.
    Disable(config::switch::Args),
    /// Tell whether a tool would be called without asking you, and which rule decides.
    Explain(explain::Args),
    /// Do what the context of a conformance case says.
    #[command(hide = true)]
    Drive(drive::Args),
    /// Do what a scenario of the official conformance suite asks of a client.
    #[command(hide = true)]
    Conformance(conformance::Args),
}

/// Is a client.
pub(crate) fn run(args: Args) -> CommandResult {
    match args.kind {
        Kind::Connect(args) => connect::run(&args),
        Kind::Tools(args) => tools::run(&args),
        Kind::Call(args) => call::run(&args),
        Kind::Read(args) => read::run(&args),
        Kind::Prompt(args) => prompt::run(&args),
        Kind::Status(args) => status::run(&args),
        Kind::Login(args) => login::run(&args),
        Kind::Logout(args) => logout::run(&args),
        Kind::Clear(args) => logout::clear(&args),
        Kind::Add(args) => config::add::run(&args),
        Kind::AddJson(args) => config::add::run_json(&args),
        Kind::List(args) => config::list::run(&args),
        Kind::Get(args) => config::get::run(&args),
        Kind::Remove(args) => config::remove::run(&args),
        Kind::Enable(args) => config::switch::enable(&args),
        Kind::Disable(args) => config::switch::disable(&args),
        Kind::Explain(args) => explain::run(&args),
        Kind::Drive(args) => drive::run(args),
        Kind::Conformance(args) => conformance::run(args),
    }
}
