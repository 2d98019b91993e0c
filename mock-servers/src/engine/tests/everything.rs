//! The profile `everything`: what it answers in each revision, and that all of it is what the revision allows.

use std::{fs, path::Path};

use super::*;

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The official schema of a revision; none where the specification is not at hand.
struct Official {
    revision: &'static str,
    schema: Value,
    definitions: &'static str,
}

impl Official {
    fn load(revision: &'static str) -> Option<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec");
        let folder = if here.is_dir() { here } else { std::env::var_os("MCP_SPEC")?.into() };
        let text = fs::read_to_string(folder.join(format!("{revision}.schema.json"))).ok()?;
        let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
        let definitions = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
        Some(Self { revision, schema, definitions })
    }

    fn judge(&self, definition: &str, value: &Value) {
        let schema = json!({
            "$schema": self.schema["$schema"],
            "$ref": format!("#/{}/{definition}", self.definitions),
            self.definitions: self.schema[self.definitions],
        });
        let validator = jsonschema::validator_for(&schema).expect("the official schema is one");
        let flaws: Vec<_> = validator
            .iter_errors(value)
            .map(|response_error| format!("{}: {response_error}", response_error.instance_path()))
            .collect();
        assert_eq!(flaws, [""; 0], "{definition} in {}: {value:#}", self.revision);
    }
}

/// The answer to a request that may take time and ask questions, and what was said before it.
fn settled(bench: &mut Bench, revision: &str, method: &str, params: &Value) -> (Value, Vec<Value>) {
    let (dispatch, mut steps) = bench.plain(revision, method, params.clone());
    let mut said = Vec::new();
    for _ in 0..50 {
        said.extend(sent(&steps));
        if let Some(answer) = final_answer(&steps) {
            return (answer, said);
        }
        let input_requests = sent(&steps).into_iter().filter(|message| message.get("id").is_some());
        let replies: Vec<Value> = input_requests
            .map(|input_request| json!({"jsonrpc": "2.0", "id": input_request["id"], "result": reply(&input_request)}))
            .collect();
        steps = match replies.as_slice() {
            [] => bench.wake(dispatch),
            replies => replies.iter().flat_map(|reply| bench.send(reply).1).collect(),
        };
    }
    panic!("{method} {params} is never answered in {revision}");
}

/// What a good client answers to a question.
fn reply(input_request: &Value) -> Value {
    match input_request["method"].as_str() {
        Some("roots/list") => json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}),
        Some("sampling/createMessage") => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "sampled"}})
        }
        _ => json!({"action": "accept", "content": {"username": "ada", "email": "a@b.c"}}),
    }
}

fn definition(method: &str) -> &'static str {
    match method {
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "server/discover" => "DiscoverResult",
        _ => "InitializeResult",
    }
}

/// Arguments that every tool and prompt of the profile can do with.
fn arguments(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let value = |(name, property): (String, Value)| {
        let value = match property["type"].as_str() {
            Some("integer" | "number") => json!(1),
            _ if property.get("enum").is_some() => property["enum"][0].clone(),
            Some("string") => json!("x"),
            _ => json!({}),
        };
        (name, value)
    };
    properties.into_iter().map(value).collect()
}

