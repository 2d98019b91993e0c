use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, error, fails, initialize, modern, not_applicable, passes, request, result,
    },
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

#[test]
fn the_era_of_an_origin_is_probed_once() {
    let id = "era-probed-once";
    let probe = || modern(1, "server/discover", json!({}));
    let probed = |builder: EvidenceBuilder| {
        let builder = builder.client(probe()).server(error(1, -32601));
        builder.client(initialize(2, "2025-11-25")).server(result(2, json!({"protocolVersion": "2025-11-25"})))
    };
    let http = || probed(EvidenceBuilder::http(Revision::V2025_11_25));
    let called = || http().client(request(3, "tools/list", json!({}))).server(result(3, json!({"tools": []})));
    passes(id, called().client(initialize(4, "2025-11-25")));
    fails(id, called().client(probe()), "sent again");
    fails(id, http().wait(300).client(probe()), "sent again");
    // It may have crossed the result, or the server may have changed.
    passes(id, http().client(probe()));
    passes(id, called().client(request(4, "tools/list", json!({}))).server(error(4, -32000)).client(probe()));
    // Another process may be of another version.
    let stdio = || probed(EvidenceBuilder::stdio(Revision::V2025_11_25)).wait(300);
    passes(id, stdio().on(2).client(probe()));
    fails(id, stdio().client(probe()), "sent again");
    not_applicable(id, EvidenceBuilder::http(Revision::V2025_11_25).greet());
}

#[test]
fn the_fallback_depends_on_no_code() {
    let id = "fallback-on-any-error";
    let probed = |story: EvidenceBuilder, server: &str, code: i64| {
        story.at(server).client(modern(1, "server/discover", json!({}))).server(error(1, code))
    };
    let first =
        || probed(EvidenceBuilder::stdio(Revision::V2025_11_25), "one", -32601).client(initialize(2, "2025-11-25"));
    passes(id, first());
    passes(id, probed(first(), "two", -32000).client(initialize(2, "2025-11-25")));
    fails(id, probed(first(), "two", -32000), "after the error -32000 of `two`");
    // Another reason prevents the handshake with a server that has the same code, or whose error is a modern one.
    passes(id, probed(first(), "two", -32601));
    passes(id, probed(first(), "two", -32022));
    not_applicable(id, probed(EvidenceBuilder::stdio(Revision::V2025_11_25), "one", -32601));
}

#[test]
fn errors_of_2026_07_28_name_the_era() {
    let id = "modern-errors-name-the-era";
    let rejected = |code: i64| {
        EvidenceBuilder::stdio(MODERN).client(modern(1, "server/discover", json!({}))).server(error(1, code))
    };
    passes(id, rejected(-32021).client(modern(2, "tools/list", json!({}))));
    fails(id, rejected(-32021).client(initialize(2, "2025-11-25")), "after the error -32021");
    fails(id, rejected(-32020).client(initialize(2, "2025-11-25")), "after the error -32020");
    // These may mean a server of an older revision.
    not_applicable(id, rejected(-32022).client(initialize(2, "2025-11-25")));
    not_applicable(id, rejected(-32601).client(initialize(2, "2025-11-25")));
}

#[test]
fn the_probe_is_a_discovery() {
    let id = "probes-with-discovery";
    let probed = |story: EvidenceBuilder, method: &str| {
        story.client(modern(1, method, json!({}))).server(error(1, -32601)).client(initialize(2, "2025-11-25"))
    };
    passes(id, probed(EvidenceBuilder::stdio(MODERN), "server/discover"));
    fails(id, probed(EvidenceBuilder::stdio(MODERN), "tools/list"), "the probe is `tools/list`");
    not_applicable(id, probed(EvidenceBuilder::http(MODERN), "tools/list"));
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet());
}
