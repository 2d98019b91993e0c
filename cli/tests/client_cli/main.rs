//! `mcp-workbench client` against mock servers in processes of their own.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod agent;
mod configuration;
mod elicitation;
mod explain;
mod interruption;
mod kit;
mod login;
mod oauth;
mod output;
mod project;
mod transports;
