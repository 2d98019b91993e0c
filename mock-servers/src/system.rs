//! What a mock server needs from the system: signals, sessions, and its standard output. All of it is different on Windows.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use self::unix::{
    Interruptions, close_stdout, ignore_sigterm, new_session, raise, raise_descriptor_limit, signals,
};
#[cfg(windows)]
pub(crate) use self::windows::{
    Interruptions, close_stdout, ignore_sigterm, new_session, raise, raise_descriptor_limit, signals,
};

/// A signal that ends the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// SIGINT: Ctrl+C at a terminal.
    Interrupt,
    /// SIGTERM.
    #[cfg_attr(windows, expect(dead_code, reason = "this system has only Ctrl+C"))]
    Terminate,
}
