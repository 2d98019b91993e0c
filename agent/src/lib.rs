//! Features of an agent in addition to the protocol: configuration, policy, permissions, tool schemas, search and output
//! limits. [`host::Host`] ties them together.
//!
//! [`client`] owns the protocol. Most of this crate is pure; modules that read files or send requests say so.

pub mod config;
pub mod filter;
pub mod host;
pub mod instructions;
pub mod lock;
pub mod mentions;
pub mod output;
pub mod permissions;
pub mod policy;
pub mod prompts;
pub mod resources;
pub mod schema;
pub mod search;

mod limits;
mod lists;
