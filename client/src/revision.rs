//! What the client does differently in each revision.
//!
//! No other module of the crate compares revisions: they ask for [`rules`]. A new revision does not compile until
//! [`rules`] and [`to_sdk`] have an entry for it.

pub use evidence::{Era, Revision, UnknownRevision};
use rmcp::model::ProtocolVersion;

/// The rules of one revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Requests carry the revision and the client's capabilities in `_meta`, and over HTTP method and name in headers.
    /// There are no sessions, and no requests that change their state (`ping`, `logging/setLevel`).
    pub(crate) stateless: bool,
    /// A response stream that was interrupted can be resumed (transports, "Resumability and Redelivery").
    pub(crate) resumable_responses: bool,
    /// Changes are announced only on an open subscription (patterns, "Subscriptions").
    pub(crate) subscriptions: bool,
    /// A result can require input first (patterns, "Multi Round-Trip Requests").
    pub(crate) input_rounds: bool,
    /// An error can require the user to visit URLs first (elicitation, "URL Elicitation Required Error").
    pub(crate) url_elicitation_errors: bool,
    /// A call can become a task of the extension `io.modelcontextprotocol/tasks`.
    pub(crate) tasks: bool,
    /// Lists have a time to live (server/utilities/caching).
    pub(crate) caching_hints: bool,
    /// The client announces changed roots (roots, "Root List Changes").
    pub(crate) roots_announcements: bool,
}

const HANDSHAKE: Rules = Rules {
    stateless: false,
    resumable_responses: true,
    subscriptions: false,
    input_rounds: false,
    url_elicitation_errors: false,
    tasks: false,
    caching_hints: false,
    roots_announcements: true,
};

/// The rules of a revision.
pub(crate) const fn rules(revision: Revision) -> Rules {
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 | Revision::V2025_06_18 => HANDSHAKE,
        Revision::V2025_11_25 => Rules { url_elicitation_errors: true, ..HANDSHAKE },
        Revision::V2026_07_28 => Rules {
            stateless: true,
            resumable_responses: false,
            subscriptions: true,
            input_rounds: true,
            url_elicitation_errors: false,
            tasks: true,
            caching_hints: true,
            roots_announcements: false,
        },
    }
}

/// The revision as a type of the SDK.
pub(crate) const fn to_sdk(revision: Revision) -> ProtocolVersion {
    match revision {
        Revision::V2024_11_05 => ProtocolVersion::V_2024_11_05,
        Revision::V2025_03_26 => ProtocolVersion::V_2025_03_26,
        Revision::V2025_06_18 => ProtocolVersion::V_2025_06_18,
        Revision::V2025_11_25 => ProtocolVersion::V_2025_11_25,
        Revision::V2026_07_28 => ProtocolVersion::V_2026_07_28,
    }
}

/// The stateless revisions in the order of preference, newest first.
pub(crate) fn stateless_revisions() -> impl Iterator<Item = Revision> {
    Revision::ALL.into_iter().rev().filter(|revision| revision.is_modern())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_has_the_same_revisions() {
        for revision in Revision::ALL {
            assert_eq!(to_sdk(revision).as_str(), revision.as_str());
            assert_eq!(rules(revision).stateless, revision.is_modern());
        }
    }
}
