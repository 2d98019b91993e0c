//! `serve` over stdio and HTTP, validated by `validate` and used by the built-in client.

mod http;
mod kit;
mod management;
mod stdio;
mod ui;
