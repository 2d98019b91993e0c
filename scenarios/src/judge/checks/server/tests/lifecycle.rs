//! Checks of the handshake and the capabilities.

use super::*;

pub(super) fn table() -> Vec<Row> {
    let old = |version: &str| {
        stdio().result("initialize", json!({ "protocolVersion": "1999-01-01" }), json!({ "protocolVersion": version }))
    };
    let offers = |declared: Value| {
        stdio()
            .result("tools/list", json!({}), json!({ "tools": [{ "name": "a" }] }))
            .knows(&[Revision::V2025_11_25], declared)
    };
    let others = json!({ "protocolVersion": "2025-11-25", "capabilities": { "experimental": { "a": {} } } });
    let strange =
        json!({ "protocolVersion": "3.0", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    let silent = stdio().no_handshake("timed-out").text(Direction::ServerToClient, "Server ready");
    vec![
        ("handshake-completes", silent, stdio()),
        (
            "other-capabilities-are-accepted",
            stdio().error("initialize", others.clone(), -32602),
            stdio().result("initialize", others, greeting()),
        ),
        ("negotiated-revision-exists", initialized(stdio(), strange), initialized(stdio(), greeting())),
        ("unknown-revision-is-negotiated", old("1999-01-01"), old("2025-06-18")),
        (
            "ping-is-answered-empty",
            stdio().result("ping", json!({}), json!({ "pong": true })),
            stdio().result("ping", json!({}), json!({})),
        ),
        ("offers-only-what-is-declared", offers(json!({})), offers(json!({ "tools": {} }))),
    ]
}
