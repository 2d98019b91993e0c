//! Unix sockets. Other systems have none: binding fails there.

#[cfg(unix)]
mod file;
#[cfg(not(unix))]
mod unavailable;

#[cfg(unix)]
pub(super) use tokio::net::UnixStream;

#[cfg(unix)]
pub(super) use self::file::UnixListener;
#[cfg(not(unix))]
pub(super) use self::unavailable::{UnixListener, UnixStream};
