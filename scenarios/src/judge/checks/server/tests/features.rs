//! Checks of tools, resources, prompts and their utilities.

use super::*;

pub(super) fn table() -> Vec<Row> {
    let tool = |schema: Value| tools(json!([{ "name": "a", "inputSchema": schema }]));
    let call = json!({ "name": "workbench-no-such-tool", "arguments": {} });
    let required = || {
        let arguments = json!([{ "name": "a", "required": true }]);
        listing("prompts/list", "prompts", json!([{ "name": "p", "arguments": arguments }]))
    };
    let gone = json!({ "uri": "workbench-test://no-such-resource" });
    let no_prompt = json!({ "name": "workbench-no-such-prompt" });
    let no_level = json!({ "level": "workbench-no-such-level" });
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "workbench-no-such-prompt" } });
    let twice = |second: &[&str]| {
        let first = page(modern(), json!({}), &["a", "b"], Value::Null);
        page(first, json!({}), second, Value::Null)
    };
    vec![
        (
            "tool-schemas-are-valid",
            tool(json!({ "type": "object", "required": "a" })),
            tool(json!({ "type": "object", "required": ["a"] })),
        ),
        (
            "tool-patterns-are-regular-expressions",
            tool(json!({ "type": "object", "properties": { "a": { "anyOf": [{ "pattern": "^[a-z" }] } } })),
            tool(
                json!({ "type": "object", "properties": { "pattern": { "pattern": "^(?<year>[0-9]{4})(?<!0000)-\\/\\p{L}$" } }, "patternProperties": { "^x-\\-": {} } }),
            ),
        ),
        (
            "tool-names-are-unique",
            tools(json!([{ "name": "a" }, { "name": "a" }])),
            tools(json!([{ "name": "a" }, { "name": "A" }])),
        ),
        ("tool-names-are-plain", tools(json!([{ "name": "a b" }])), tools(json!([{ "name": "a_B-3.c" }]))),
        ("tools-in-the-same-order", twice(&["b", "a"]), twice(&["a", "b"])),
        (
            "unknown-tool-is-refused",
            stdio().result("tools/call", call.clone(), json!({ "content": [] })),
            stdio().result("tools/call", call.clone(), json!({ "content": [], "isError": true })),
        ),
        (
            "unknown-tool-is-a-protocol-error",
            stdio().error("tools/call", call.clone(), -32601),
            stdio().error("tools/call", call, -32602),
        ),
        (
            "unknown-resource-code",
            stdio().error("resources/read", gone.clone(), -32603),
            stdio().error("resources/read", gone.clone(), -32002),
        ),
        (
            "unknown-resource-is-refused",
            modern().result("resources/read", gone.clone(), json!({ "contents": [] })),
            modern().error("resources/read", gone, -32602),
        ),
        (
            "unknown-prompt-code",
            stdio().error("prompts/get", no_prompt.clone(), -32603),
            stdio().error("prompts/get", no_prompt, -32602),
        ),
        (
            "missing-prompt-argument-code",
            required().result("prompts/get", json!({ "name": "p" }), json!({ "messages": [] })),
            required().error("prompts/get", json!({ "name": "p" }), -32602),
        ),
        (
            "invalid-log-level-code",
            stdio().result("logging/setLevel", no_level.clone(), json!({})),
            stdio().error("logging/setLevel", no_level, -32602),
        ),
        (
            "completion-of-unknown-prompt-code",
            stdio().result("completion/complete", complete.clone(), json!({})),
            stdio().error("completion/complete", complete, -32602),
        ),
    ]
}

#[test]
fn every_name_that_is_no_level_is_rejected() {
    let set = |level: &str| json!({ "level": level });
    let rejected = || stdio().error("logging/setLevel", set("workbench-no-such-level"), -32602);
    let id = "invalid-log-level-code";
    assert!(fails(id, &rejected().result("logging/setLevel", set("WARNING"), json!({}))));
    assert!(!fails(id, &rejected().result("logging/setLevel", set("warning"), json!({}))));
}

#[test]
fn a_tool_with_a_name_that_every_object_has_is_refused_too() {
    let call = |name: &str| json!({ "name": name, "arguments": {} });
    let talk = || stdio().error("tools/call", call("workbench-no-such-tool"), -32602);
    let mut request = super::call("tools/call");
    request["params"] = call("constructor");
    assert!(fails("unknown-tool-is-refused", &talk().ask(request)));
    assert!(!fails("unknown-tool-is-refused", &talk().error("tools/call", call("constructor"), -32602)));
}

#[test]
fn names_that_every_object_has_are_unknown_tools_like_others() {
    let id = "unknown-tool-is-a-protocol-error";
    let call = |name: &str| json!({ "name": name, "arguments": {} });
    let with = |code: i64| {
        let usual = stdio().error("tools/call", call("workbench-no-such-tool"), -32602);
        usual.error("tools/call", call("constructor"), code)
    };
    assert!(fails(id, &with(-32603)));
    assert!(!fails(id, &with(-32602)));
}
