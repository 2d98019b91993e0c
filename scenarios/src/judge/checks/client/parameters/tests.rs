use serde_json::{Value, json};

use crate::{
    evidence::Outcome,
    judge::checks::testing::{EvidenceBuilder, blocked, fails, modern, not_applicable, passes, result},
    model::Revision,
};

fn listed(properties: &Value) -> EvidenceBuilder {
    let schema = json!({ "type": "object", "properties": properties });
    let tools = json!([{ "name": "query", "inputSchema": schema }]);
    let builder = EvidenceBuilder::http(Revision::V2026_07_28).client(modern(1, "tools/list", json!({})));
    builder.server(result(1, json!({ "resultType": "complete", "tools": tools })))
}

fn called(properties: &Value, arguments: &Value, headers: &[(&str, &str)]) -> EvidenceBuilder {
    let call = modern(2, "tools/call", json!({ "name": "query", "arguments": arguments }));
    headers.iter().fold(listed(properties).client(call), |builder, (name, value)| builder.with(name, value))
}

#[test]
fn headers_repeat_annotated_parameters() {
    let id = "parameters-are-mirrored";
    let text = json!({ "region": { "type": "string", "x-mcp-header": "Region" }, "other": { "type": "string" } });
    let number = json!({ "limit": { "type": "integer", "x-mcp-header": "Limit" } });
    passes(id, called(&text, &json!({ "region": "eu", "other": "x" }), &[("mcp-param-region", "eu")]));
    // Encoding a safe value is allowed.
    passes(id, called(&text, &json!({ "region": "eu" }), &[("mcp-param-region", "=?base64?ZXU=?=")]));
    passes(id, called(&text, &json!({ "region": null }), &[]));
    passes(id, called(&text, &json!({ "region": "" }), &[("mcp-param-region", "")]));
    passes(id, called(&number, &json!({ "limit": 42 }), &[("mcp-param-limit", "42.0")]));
    fails(id, called(&text, &json!({ "region": "eu" }), &[]), "mcp-param-region is absent");
    fails(id, called(&text, &json!({ "region": "eu" }), &[("mcp-param-region", "us")]), "the parameter is `eu`");
    fails(id, called(&text, &json!({ "region": " eu" }), &[("mcp-param-region", " eu")]), "the parameter is ` eu`");
    fails(id, called(&text, &json!({ "region": null }), &[("mcp-param-region", "null")]), "has no value");
    fails(id, called(&number, &json!({ "limit": 42 }), &[("mcp-param-limit", "43")]), "the parameter is `42`");
    not_applicable(id, called(&json!({}), &json!({}), &[]));
}

#[test]
fn tools_with_invalid_annotations_are_neither_listed_nor_called() {
    let id = "invalid-parameter-headers-rejected";
    let invalid = json!({ "region": { "type": "string", "x-mcp-header": "My Region" } });
    passes(id, listed(&invalid));
    fails(id, called(&invalid, &json!({}), &[]), "`query` was called");
    let reported = |name: &str| listed(&invalid).step(1, Outcome::Value(json!({ "tools": [{ "name": name }] })));
    passes(id, reported("other"));
    fails(id, reported("query"), "the client lists `query`");
    not_applicable(id, called(&json!({}), &json!({}), &[]));
}

#[test]
fn references_to_urls_are_not_fetched() {
    let id = "no-network-references";
    let reference = json!({ "a": { "$ref": "http://localhost:1/canary/schema.json" }, "b": { "$ref": "#/$defs/b" } });
    passes(id, listed(&reference));
    passes(id, listed(&reference).get("/other.json"));
    fails(id, listed(&reference).get("/canary/schema.json"), "/canary/schema.json");
    blocked(id, listed(&json!({ "b": { "$ref": "#/$defs/b" } })));
}
