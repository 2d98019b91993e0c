//! Unix systems.

use std::{
    env,
    io::{self, BufRead as _, stdin},
    path::PathBuf,
};

use rustix::{
    process::{Resource, getrlimit},
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr},
};

/// Number of columns of the terminal of standard output; 0 if the terminal does not know it.
pub(crate) fn terminal_columns() -> Option<u16> {
    tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col)
}

/// A name of the user that is part of a file name.
pub(crate) fn user_name() -> String {
    rustix::process::getuid().as_raw().to_string()
}

/// The home directory.
pub(crate) fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from)
}

/// The directory for state of programs: `$XDG_STATE_HOME`, else `~/.local/state` (XDG Base Directory Specification).
pub(crate) fn state_directory() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))
}

/// Maximum number of open descriptors; `None` means unlimited.
pub(crate) fn descriptor_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// The terminal of standard input, which does not show what is typed until this is dropped.
pub(crate) struct HiddenInput(Termios);

impl HiddenInput {
    /// Turns the echo off.
    ///
    /// # Errors
    /// If standard input is not a terminal.
    pub(crate) fn start() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }

    /// Reads a line, without its end.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn read_line(&self) -> io::Result<String> {
        let mut line = String::new();
        stdin().lock().read_line(&mut line)?;
        line.truncate(line.trim_end_matches(['\n', '\r']).len());
        Ok(line)
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &self.0);
    }
}
