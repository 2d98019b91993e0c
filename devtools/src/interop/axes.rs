//! Transports and eras in names of checks and in arguments of SDK programs.

use client::{Era, Revision};
use scenarios::model::Transport;

/// The short name of a transport.
pub(super) fn short_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "stdio",
        Transport::StreamableHttp => "http",
        Transport::HttpSse => "sse",
    }
}

/// The newest revision of an era.
pub(super) fn newest_revision(era: Era) -> &'static str {
    let newest = Revision::ALL.into_iter().rfind(|revision| revision.era() == era);
    newest.map_or("", Revision::as_str)
}
