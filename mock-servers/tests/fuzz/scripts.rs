//! Scripts that the targets play.

use mcp_workbench_mock_servers::Script;
use rand::Rng;
use serde_json::{Value, json};

use crate::{messages::REVISIONS, mutation::pick};

/// A script without rules: every answer is the right one.
pub(crate) fn plain(random: &mut impl Rng) -> Script {
    let dual = json!({"revisions": ["2025-11-25", "2026-07-28"]});
    let single = json!({"revisions": [pick(random, &REVISIONS)]});
    let mut script = if rand_bool(random) { dual } else { single };
    script["tools"] =
        json!([{"name": "echo"}, {"name": "ask", "reply": {"text": "{{arguments.text}}"}}, {"name": "slow"}]);
    script["generate"] = json!({"tools": 5});
    script["page_size"] = json!(2);
    script["capabilities"] = json!({
        "tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {}, "completions": {}, "logging": {},
    });
    parse(script)
}

/// A script in which anything may happen.
pub(crate) fn wild(random: &mut impl Rng) -> Script {
    let mut script = serde_json::to_value(plain(random)).unwrap();
    script["faults"] = json!([
        {"fault": "unknown-fields", "probability": 0.1},
        {"fault": "float-id", "probability": 0.05, "direction": "to-server"},
        {"fault": {"latency": {"from": "5ms", "to": "10ms"}}, "probability": 0.1},
    ]);
    script["on"] = json!([
        {"when": {"tool": "ask"}, "do": [
            {"request": {"method": "elicitation/create", "params": {"message": "{{arguments.text}}"}}},
            {"reply": {"text": "{{response.content.name}}"}},
        ]},
        {"when": {"tool": "slow"}, "do": [
            {"progress": {"progress": 1, "times": 3, "every": "1s"}}, {"fault": {"delay": "1s"}},
        ]},
        {"when": {"nth": 3}, "do": [{"notify": {"method": "notifications/message", "params": {"data": "{{params}}"}}}]},
        {"when": {"nth": 4}, "do": [{"fault": "duplicate"}]},
        {"when": {"nth": 5}, "do": [{"fault": {"garbage": "{{arguments.text}}"}}]},
        {"when": {"nth": 6}, "do": [{"fault": {"late-reply": "1s"}}, {"reply": {"patch": {"a": "{{nth}}"}}}]},
        {"when": {"nth": 7}, "do": [{"change": {"remove": ["echo"], "announce": true}}, {"fault": "wrong-id"}]},
        {"when": {"nth": 8}, "do": [{"fault": "silence"}]},
        {"when": {"nth": 9}, "do": [{"fault": {"truncate": 9}}]},
        {"when": {"nth": 10}, "do": [{"error": {"code": -32000, "message": "{{method}}", "data": "{{params}}"}}]},
        {"when": {"nth": 11}, "do": [{"fault": "close"}]},
    ]);
    parse(script)
}

fn rand_bool(random: &mut impl Rng) -> bool {
    random.next_u32().is_multiple_of(2)
}

fn parse(script: Value) -> Script {
    serde_json::from_value(script).expect("the script is well-formed")
}
