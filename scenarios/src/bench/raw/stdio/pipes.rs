//! The pipes of a server, which one thread reads and writes. This needs a poll for pipes, which Windows does not have.

#[cfg(unix)]
pub(super) use self::descriptors::Pipes;
#[cfg(not(unix))]
pub(super) use self::unavailable::Pipes;

/// The reason why the worker cannot be used on this system; `None` if it can.
pub(in crate::bench::raw) const UNAVAILABLE: Option<&str> =
    if cfg!(unix) { None } else { Some("the raw driver cannot use the pipes of a process on this system") };

#[cfg(unix)]
mod descriptors {
    use std::{
        io,
        os::fd::{AsFd as _, OwnedFd},
        time::Duration,
    };

    use client::process::ServerPipes;
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::{OFlags, fcntl_setfl},
        io::Errno,
    };

    /// Both pipes. Writing does not block.
    #[derive(Debug)]
    pub(in super::super) struct Pipes {
        stdin: OwnedFd,
        stdout: OwnedFd,
    }

    impl Pipes {
        /// # Errors
        /// If the system refuses.
        pub(in super::super) fn new(pipes: ServerPipes) -> io::Result<Self> {
            // A server that does not read must not block the worker, which reads too.
            fcntl_setfl(&pipes.stdin, OFlags::NONBLOCK)?;
            Ok(Self { stdin: pipes.stdin.into(), stdout: pipes.stdout.into() })
        }

        /// Waits until the server sends, or reads if `for_write`. Returns whether there is something to read, or the end.
        ///
        /// # Errors
        /// If polling fails.
        pub(in super::super) fn wait(&self, wait: Duration, for_write: bool) -> io::Result<bool> {
            let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
            let mut fds = [
                PollFd::from_borrowed_fd(self.stdout.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.stdin.as_fd(), PollFlags::OUT),
            ];
            let count = if for_write { 2 } else { 1 };
            match poll(&mut fds[..count], Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(cause) => return Err(cause.into()),
            }
            Ok(fds[0].revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR))
        }

        /// Appends what was sent to the free capacity of the buffer, and returns the number of bytes; 0 at the end.
        ///
        /// # Errors
        /// Those of read(2).
        pub(in super::super) fn read(&self, into: &mut Vec<u8>) -> io::Result<usize> {
            Ok(rustix::io::read(&self.stdout, rustix::buffer::spare_capacity(into))?)
        }

        /// Writes what the pipe accepts.
        ///
        /// # Errors
        /// Those of write(2). `WouldBlock` means that the pipe is full.
        pub(in super::super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
            Ok(rustix::io::write(&self.stdin, bytes)?)
        }
    }
}

#[cfg(not(unix))]
mod unavailable {
    use std::{io, time::Duration};

    use client::process::ServerPipes;

    /// Pipes that cannot exist.
    #[derive(Debug)]
    pub(in super::super) enum Pipes {}

    impl Pipes {
        pub(in super::super) fn new(_: ServerPipes) -> io::Result<Self> {
            Err(io::Error::new(io::ErrorKind::Unsupported, super::UNAVAILABLE.unwrap_or_default()))
        }

        pub(in super::super) fn wait(&self, _: Duration, _: bool) -> io::Result<bool> {
            match *self {}
        }

        pub(in super::super) fn read(&self, _: &mut Vec<u8>) -> io::Result<usize> {
            match *self {}
        }

        pub(in super::super) fn write(&self, _: &[u8]) -> io::Result<usize> {
            match *self {}
        }
    }
}
