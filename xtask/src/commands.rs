//! The commands, one file each: its arguments, and what it does with the libraries.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod ci;
pub(crate) mod client;
pub(crate) mod completions;
pub(crate) mod conformance;
pub(crate) mod features;
pub(crate) mod interop;
pub(crate) mod judge;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod mock;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod selection;
pub(crate) mod serve;
pub(crate) mod target;
pub(crate) mod tidy;
pub(crate) mod validate;
