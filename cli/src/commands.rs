//! The commands, one file each: its arguments, and what it does with the libraries.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod client;
pub(crate) mod completions;
pub(crate) mod conformance;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod init;
pub(crate) mod judge;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod man;
pub(crate) mod mock;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod selection;
pub(crate) mod serve;
pub(crate) mod target;
pub(crate) mod ui;
pub(crate) mod validate;
