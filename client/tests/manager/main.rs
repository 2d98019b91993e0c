//! A manager of servers in memory, in paused time.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod cast;
mod lists;
mod names;
mod reloads;
mod restarts;
mod starts;
