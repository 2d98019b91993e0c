//! `serve`, as agents and programs start it: judged by our own `validate`, over stdio and HTTP, and used through our own client.

mod http;
mod kit;
mod management;
mod stdio;
