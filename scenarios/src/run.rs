//! Running cases: from a plan to evidence.
//!
//! - [`conformance`] runs the cases of a plan against a client; `client_case` runs one of them, with its mock servers
//!   (`mocks`), its process (`subject`) and its report (`tail`).
//! - [`load_case`] puts a load on a server.
//! - [`validate`] runs the scenarios for servers against one of them; [`server_case`] runs one of those.

mod beginning;
mod client_case;
pub mod conformance;
pub mod load_case;
mod mocks;
pub mod options;
pub mod server_case;
mod subject;
mod tail;
pub mod validate;

pub use self::beginning::{fresh_seed, header};
