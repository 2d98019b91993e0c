//! Checks of 2026-07-28.

use super::*;

pub(super) fn table() -> Vec<Row> {
    let result = |fields: Value| modern().result("server/discover", meta(), fields);
    let fine = || result(good(json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} })));
    let list = |talk: Talk, cursor: Option<&str>, scope: &str| {
        let mut params = meta();
        if let Some(cursor) = cursor {
            params["cursor"] = json!(cursor);
        }
        talk.result("tools/list", params, good(json!({ "tools": [], "cacheScope": scope })))
    };
    let bare = |code: i64| modern().error("server/discover", json!({}), code);
    let supported = json!({ "supported": ["2026-07-28"], "requested": "1999-01-01" });
    let unknown =
        |code: u16, data: Value| discover_with(&[], meta_of("1999-01-01")).says_with(code, refusal(-32022, data));
    let fits = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let not_found =
        |code: u16| modern_http().ask(call("workbench/no-such-method")).says_with(code, refusal(-32601, json!(null)));
    let handshake = |message: &str| {
        let error = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": message } });
        modern().ask(call("initialize")).says(error)
    };
    vec![
        (
            "cache-scope-same-on-every-page",
            list(list(modern(), None, "private"), Some("2"), "public"),
            list(list(modern(), None, "public"), Some("2"), "public"),
        ),
        ("server-info-in-results", result(json!({ "resultType": "complete" })), fine()),
        (
            "server-sends-no-requests",
            fine().says(json!({ "jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage" })),
            fine(),
        ),
        ("reserved-error-codes", modern().error("x", meta(), -32042), modern().error("x", meta(), -32601)),
        ("discover-result", result(good(json!({ "supportedVersions": ["2099-01-01"], "capabilities": {} }))), fine()),
        ("missing-metadata-is-refused", bare(-32601), bare(-32602)),
        ("unsupported-revision-is-refused", unknown(400, json!({})), unknown(400, supported)),
        (
            "http-header-mismatch-is-refused",
            discover_with(&fits, meta()).says_with(200, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })),
            discover_with(&fits, meta()).says_with(400, refusal(-32020, json!(null))),
        ),
        ("http-unknown-method-is-404", not_found(200), not_found(404)),
        (
            "http-get-and-delete-are-405",
            modern_http().bodiless("GET", &[]).replies(400, ""),
            modern_http().bodiless("GET", &[]).replies(405, ""),
        ),
        (
            "initialize-names-the-supported-revisions",
            handshake("no such method"),
            handshake("only 2026-07-28 is supported"),
        ),
        (
            "subscription-is-acknowledged",
            listen(modern()).says(on_subscription("notifications/tools/list_changed")),
            listen(modern()).says(on_subscription("notifications/subscriptions/acknowledged")),
        ),
    ]
}

#[test]
fn a_server_without_revisions_that_lack_the_header_needs_it() {
    let id = "http-header-mismatch-is-refused";
    let discovered = |versions: &[&str]| {
        let result = json!({ "resultType": "complete", "supportedVersions": versions, "capabilities": {} });
        let talk = discover_with(&[("mcp-method", "tools/list")], meta());
        let talk = talk.knows(&[Revision::V2025_11_25, Revision::V2026_07_28], json!({}));
        talk.says_with(200, json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
    };
    assert!(fails(id, &discovered(&["2025-06-18", "2026-07-28"])));
    assert!(!fails(id, &discovered(&["2025-03-26", "2026-07-28"])));
    // It may support others that it does not list.
    assert!(!fails(id, &discovered(&["2026-07-28"])));
}