#[test]
fn every_result_is_what_its_revision_allows() {
    for revision in REVISIONS {
        let Some(official) = Official::load(revision) else {
            eprintln!("skipped: the official schemas are not at hand (`../shared/spec`)");
            return;
        };
        let mut bench = Bench::with_profile("everything", revision);
        let opening = if revision == MODERN { "server/discover" } else { "initialize" };
        let (opened, _) = settled(&mut bench, revision, opening, &json!({"protocolVersion": revision}));
        official.judge(definition(opening), &opened["result"]);
        let mut requests = vec![
            (
                "completion/complete",
                json!({
                    "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                    "argument": {"name": "arg1", "value": "par"},
                }),
            ),
            ("resources/read", json!({"uri": "test://template/7/data"})),
        ];
        for (method, member) in [
            ("tools/list", "tools"),
            ("resources/list", "resources"),
            ("prompts/list", "prompts"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let (listed, _) = settled(&mut bench, revision, method, &json!({}));
            official.judge(definition(method), &listed["result"]);
            for item in listed["result"][member].as_array().expect("a list") {
                match member {
                    "tools" => requests.push(("tools/call", json!({
                        "name": item["name"], "arguments": arguments(&item["inputSchema"]), "_meta": {"progressToken": "p"},
                    }))),
                    "resources" => requests.push(("resources/read", json!({"uri": item["uri"]}))),
                    "prompts" => {
                        let names = item["arguments"].as_array().into_iter().flatten();
                        let values: Value = names.map(|one| (one["name"].as_str().unwrap().to_owned(), json!("x:/y"))).collect();
                        requests.push(("prompts/get", json!({"name": item["name"], "arguments": values})));
                    }
                    _ => {}
                }
            }
        }
        let mut judged = 0;
        for (method, params) in &requests {
            let (answer, said) = settled(&mut bench, revision, method, params);
            for message in said {
                let definition = if message.get("id").is_some() { "ServerRequest" } else { "ServerNotification" };
                // 2026-07-28 asks in results, and has no requests of the server's own.
                if definition == "ServerNotification" || revision != MODERN {
                    official.judge(definition, &message);
                }
            }
            if let Some(result) = answer.get("result") {
                match result["resultType"].as_str() {
                    Some("input_required") => official.judge("InputRequiredResult", result),
                    _ => official.judge(definition(method), result),
                }
                judged += 1;
            }
        }
        assert!(judged > 40, "{judged} of {} requests were answered with a result in {revision}", requests.len());
    }
}

#[test]
fn the_fixtures_answer_in_every_revision() {
    for revision in REVISIONS {
        let mut bench = Bench::with_profile("everything", revision);
        let mut call = |tool: &str, arguments: Value| {
            let params = json!({"name": tool, "arguments": arguments});
            settled(&mut bench, revision, "tools/call", &params).0["result"].clone()
        };
        for (tool, arguments, text) in [
            ("test_simple_text", json!({}), "This is a simple text response for testing."),
            ("test_echo", json!({"message": "hi"}), "hi"),
            ("greet", json!({"name": "Ada"}), "Hello, Ada!"),
            (
                "json_schema_2020_12_tool",
                json!({"phone": "1"}),
                "JSON Schema 2020-12 tool called with: {\"phone\":\"1\"}",
            ),
            ("test_custom_header", json!({"region": "eu"}), "Region: eu"),
            ("test_tool_with_logging", json!({}), "Tool with logging executed successfully"),
        ] {
            assert_eq!(call(tool, arguments)["content"][0]["text"], text, "{tool} in {revision}");
        }
        let error = call("test_error_handling", json!({}));
        assert_eq!(error["isError"], true);
        let mixed = call("test_multiple_content_types", json!({}));
        let kinds: Vec<_> = mixed["content"].as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
        assert_eq!(kinds, ["text", "image", "resource"]);
        assert_eq!(mixed["content"][2]["resource"]["text"], r#"{"test":"data","value":123}"#);
        let structured = call("test_structured_content", json!({"city": "Oslo"}));
        let expected = json!({"city": "Oslo", "temperature": 21.5, "conditions": "clear"});
        assert_eq!(structured.get("structuredContent"), (revision >= "2025-06-18").then_some(&expected), "{revision}");
        let audio = call("test_audio_content", json!({}))["content"][0]["type"].clone();
        assert_eq!(audio, if revision >= "2025-03-26" { "audio" } else { "text" });
        let link = call("test_resource_link", json!({}))["content"][0]["type"].clone();
        assert_eq!(link, if revision >= "2025-06-18" { "resource_link" } else { "text" });
    }
}

#[test]
fn the_first_tool_and_the_first_resource_are_the_plain_ones() {
    for revision in REVISIONS {
        let mut bench = Bench::with_profile("everything", revision);
        let tools = settled(&mut bench, revision, "tools/list", &json!({})).0;
        assert_eq!(tools["result"]["tools"][0]["name"], "test_simple_text");
        let headers = tools["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|tool| tool.to_string().contains("x-mcp-header"));
        assert_eq!(headers.map(|tool| tool["name"].clone()).collect::<Vec<_>>(), ["test_custom_header"]);
        let resources = settled(&mut bench, revision, "resources/list", &json!({})).0;
        assert_eq!(resources["result"]["resources"][0]["uri"], "test://static-text");
    }
}

#[test]
fn asks_the_client_in_the_handshake_revisions() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut bench = Bench::with_profile("everything", revision);
        for (tool, arguments, text) in [
            ("test_sampling", json!({"prompt": "why?"}), "LLM response: sampled"),
            ("test_list_roots", json!({}), "Found 2 root(s)"),
            (
                "test_elicitation",
                json!({"message": "who?"}),
                "User response: action=accept, content={\"username\":\"ada\",\"email\":\"a@b.c\"}",
            ),
        ] {
            let params = json!({"name": tool, "arguments": arguments});
            let (answer, said) = settled(&mut bench, revision, "tools/call", &params);
            assert_eq!(answer["result"]["content"][0]["text"], text, "{tool}");
            assert_eq!(said.len(), 1);
        }
    }
    // 2024-11-05 has no elicitation, whatever the client declares.
    let mut bench = Bench::with_profile("everything", "2024-11-05");
    let params = json!({"name": "test_elicitation", "arguments": {"message": "who?"}});
    let (answer, said) = settled(&mut bench, "2024-11-05", "tools/call", &params);
    assert_eq!((&answer["result"]["isError"], said.len()), (&json!(true), 0));
}

#[test]
fn a_large_server_pages_through_everything_it_makes_up() {
    let mut bench = Bench::with_profile("large", LEGACY);
    for (method, member, total) in [
        ("tools/list", "tools", 10_000),
        ("prompts/list", "prompts", 1_000),
        ("resources/list", "resources", 10_000),
        ("resources/templates/list", "resourceTemplates", 1_000),
    ] {
        let (mut seen, mut params) = (0, json!({}));
        loop {
            let page = bench.result(method, params);
            seen += page[member].as_array().unwrap().len();
            match page.get("nextCursor") {
                Some(next) => params = json!({"cursor": next}),
                None => break,
            }
        }
        assert_eq!(seen, total, "{method}");
    }
    assert_eq!(bench.call("tool-09999"), "tool-09999: {\"text\":\"hi\",\"n\":3}");
    let read = bench.result("resources/read", json!({"uri": "generated://template/00999/x"}));
    assert_eq!(read["contents"][0]["text"], "generated://template/00999/x");
    assert_eq!(bench.error("resources/read", json!({"uri": "generated://template/01000/x"})), -32002);
    assert_eq!(
        bench.result("prompts/get", json!({"name": "prompt-00007"}))["messages"][0]["content"]["text"],
        "prompt-00007"
    );
}
