//! Transports: one module each, behind rmcp's `Transport` trait.
//!
//! Streamable HTTP uses rmcp's worker with an HTTP client of this crate. stdio and HTTP+SSE are implemented here: rmcp
//! drops overlong lines silently, and has no HTTP+SSE.

pub(crate) mod events;
pub(crate) mod http;
mod json_scan;
pub(crate) mod lines;
pub(crate) mod sse;
pub(crate) mod stdio;
