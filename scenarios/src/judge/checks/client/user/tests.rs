use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, error, fails, initialize, modern, not_applicable, passes, request, result,
    },
    model::Revision,
};

/// A client with these capabilities gets this request.
fn asked(story: EvidenceBuilder, declared: Value, method: &str, params: Value) -> EvidenceBuilder {
    let mut hello = initialize(0, "2025-11-25");
    hello["params"]["capabilities"] = declared;
    let story = story.client(hello).server(result(0, json!({"protocolVersion": "2025-11-25", "capabilities": {}})));
    story.server(request("q", method, params))
}

/// The same, and the client answers.
fn answered(declared: Value, method: &str, params: Value, answer: Value) -> EvidenceBuilder {
    asked(EvidenceBuilder::stdio(Revision::V2025_11_25), declared, method, params).client(answer)
}

fn form(answer: Value) -> EvidenceBuilder {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let params = json!({"message": "?", "requestedSchema": schema});
    answered(json!({"elicitation": {}}), "elicitation/create", params, result("q", answer))
}

#[test]
fn features_are_declared_again() {
    let id = "features-are-declared-again";
    let greeting = |revision: &str, declared: &Value| {
        let mut hello = initialize(0, revision);
        hello["params"]["capabilities"] = declared.clone();
        hello
    };
    let twice = |revision: &str, declared: Value| {
        let first = greeting("2025-11-25", &json!({"roots": {"listChanged": true}, "elicitation": {}}));
        EvidenceBuilder::stdio(Revision::V2025_11_25).client(first).on(2).client(greeting(revision, &declared))
    };
    passes(id, twice("2025-11-25", json!({"roots": {}, "elicitation": {}, "sampling": {}})));
    fails(id, twice("2025-11-25", json!({"elicitation": {}})), "`roots` is declared in the first");
    not_applicable(id, twice("2024-11-05", json!({"roots": {}})));
}

#[test]
fn features_are_declared() {
    let id = "features-are-declared";
    let sampled = result("q", json!({"role": "assistant"}));
    passes(id, answered(json!({"sampling": {}}), "sampling/createMessage", json!({}), sampled.clone()));
    fails(id, answered(json!({}), "sampling/createMessage", json!({}), sampled), "did not declare `sampling`");
    not_applicable(id, answered(json!({}), "sampling/createMessage", json!({}), error("q", -32601)));
    let declined = result("q", json!({"action": "decline"}));
    not_applicable(id, answered(json!({}), "elicitation/create", json!({}), declined));
}

#[test]
fn modes_are_declared() {
    let id = "undeclared-mode-rejected";
    let url = |declared, answer| answered(declared, "elicitation/create", json!({"mode": "url"}), answer);
    passes(id, url(json!({"elicitation": {"form": {}}}), error("q", -32602)));
    fails(id, url(json!({"elicitation": {}}), error("q", -32601)), "-32601");
    fails(id, url(json!({"elicitation": {}}), result("q", json!({"action": "decline"}))), "decline");
    not_applicable(id, url(json!({"elicitation": {"url": {}}}), result("q", json!({"action": "accept"}))));
    not_applicable(id, url(json!({}), error("q", -32601)));
}

#[test]
fn tools_in_sampling_are_declared() {
    let id = "sampling-tools-rejected";
    let with = |declared, answer| answered(declared, "sampling/createMessage", json!({"tools": []}), answer);
    passes(id, with(json!({"sampling": {}}), error("q", -32602)));
    fails(id, with(json!({"sampling": {}}), result("q", json!({}))), "with tools");
    not_applicable(id, with(json!({"sampling": {"tools": {}}}), result("q", json!({}))));
}

#[test]
fn mixed_tool_results_are_rejected() {
    let id = "mixed-tool-results-rejected";
    let with = |content: Value, answer| {
        let messages = json!([{"role": "user", "content": content}]);
        answered(json!({"sampling": {"tools": {}}}), "sampling/createMessage", json!({"messages": messages}), answer)
    };
    let (text, found) = (json!({"type": "text", "text": "x"}), json!({"type": "tool_result", "toolUseId": "a"}));
    passes(id, with(json!([text, found]), error("q", -32602)));
    fails(id, with(json!([found, text]), result("q", json!({}))), "mixed content");
    not_applicable(id, with(json!([found, found]), result("q", json!({}))));
    not_applicable(id, with(json!([text, text]), result("q", json!({}))));
    not_applicable(id, with(text, result("q", json!({}))));
}

