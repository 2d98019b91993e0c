//! Each fault as raw bytes over real sockets and from a real process, compared with the same talk without the fault.
//!
//! `table` has one row per fault, and `seed` runs them all. `wire` and `process` are the clients, which return bytes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults {
    mod connection;
    mod encoding;
    mod event_stream;
    mod framing;
    mod http;
    mod message;
    mod output;
    mod persistent;
    mod presets;
    mod process;
    mod process_faults;
    mod seed;
    mod table;
    mod talk;
    mod timing;
    mod wire;
}
