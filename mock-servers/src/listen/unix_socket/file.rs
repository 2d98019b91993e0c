//! A Unix socket that listens, and its file.

use std::{
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use tokio::net::UnixStream;

/// A bound socket. Dropping it removes its file.
#[derive(Debug)]
pub(in crate::listen) struct UnixListener {
    socket: tokio::net::UnixListener,
    #[expect(dead_code, reason = "removes the file when it is dropped")]
    file: SocketFile,
}

impl UnixListener {
    /// Binds the path, which is absolute. A socket without a listener is replaced.
    ///
    /// # Errors
    /// If the path is in use, or the system refuses.
    pub(in crate::listen) async fn bind(path: &Path) -> io::Result<Self> {
        clear(path).await?;
        let socket = tokio::net::UnixListener::bind(path)?;
        let file = SocketFile { identity: identity(path), path: path.to_owned() };
        Ok(Self { socket, file })
    }

    pub(in crate::listen) async fn accept(&self) -> io::Result<UnixStream> {
        self.socket.accept().await.map(|(stream, _)| stream)
    }
}

/// The file of a Unix socket, removed on drop unless it was replaced.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

/// Removes a socket without a listener. Anything else stays, and binding fails.
async fn clear(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if !is_socket {
        return Ok(());
    }
    match UnixStream::connect(path).await {
        Err(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => Ok(()),
    }
}

/// Device and inode, which distinguish files of the same name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some()
            && identity(&self.path) == self.identity
            && let Err(cause) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(%cause, path = %self.path.display(), "could not take the socket away");
        }
    }
}
