//! What commands need from the system: the terminal, the user, and limits.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use self::unix::{HiddenInput, descriptor_limit, home, state_directory, terminal_columns, user_name};
#[cfg(windows)]
pub(crate) use self::windows::{HiddenInput, descriptor_limit, home, state_directory, terminal_columns, user_name};
