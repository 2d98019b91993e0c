//! mcp-workbench as an MCP server for coding agents, and as a management API.
//!
//! - A [`Workbench`] contains the catalog, the limits and the active run. [`mcp`] serves it over a pair of streams or over
//!   HTTP; its tools are in `tools`, one file each.
//! - [`management`] is an HTTP API of a [`client::Manager`]: servers, their status, login, and validation.
//! - [`ui`] is a page over it.
//! - [`access`] authenticates HTTP clients of both.
//!
//! Clients can run commands as the user of this process. Therefore HTTP requires a token, and the default address is a
//! loopback address.

pub mod access;
pub mod management;
pub mod mcp;
pub mod ui;

mod configured;
mod error;
mod portability;
mod progress;
mod tools;
mod validation;
mod workbench;

pub use configured::{ConfiguredTargetError, configured_target, login_headers};
pub use portability::portability;
pub use workbench::{Limits, Settings, Workbench};
