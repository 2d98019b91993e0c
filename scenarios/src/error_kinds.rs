//! The kinds of errors in reports of clients, and in the expectations of scenarios.

/// The error kinds of the contract with clients, each with its details. Scenarios expect either; a report of a kind without a
/// detail matches all its details.
pub const ERROR_KINDS: [(&str, &[&str]); 4] = [
    (
        "rejected-by-peer",
        &["rpc-error", "http-status", "needs-auth", "unauthorized", "task-cancelled", "url-elicitation-required"],
    ),
    ("timed-out", &["startup-timeout"]),
    ("connection-lost", &["exited", "spawn-failed", "transport", "session-lost"]),
    (
        "rejected-by-client",
        &[
            "cancelled",
            "denied",
            "empty-cursor",
            "headers-helper-failed",
            "illegal-cursor",
            "input-refused",
            "invalid-arguments",
            "invalid-config",
            "long-cursor",
            "malformed-result",
            "not-allowed",
            "not-declared",
            "not-in-revision",
            "other",
            "oversize-reply",
            "protocol-violation",
            "redirect-refused",
            "repeated-cursor",
            "stale",
            "too-many-items",
            "too-many-pages",
            "too-many-rounds",
            "unknown-tool",
            "version-mismatch",
        ],
    ),
];

/// The kinds and details that a scenario can expect.
pub(crate) fn expected_kinds() -> impl Iterator<Item = &'static str> {
    ERROR_KINDS.iter().flat_map(|(kind, details)| [*kind].into_iter().chain(details.iter().copied()))
}

/// The kind of the contract to which a detail belongs; a kind belongs to itself.
pub(crate) fn error_kind(detail: &str) -> Option<&'static str> {
    ERROR_KINDS.iter().find(|(kind, details)| *kind == detail || details.contains(&detail)).map(|(kind, _)| *kind)
}
