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
    let discovered = |supported: &[&str]| {
        let probed = EvidenceBuilder::stdio(MODERN).client(modern(1, "server/discover", json!({})));
        probed.server(result(1, json!({"resultType": "complete", "supportedVersions": supported}))).wait(1000)
    };
    passes(id, discovered(&["2026-07-28"]).client(modern(2, "tools/list", json!({}))));
    passes(id, discovered(&["2025-11-25"]).client(initialize(2, "2025-11-25")));
    fails(id, discovered(&["2027-01-01"]).client(modern(2, "tools/list", json!({}))), "does not support");
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

#[test]
fn a_server_without_handshakes_gets_no_initialize() {
    let id = "no-initialize-after-discovery";
    let discovered = |supported: &[&str]| {
        let probed = EvidenceBuilder::stdio(MODERN).client(modern(1, "server/discover", json!({})));
        probed.server(result(1, json!({"resultType": "complete", "supportedVersions": supported})))
    };
    let used = |supported: &[&str]| discovered(supported).client(modern(2, "tools/list", json!({})));
    passes(id, used(&["2026-07-28"]));
    fails(id, used(&["2026-07-28"]).client(initialize(3, "2025-11-25")), "supports only revisions without it");
    fails(id, discovered(&["2026-07-28"]).wait(500).client(initialize(2, "2025-11-25")), "supports only");
    let probed = EvidenceBuilder::stdio(MODERN).client(modern(1, "server/discover", json!({}))).wait(400);
    let slow = probed.server(result(1, json!({"resultType": "complete", "supportedVersions": ["2026-07-28"]})));
    fails(id, slow.client(initialize(2, "2025-11-25")), "supports only");
    // It crossed the result, or goes to another process.
    passes(id, discovered(&["2026-07-28"]).client(initialize(2, "2025-11-25")));
    passes(id, used(&["2026-07-28"]).on(2).client(initialize(3, "2025-11-25")));
    not_applicable(id, used(&["2025-11-25", "2026-07-28"]).client(initialize(3, "2025-11-25")));
    not_applicable(id, used(&["2027-01-01"]).client(initialize(3, "2025-11-25")));
}
