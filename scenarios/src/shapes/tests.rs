//! The data are complete and consistent; faults are found, attributed and worded.

use serde_json::{Value, json};

use super::*;

const SERVER: Direction = Direction::ServerToClient;

fn faults(revision: Revision, message: &Value, method: &str) -> Vec<String> {
    let report = check(revision, SERVER, message, Some(method));
    report.faults.iter().map(|fault| format!("{}: {fault}", fault.definition)).collect()
}

fn result(result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "result": result })
}

#[test]
fn every_revision_has_its_methods() {
    for (revision, requests) in [(Revision::V2024_11_05, 15), (Revision::V2025_11_25, 20), (Revision::V2026_07_28, 10)]
    {
        assert_eq!(Shapes::in_revision(revision).requests().count(), requests, "{revision}");
    }
}

#[test]
fn a_fault_names_the_innermost_definition_the_place_and_the_value() {
    let tools = json!([
        { "name": 7, "inputSchema": { "type": "object" } },
        { "name": "a", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": "yes" } },
    ]);
    assert_eq!(
        faults(Revision::V2025_11_25, &result(json!({ "tools": tools })), "tools/list"),
        [
            "tool: `/result/tools/0/name` is 7, not a string",
            "tool-annotations: `/result/tools/1/annotations/readOnlyHint` is \"yes\", not a boolean",
        ]
    );
}

#[test]
fn a_missing_member_is_the_fault_of_the_object_that_lacks_it() {
    let found = faults(Revision::V2026_07_28, &result(json!({ "tools": [{}] })), "tools/list");
    assert_eq!(
        found,
        [
            "list-tools-result: `/result/cacheScope` is missing; expected \"private\" or \"public\"",
            "list-tools-result: `/result/resultType` is missing; expected a string",
            "tool: `/result/tools/0/inputSchema` is missing; expected an object",
            "tool: `/result/tools/0/name` is missing; expected a string",
            "list-tools-result: `/result/ttlMs` is missing; expected an integer of 0 or more",
        ]
    );
}

#[test]
fn content_of_an_unknown_kind_is_one_fault() {
    let found = faults(Revision::V2025_06_18, &result(json!({ "content": [{ "type": "video" }] })), "tools/call");
    assert_eq!(
        found,
        [
            "content-block: `/result/content/0/type` is \"video\", not \"text\", \"image\", \"audio\", \"resource_link\" or \"resource\""
        ]
    );
}

#[test]
fn contents_are_text_or_binary() {
    let contents = json!([{ "uri": "a:1" }, { "uri": "a:1", "text": "", "blob": "" }, { "uri": "a", "text": "" }]);
    assert_eq!(
        faults(Revision::V2025_06_18, &result(json!({ "contents": contents })), "resources/read"),
        [
            "resource-contents: `/result/contents/0/blob` is missing; expected `blob` or `text`",
            "resource-contents: `/result/contents/1/text` must not be present",
            "resource-contents: `/result/contents/2/uri` is \"a\", not a URI",
        ]
    );
}

#[test]
fn missing_parameters_are_the_fault_of_their_definition() {
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/progress" });
    let report = check(Revision::V2025_06_18, SERVER, &message, None);
    assert_eq!(report.faults[0].definition, "progress-params");
    assert_eq!(report.faults[0].to_string(), "`/params` is missing; expected an object");
    assert_eq!(report.counts["progress-params"], Counts { values: 1, faults: 1 });
}

#[test]
fn unknown_methods_and_members_are_accepted() {
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/x", "params": { "a": 1 }, "b": 2 });
    assert_eq!(check(Revision::V2025_06_18, SERVER, &message, None).faults, []);
    assert_eq!(faults(Revision::V2025_06_18, &result(json!({ "a": 1 })), "x/y"), [""; 0]);
    let found = faults(Revision::V2026_07_28, &result(json!({ "a": 1 })), "x/y");
    assert_eq!(found, ["result: `/result/resultType` is missing; expected a string"]);
}

#[test]
fn a_report_has_a_limited_number_of_faults_and_counts_all() {
    let tools: Vec<Value> = (0..1000).map(|_| json!({ "inputSchema": { "type": "object" } })).collect();
    let report = check(Revision::V2025_06_18, SERVER, &result(json!({ "tools": tools })), Some("tools/list"));
    assert_eq!(report.faults.len(), 5);
    assert_eq!(report.counts["tool"], Counts { values: 1000, faults: 1000 });
}

#[test]
fn pointers_escape_the_names_of_members() {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "_meta": 7 } });
    let found = check(Revision::V2025_06_18, SERVER, &message, None).faults;
    assert_eq!((found[0].definition, found[0].pointer.as_str()), ("request-meta", "/params/_meta"));
    let meta = json!({ "io.modelcontextprotocol/serverInfo": { "name": "s" } });
    let found = faults(Revision::V2026_07_28, &result(json!({ "resultType": "complete", "_meta": meta })), "x");
    assert_eq!(
        found,
        ["implementation: `/result/_meta/io.modelcontextprotocol~1serverInfo/version` is missing; expected a string"]
    );
}

#[test]
fn formats_accept_correct_strings_and_reject_others() {
    for (text, uri) in [("file:///a", true), ("memo:", true), ("a b:c", false), ("x:a b", false), ("/etc", false)] {
        assert_eq!(is_uri(text), uri, "{text}");
    }
    for (text, template) in [("a:{x}/{+y*}", true), ("a:{x", false), ("a:{}", false), ("a:{{x}}", false)] {
        assert_eq!(is_uri_template(text), template, "{text}");
    }
    for (text, base64) in
        [("aGk=", true), ("", true), ("aGk", false), ("a===", false), ("aG k", false), ("____", false)]
    {
        assert_eq!(is_base64(text), base64, "{text}");
    }
}

#[test]
fn every_error_of_the_notation_is_reported() {
    for text in ["", "array", "array(..x) of any", "integer(0)", "a |", "a b", "a since x", "(a"] {
        assert!(expression::clauses(text).is_err(), "{text}");
    }
    assert!(expression::case("text").is_err());
}
