//! A timer of a worker, for the poll of HTTP/1.1 and for the tasks of HTTP/2.
//!
//! On Linux it has a precision of microseconds. That of polls and of tokio is a millisecond, longer than most calls. Other
//! systems have no better timer that a poll can wait for, so that calls of a schedule are up to a millisecond late.

#[cfg(target_os = "linux")]
mod descriptor;
#[cfg(not(target_os = "linux"))]
mod portable;

#[cfg(target_os = "linux")]
pub(super) use self::descriptor::{AsyncTimer, Timer};
#[cfg(not(target_os = "linux"))]
pub(super) use self::portable::{AsyncTimer, Timer};
