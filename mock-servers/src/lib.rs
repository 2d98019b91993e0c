//! Programmable Model Context Protocol servers that speak raw JSON, so that they can say anything.

mod awaited;
pub mod engine;
pub mod faults;
pub mod frame;
pub mod http;
pub mod listen;
pub mod mock;
pub mod oauth;
pub mod one_or_many;
pub mod period;
pub mod profile;
pub mod reading;
pub mod record;
pub mod schema;
pub mod script;
pub mod sse;
pub mod stdio;

pub use frame::{Body, Direction, Frame, Http, Mark};
pub use http::HttpMock;
pub use mock::MockServer;
pub use period::Period;
pub use record::Recorder;
pub use script::Script;
pub use sse::SseMock;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
