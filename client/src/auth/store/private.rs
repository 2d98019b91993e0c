//! Files and directories that only their owner can access. On Windows this depends on the directory of the user's profile.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use self::unix::{
    create_file, data_directory, guard_file, open_file, open_lock, private_directory, sync_directory,
};
#[cfg(windows)]
pub(super) use self::windows::{
    create_file, data_directory, guard_file, open_file, open_lock, private_directory, sync_directory,
};
