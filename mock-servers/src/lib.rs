//! Programmable Model Context Protocol servers. They send raw JSON, so that they can break every rule.

mod conductor;
pub mod engine;
pub mod faults;
pub mod http;
pub mod human_duration;
pub mod listen;
pub mod mock;
pub mod oauth;
mod oauth_messages;
pub mod one_or_many;
pub mod profile;
pub mod schema;
pub mod script;
pub mod sse;
pub mod stdio;
mod system;

pub use evidence::{Body, ConnectionEvent, Direction, Frame, Http, Recorder};
pub use http::HttpMock;
pub use human_duration::HumanDuration;
pub use mock::MockServer;
pub use script::Script;
pub use sse::SseMock;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
