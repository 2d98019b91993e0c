//! Fuzz targets for the edges at which others' bytes come in and ours go out. They run for a bounded time with every
//! `cargo test`, on the stable toolchain: [`rounds`] says how, and how a failure is played again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod events;
mod headers;
mod json_rpc;
mod messages;
mod mutation;
mod rounds;
mod scripts;
mod seals;
