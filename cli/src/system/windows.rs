//! Windows.

use std::{env, io, path::PathBuf};

use ratatui::crossterm::{
    event::{Event, KeyCode, KeyEventKind, KeyModifiers, read},
    terminal::{disable_raw_mode, enable_raw_mode, size},
};

/// Number of columns of the terminal.
pub(crate) fn terminal_columns() -> Option<u16> {
    size().ok().map(|(columns, _)| columns)
}

/// A name of the user that is part of a file name.
pub(crate) fn user_name() -> String {
    let name = env::var("USERNAME").unwrap_or_default();
    name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect()
}

/// The home directory: `%HOME%`, else `%USERPROFILE%`.
pub(crate) fn home() -> Option<PathBuf> {
    env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from)
}

/// The directory for state of programs: `%XDG_STATE_HOME%`, else `%LOCALAPPDATA%`.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_STATE_HOME").or_else(|| set("LOCALAPPDATA"))
}

/// Maximum number of open descriptors, which Windows does not limit.
pub(crate) fn descriptor_limit() -> Option<u64> {
    None
}

/// The terminal of standard input in raw mode, which does not show what is typed until this is dropped.
pub(crate) struct HiddenInput(());

impl HiddenInput {
    /// Turns the echo off.
    ///
    /// # Errors
    /// If standard input is not a terminal.
    pub(crate) fn start() -> io::Result<Self> {
        enable_raw_mode()?;
        Ok(Self(()))
    }

    /// Reads a line, without its end. Backspace removes the last character.
    ///
    /// # Errors
    /// If reading fails, or after Ctrl+C.
    pub(crate) fn read_line(&self) -> io::Result<String> {
        let mut line = String::new();
        loop {
            let Event::Key(key) = read()? else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            match key.code {
                KeyCode::Enter => return Ok(line),
                KeyCode::Backspace => drop(line.pop()),
                KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => {
                    return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
                }
                // AltGr arrives as Ctrl and Alt.
                KeyCode::Char(letter) if !key.modifiers.contains(KeyModifiers::CONTROL) => line.push(letter),
                KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::ALT) => line.push(letter),
                _ => {}
            }
        }
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = disable_raw_mode();
    }
}
