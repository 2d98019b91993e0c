//! Types that cannot exist, for systems without Unix sockets.

use std::{
    io,
    path::Path,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Debug)]
pub(in crate::listen) enum UnixListener {}

impl UnixListener {
    /// # Errors
    /// Always.
    pub(in crate::listen) async fn bind(path: &Path) -> io::Result<Self> {
        let what = format!("Unix sockets are not available on this system: `{}`", path.display());
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    pub(in crate::listen) async fn accept(&self) -> io::Result<UnixStream> {
        match *self {}
    }
}

#[derive(Debug)]
pub(in crate::listen) enum UnixStream {}

impl AsyncRead for UnixStream {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}

impl AsyncWrite for UnixStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match *self {}
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}
