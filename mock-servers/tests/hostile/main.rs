//! Clients that mean harm, or have gone mad: each gets the right answer or none, and the server goes on serving others
//! within a bounded time and with a bounded memory. The servers are processes of their own, so that what they hold can
//! be seen.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bodies;
mod connections;
mod crowd;
mod heads;
mod peer;
mod server;
mod stdio;
