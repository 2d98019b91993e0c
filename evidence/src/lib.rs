//! Recorded frames, and the vocabulary that mock servers, the client, runs and checks share.
//!
//! This crate owns the shape of a [`Frame`], the [`Recorder`] that redacts, truncates and stores frames, the clock of
//! their timestamps, and the two axes of every case: [`Revision`] and [`Transport`]. It contains no protocol logic: the
//! client and the mock servers implement the specification separately, so that one cannot hide a mistake of the other.

pub mod clock;
pub mod frame;
pub mod recorder;
pub mod redaction;
pub mod revision;
pub mod transport;

pub use clock::now_us;
pub use frame::{Body, ConnectionEvent, Direction, Frame, Http};
pub use recorder::{FrameParts, Recorder};
pub use revision::{Era, Revision, UnknownRevision};
pub use transport::{Transport, UnknownTransport};
