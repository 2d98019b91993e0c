//! What a fault does when its turn comes.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;

use super::Fault;
use crate::engine::{Facts, Step};

/// What a fault can know when its turn comes.
pub(crate) struct Scene<'a> {
    /// The client's message.
    pub(crate) facts: Facts<'a>,
    /// The name and port that the client calls the server by, over HTTP.
    pub(crate) host: Option<&'a str>,
    /// Chance, seeded for this fault and this match.
    pub(crate) random: ChaCha8Rng,
}

/// What a fault does when its turn comes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Turn {
    /// It does nothing yet: it acts on what is said from here on.
    Join,
    /// Nothing is ever said, and the stream stays open.
    Hold,
    /// Wait, then go on.
    Wait(Duration),
    /// Wait, then go on, whether or not the request is cancelled meanwhile.
    WaitRegardless(Duration),
    /// Do this, then go on.
    Do(Vec<Step>),
    /// Do this, wait, and go on with this fault.
    DoThen(Vec<Step>, Duration, Box<Fault>),
    /// This takes the place of the answer.
    Settle(Step),
    /// After this nothing can follow.
    End(Step),
    /// The session ends, and the answer says that it is unknown.
    ForgetSession,
}