#[test]
fn content_belongs_to_accepted_forms() {
    let id = "content-only-if-accepted";
    passes(id, form(json!({"action": "accept", "content": {"n": 1}})));
    passes(id, form(json!({"action": "decline", "content": {}})));
    fails(id, form(json!({"action": "decline", "content": {"n": 1}})), "`decline`");
    let url = |answer: Value| {
        let declared = json!({"elicitation": {"url": {}}});
        answered(declared, "elicitation/create", json!({"mode": "url"}), result("q", answer))
    };
    fails(id, url(json!({"action": "accept", "content": {"n": 1}})), "URL");
    fails(id, url(json!({"action": "accept", "content": {}})), "`{}`");
    passes(id, url(json!({"action": "accept"})));
    passes(id, url(json!({"action": "decline", "content": {}})));
}

#[test]
fn content_matches_the_schema() {
    let id = "content-matches-form";
    passes(id, form(json!({"action": "accept", "content": {"n": 1}})));
    fails(id, form(json!({"action": "accept", "content": {"n": "1"}})), "violates the schema");
    fails(id, form(json!({"action": "accept"})), "missing");
    not_applicable(id, form(json!({"action": "cancel"})));
}

#[test]
fn the_same_rules_apply_to_input() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let asked = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": schema}});
    let required = json!({"resultType": "input_required", "inputRequests": {"one": asked}});
    let mut retry = modern(2, "tools/call", json!({"name": "x"}));
    retry["params"]["inputResponses"] = json!({"one": {"action": "accept", "content": {"n": "1"}}});
    let story = || {
        let called =
            EvidenceBuilder::stdio(Revision::V2026_07_28).client(modern(1, "tools/call", json!({"name": "x"})));
        called.server(result(1, required.clone())).client(retry.clone())
    };
    fails("content-matches-form", story(), "violates the schema");
    fails("features-are-declared", story(), "did not declare `elicitation`");
}

#[test]
fn roots_are_files() {
    let rooted = |uri: &str| {
        let roots = json!({"roots": [{"uri": uri}]});
        answered(json!({"roots": {}}), "roots/list", json!({}), result("q", roots))
    };
    passes("roots-are-files", rooted("file:///a"));
    fails("roots-are-files", rooted("https://example.com"), "https://example.com");
}

#[test]
fn urls_are_opened_with_consent() {
    let id = "urls-need-consent";
    let asked = || {
        let params = json!({"mode": "url", "url": "http://127.0.0.1:1/log-in?a=b"});
        let story = EvidenceBuilder::http(Revision::V2025_11_25);
        asked(story, json!({"elicitation": {"url": {}}}), "elicitation/create", params)
    };
    let answer = |action: &str| result("q", json!({ "action": action }));
    passes(id, asked().client(answer("decline")));
    passes(id, asked().get("/mcp").client(answer("decline")));
    passes(id, asked().get("/log-in").client(answer("accept")));
    fails(id, asked().get("/log-in").client(answer("decline")), "without consent");
    fails(id, asked().client(answer("cancel")).get("/log-in"), "without consent");
    fails(id, asked().get("/favicon.ico").client(answer("decline")), "`/favicon.ico`");
    not_applicable(id, form(json!({"action": "decline"})));
}

#[test]
fn declared_modes_of_elicitation_exist() {
    let id = "elicitation-has-a-mode";
    let declares = |elicitation: Value| {
        let answer = result("q", json!({"action": "decline"}));
        answered(json!({"elicitation": elicitation}), "elicitation/create", json!({}), answer)
    };
    for sound in [json!({}), json!({"form": {}}), json!({"url": {}, "voice": {}}), json!({"applyDefaults": true})] {
        passes(id, declares(sound));
    }
    fails(id, declares(json!({"voice": {}})), "voice");
    not_applicable(id, answered(json!({}), "elicitation/create", json!({}), error("q", -32601)));
}

#[test]
fn a_client_without_roots_knows_no_such_method() {
    let id = "undeclared-roots-code";
    let asked = |declared, answer| answered(declared, "roots/list", json!({}), answer);
    passes(id, asked(json!({}), error("q", -32601)));
    fails(id, asked(json!({}), error("q", -32603)), "-32603");
    not_applicable(id, asked(json!({"roots": {}}), error("q", -32603)));
}
