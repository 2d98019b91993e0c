use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{EvidenceBuilder, fails, initialize, modern, not_applicable, passes, result},
    model::Revision,
};

const MODERN: Revision = Revision::V2026_07_28;

fn unsupported(id: u64, supported: &[&str]) -> Value {
    let data = json!({"supported": supported, "requested": "2026-07-28"});
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32022, "message": "no", "data": data}})
}

#[test]
fn the_next_revision_is_one_that_the_server_supports() {
    let id = "uses-a-supported-revision";
    let rejected = |supported: &[&str]| {
        let probed = EvidenceBuilder::stdio(MODERN).client(modern(1, "server/discover", json!({})));
        probed.server(unsupported(1, supported)).wait(1000)
    };
    passes(id, rejected(&["2025-11-25"]).client(initialize(2, "2025-11-25")));
    passes(id, rejected(&["2026-07-28"]).client(modern(2, "tools/list", json!({}))));
    fails(id, rejected(&["2025-11-25"]).client(initialize(2, "2025-06-18")), "`initialize` uses `\"2025-06-18\"`");
    fails(id, rejected(&["2027-01-01"]).client(modern(2, "tools/list", json!({}))), "does not support");
    not_applicable(id, rejected(&["2027-01-01"]));
}

#[test]
fn a_modern_server_gets_no_handshake() {
    let id = "era-is-kept";
    let listed = || {
        let asked = EvidenceBuilder::stdio(MODERN).client(modern(1, "tools/list", json!({})));
        asked.server(result(1, json!({"resultType": "complete", "tools": []})))
    };
    passes(id, listed().on(2).client(initialize(2, "2025-11-25")));
    fails(id, listed().client(initialize(2, "2025-11-25")), "`initialize` was sent");
    let other = json!({"resultType": "complete", "supportedVersions": ["2027-01-01"]});
    let probed =
        EvidenceBuilder::stdio(MODERN).client(modern(1, "server/discover", json!({}))).server(result(1, other));
    not_applicable(id, probed.client(initialize(2, "2025-11-25")));
}
