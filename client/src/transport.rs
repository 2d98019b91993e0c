//! How messages travel: one module per transport, each behind rmcp's `Transport` trait.
//!
//! Streamable HTTP stands on rmcp's own worker, with an HTTP client of ours below it. The other two are ours: rmcp drops
//! an overlong line without a word, and has no HTTP+SSE.

pub(crate) mod events;
pub(crate) mod http;
pub(crate) mod lines;
mod skim;
pub(crate) mod sse;
pub(crate) mod stdio;
