//! Checks on clients: their messages, their omissions, and the processes that they leave behind.
//!
//! They tolerate what a conforming client cannot avoid: messages that cross on the wire ([`RACE_US`]), probes of clients of
//! both eras, and the truncated output of a client that was killed.

mod answers;
mod authorization;
mod cancellation;
mod era;
mod handshake;
mod http;
mod input;
mod jsonrpc;
mod listing;
mod messages;
mod modern;
mod pagination;
mod parameters;
mod processes;
mod progress;
mod retry;
mod rounds;
mod subscriptions;
mod tasks;
mod timeouts;
mod tools;
mod user;

use crate::judge::{check::Check, transcript::Message};

/// How long two messages that cross on the wire may take to be read by the other side, in microseconds.
const RACE_US: u64 = 250_000;

/// Whether the client sent a message before another one. Over HTTP two POSTs in flight may arrive in any order.
fn is_before(first: &Message<'_>, later: &Message<'_>) -> bool {
    let may_be_overtaken = first.frame.http.is_some() && first.at_us() <= later.at_us() + RACE_US;
    first.seq() < later.seq() || may_be_overtaken
}

/// The checks by theme.
pub(super) const THEMES: &[&[Check]] = &[
    jsonrpc::CHECKS,
    messages::CHECKS,
    handshake::CHECKS,
    era::CHECKS,
    answers::CHECKS,
    cancellation::CHECKS,
    timeouts::CHECKS,
    http::CHECKS,
    retry::CHECKS,
    modern::CHECKS,
    input::CHECKS,
    user::CHECKS,
    subscriptions::CHECKS,
    tasks::CHECKS,
    progress::CHECKS,
    parameters::CHECKS,
    pagination::CHECKS,
    tools::CHECKS,
    processes::CHECKS,
    authorization::DISCOVERY,
    authorization::REGISTRATION,
    authorization::REQUESTS,
    authorization::SCOPES,
    authorization::TOKENS,
];
