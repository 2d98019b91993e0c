//! Unix sockets. Other systems have none: connecting fails there.

use std::{io, path::Path};

use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(unix)]
pub(super) use mio::net::UnixStream;

/// Connects a socket for the runtime of the current task.
///
/// # Errors
/// If connecting fails, or the system has no Unix sockets.
#[cfg(unix)]
pub(super) async fn connect(path: &Path) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
    tokio::net::UnixStream::connect(path).await
}

/// Connects a socket for the runtime of the current task.
///
/// # Errors
/// Always: the system has no Unix sockets.
#[cfg(not(unix))]
pub(super) async fn connect(path: &Path) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
    Err::<tokio::net::TcpStream, _>(not_available(path))
}

#[cfg(not(unix))]
pub(super) use self::unavailable::{UnixStream, not_available};

#[cfg(not(unix))]
mod unavailable {
    use std::{
        io::{self, Read, Write},
        path::Path,
    };

    use mio::{Interest, Registry, Token, event::Source};

    /// A stream that cannot exist.
    #[derive(Debug)]
    pub(in crate::bench::raw) enum UnixStream {}

    impl UnixStream {
        pub(in crate::bench::raw) fn connect(path: &Path) -> io::Result<Self> {
            Err(not_available(path))
        }

        pub(in crate::bench::raw) fn take_error(&self) -> io::Result<Option<io::Error>> {
            match *self {}
        }
    }

    impl Read for UnixStream {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }
    }

    impl Write for UnixStream {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            match *self {}
        }

        fn flush(&mut self) -> io::Result<()> {
            match *self {}
        }
    }

    impl Source for UnixStream {
        fn register(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
            match *self {}
        }

        fn reregister(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
            match *self {}
        }

        fn deregister(&mut self, _: &Registry) -> io::Result<()> {
            match *self {}
        }
    }

    pub(in crate::bench::raw) fn not_available(path: &Path) -> io::Error {
        let what = format!("Unix sockets are not available on this system: `{}`", path.display());
        io::Error::new(io::ErrorKind::Unsupported, what)
    }
}
