//! Unix: signals, process groups and descriptors.

use std::{
    fs::File,
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, Command, ExitCode, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};

use crate::error::ENVIRONMENT;

/// The signals that are passed on, from now on.
pub(super) struct ForwardedSignals(Signals);

impl ForwardedSignals {
    pub(super) fn watch() -> io::Result<Self> {
        Signals::new([SIGHUP, SIGINT, SIGTERM]).map(Self)
    }

    /// Passes signals on to the server, and calls the function before SIGTERM. After its exit they have their default effect,
    /// because its id may be that of another process.
    pub(super) fn forward(mut self, child: &Child, exited: Arc<AtomicBool>, terminating: impl Fn() + Send + 'static) {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        thread::spawn(move || {
            for number in self.0.forever() {
                let signal = match number {
                    SIGHUP => Signal::HUP,
                    SIGINT => Signal::INT,
                    _ => Signal::TERM,
                };
                if signal == Signal::TERM {
                    terminating();
                }
                // It may exit in between; it stays a zombie until it is waited for, so the number is still its own.
                let _ = match pid.filter(|_| !exited.load(Ordering::SeqCst)) {
                    Some(pid) => kill_process(pid, signal).map_err(io::Error::from),
                    None => emulate_default_handler(number),
                };
            }
        });
    }
}

/// Lets the command start in a process group of its own.
pub(super) fn separate(command: &mut Command) {
    command.process_group(0);
}

/// Exits as the server did.
pub(super) fn exit_with(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        // It returns only if the signal cannot be emulated.
        let _ = emulate_default_handler(signal);
        return u8::try_from(128 + signal).map_or(ExitCode::from(ENVIRONMENT), ExitCode::from);
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::from(ENVIRONMENT), ExitCode::from)
}

/// Closes standard input for the writer.
pub(super) fn close_stdin() -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdin(null()?)?)
}

/// Closes standard output for the reader.
pub(super) fn close_stdout() -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdout(null()?)?)
}

/// What replaces a closed stream: its descriptor stays valid, as libraries expect.
fn null() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/null")
}
