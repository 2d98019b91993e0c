//! Checks on a client: what it sent, what it left unsaid, and which processes it left behind.
//!
//! They forgive what a good client cannot help: messages that cross each other on their way ([`RACE_US`]), probes of
//! clients that know both eras of the protocol, and the broken end of a client that was killed.

mod answers;
mod cancellation;
mod findings;
mod handshake;
mod http;
mod jsonrpc;
mod listing;
mod message;
mod modern;
mod pagination;
mod processes;
mod retry;
mod session;
mod timeouts;
mod tools;

use crate::judge::check::Check;

/// How long two messages that cross each other may take to be read by the other side, in microseconds.
const RACE_US: u64 = 250_000;

/// Whether a recorder has cut this text because it was too long to be kept: it was more than can be judged.
fn was_cut(text: &str) -> bool {
    text.ends_with(" bytes more]")
}

/// Every check on a client.
pub(super) fn all() -> impl Iterator<Item = &'static Check> {
    let themes = [
        jsonrpc::ALL,
        handshake::ALL,
        answers::ALL,
        cancellation::ALL,
        timeouts::ALL,
        http::ALL,
        retry::ALL,
        modern::ALL,
        pagination::ALL,
        tools::ALL,
        processes::ALL,
    ];
    themes.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{model::Revision, requirements::Register};

    #[test]
    fn every_check_has_an_id_of_its_own_and_a_requirement_that_exists() {
        let mut ids = BTreeSet::new();
        for check in all() {
            assert!(ids.insert(check.id), "{} is there twice", check.id);
            let found = Register::built_in().get(check.requirement, Revision::V2025_11_25);
            assert!(found.is_some(), "{} stands for {}, which is not in the register", check.id, check.requirement);
        }
    }
}
