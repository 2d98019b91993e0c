//! Windows: no signals, no sessions, and no way to close standard output without unsafe code.

use std::io;

use super::Interruption;

/// The numbers of signals on Linux. This system has no signals; a script can name them on every system.
pub(crate) mod signals {
    pub(crate) const SIGHUP: i32 = 1;
    pub(crate) const SIGINT: i32 = 2;
    pub(crate) const SIGQUIT: i32 = 3;
    pub(crate) const SIGILL: i32 = 4;
    pub(crate) const SIGTRAP: i32 = 5;
    pub(crate) const SIGABRT: i32 = 6;
    pub(crate) const SIGBUS: i32 = 7;
    pub(crate) const SIGFPE: i32 = 8;
    pub(crate) const SIGKILL: i32 = 9;
    pub(crate) const SIGUSR1: i32 = 10;
    pub(crate) const SIGSEGV: i32 = 11;
    pub(crate) const SIGUSR2: i32 = 12;
    pub(crate) const SIGPIPE: i32 = 13;
    pub(crate) const SIGALRM: i32 = 14;
    pub(crate) const SIGTERM: i32 = 15;
    pub(crate) const SIGXCPU: i32 = 24;
    pub(crate) const SIGXFSZ: i32 = 25;
    pub(crate) const SIGSYS: i32 = 31;
}

/// Ctrl+C from now on, which no longer terminates the process by itself.
#[derive(Debug)]
pub(crate) struct Interruptions {
    runtime: tokio::runtime::Runtime,
    interrupt: tokio::signal::windows::CtrlC,
}

impl Interruptions {
    /// # Errors
    /// If the handler cannot be installed.
    pub(crate) fn watch() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let interrupt = {
            let _entered = runtime.enter();
            tokio::signal::windows::ctrl_c()?
        };
        Ok(Self { runtime, interrupt })
    }

    /// Calls the function for each event, until it returns false. Blocks.
    pub(crate) fn for_each(self, mut notify: impl FnMut(Interruption) -> bool) {
        let Self { runtime, mut interrupt } = self;
        while runtime.block_on(interrupt.recv()).is_some() {
            if !notify(Interruption::Interrupt) {
                return;
            }
        }
    }
}

/// Aborts the process: there are no signals.
pub(crate) fn raise(_: i32) -> io::Result<()> {
    std::process::abort()
}

/// # Errors
/// Always: closing a standard stream is unsafe code on this system.
pub(crate) fn close_stdout() -> io::Result<()> {
    Err(unsupported("standard output cannot be closed on this system"))
}

/// # Errors
/// Always: there are no sessions.
pub(crate) fn new_session() -> io::Result<()> {
    Err(unsupported("this system has no sessions to leave"))
}

/// Does nothing: Windows does not send SIGTERM.
pub(crate) fn ignore_sigterm() -> io::Result<()> {
    Ok(())
}

/// Sockets and files have no limit to raise.
pub(crate) fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    Ok(None)
}

fn unsupported(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}
