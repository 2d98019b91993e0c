//! What the tests of several crates share.
//!
//! - Bounded waiting: [`wait_until`], [`wait_for`], [`within`], and [`block_for`] outside of a runtime.
//! - [`json_rpc`]: messages, and the results of a conforming server.
//! - Feature `http`: `http_client`, `serve` for stubs, and `HttpSession`, a client that is small enough to send
//!   whatever a test needs.
//! - Feature `mock`: `start_mock`, a mock server from a script.
//!
//! Helpers of one crate's tests stay in that crate. Everything here panics if it fails.

pub mod json_rpc;

#[cfg(feature = "http")]
mod http;
#[cfg(feature = "mock")]
mod mock;
mod wait;

#[cfg(feature = "http")]
pub use http::{HttpSession, http_client, http_client_builder, messages, serve};
#[cfg(feature = "mock")]
pub use mock::start_mock;
pub use wait::{TIMEOUT, block_for, wait_for, wait_until, within};
