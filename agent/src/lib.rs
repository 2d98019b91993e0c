//! What an agent does with MCP servers beside speaking to them: which servers there are, what may be called, how tools are
//! shown to a model, and what of a result reaches it.
//!
//! It stands on [`client`], which owns everything that goes over the wire. Nearly all here is a pure function over data; what
//! reads files or asks servers says so in its module.

pub mod config;
pub mod filter;
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
