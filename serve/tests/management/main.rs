//! The management API, asked over HTTP: servers, statuses, logins, and who is let in.

mod access;
mod host;
mod kit;
mod login;
mod runs;
mod servers;
mod ui;
