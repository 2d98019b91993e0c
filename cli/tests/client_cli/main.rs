//! `mcp-workbench client`, as its users run it, against mock servers that are processes too.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod asking;
mod authorizing;
mod configuring;
mod explaining;
mod interrupting;
mod kit;
mod realm;
mod telling;
mod transports;
