//! Windows: a server gets the events of the console by itself.

use std::{
    io,
    process::{Child, Command, ExitCode, ExitStatus},
    sync::{Arc, atomic::AtomicBool},
};

use crate::error::ENVIRONMENT;

/// There are no signals to pass on.
pub(super) struct ForwardedSignals(());

impl ForwardedSignals {
    pub(super) fn watch() -> io::Result<Self> {
        Ok(Self(()))
    }

    pub(super) fn forward(self, _: &Child, _: Arc<AtomicBool>, _: impl Fn() + Send + 'static) {
        let Self(()) = self;
    }
}

/// Server and proxy share the console, and Ctrl+C reaches both.
pub(super) fn separate(_: &mut Command) {}

/// Exits as the server did. Codes above 255 become that of an environment error.
pub(super) fn exit_with(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::from(ENVIRONMENT), ExitCode::from)
}

/// Standard input closes at the exit: closing it before is unsafe code on this system.
pub(super) fn close_stdin() -> io::Result<()> {
    Ok(())
}

/// Standard output closes at the exit: closing it before is unsafe code on this system.
pub(super) fn close_stdout() -> io::Result<()> {
    Ok(())
}
