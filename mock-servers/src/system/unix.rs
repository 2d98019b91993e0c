//! Unix systems.

use std::{
    fs::OpenOptions,
    io,
    sync::{Arc, atomic::AtomicBool},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
pub(crate) use signal_hook::consts as signals;
use signal_hook::{
    consts::{SIGINT, SIGKILL, SIGTERM},
    iterator::Signals,
};

use super::Interruption;

/// SIGTERM and SIGINT from now on, which no longer terminate the process by themselves.
#[derive(Debug)]
pub(crate) struct Interruptions(Signals);

impl Interruptions {
    /// # Errors
    /// If the handlers cannot be installed.
    pub(crate) fn watch() -> io::Result<Self> {
        Signals::new([SIGTERM, SIGINT]).map(Self)
    }

    /// Calls the function for each signal, until it returns false. Blocks.
    pub(crate) fn for_each(mut self, mut notify: impl FnMut(Interruption) -> bool) {
        for signal in self.0.forever() {
            let interruption = if signal == SIGINT { Interruption::Interrupt } else { Interruption::Terminate };
            if !notify(interruption) {
                return;
            }
        }
    }
}

/// Ends the process by a signal, without its handler.
///
/// # Errors
/// If the process outlived the signal.
pub(crate) fn raise(signal: i32) -> io::Result<()> {
    // This signal cannot be handled, so its default needs no restoring.
    if signal == SIGKILL {
        return Ok(rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?);
    }
    signal_hook::low_level::emulate_default_handler(signal)
}

/// Closes standard output for the reader. The descriptor stays in use, so that a file that is opened later cannot get it.
///
/// # Errors
/// If the system refuses.
pub(crate) fn close_stdout() -> io::Result<()> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(null)?)
}

/// Leaves the session and the process group.
///
/// # Errors
/// If this process leads its group.
pub(crate) fn new_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Ignores SIGTERM from now on.
///
/// # Errors
/// If the handler cannot be installed.
pub(crate) fn ignore_sigterm() -> io::Result<()> {
    // The handler only sets a flag that is never read, so the signal has no effect.
    signal_hook::flag::register(SIGTERM, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}

/// Raises the limit of open files to the maximum, and returns it; `None` means unlimited.
///
/// # Errors
/// If the system refuses.
pub(crate) fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(limit.maximum)
}
