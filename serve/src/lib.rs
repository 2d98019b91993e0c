//! The workbench served to others: as an MCP server that coding agents test their servers with, and as a management API.
//!
//! - A [`Workbench`] is what is served: the catalogue, the limits, and the one place for runs. [`mcp`] speaks MCP for it,
//!   over a pair of streams or over HTTP; its tools are in `tools`, one file each.
//! - [`management`] is an HTTP API on a [`client::Manager`]: which servers there are, how they are doing, logging in.
//! - [`door`] decides who is let in to either over HTTP.
//!
//! Nothing here prints or reads arguments. What a model asks to run is run as the user of this process, so whoever may
//! speak to it may run anything: over HTTP it takes a token, and listens on the loopback interface unless told otherwise.

pub mod door;
pub mod management;
pub mod mcp;

mod tools;
mod trouble;
mod workbench;

pub use workbench::{Limits, Settings, Workbench};
