//! The notebook server of `devtools/interop`, which is the same on every SDK.

use client::Era;
use serde_json::json;

use super::{ClientAction, Step};
use crate::interop::{
    expect::Expect::{Contains, Done, Exactly, Includes},
    servers::{ServerVariant, TestServer},
};

/// Its initial tools.
const TOOLS: [&str; 5] = ["add", "fail", "count", "greet", "grow"];

pub(super) fn steps(variant: ServerVariant) -> Vec<Step> {
    let letter = json!({ "type": "ref/prompt", "name": "letter" });
    let day_template = json!({ "type": "ref/resource", "uri": "note://day/{day}" });
    let grown = TOOLS.into_iter().chain(["grown"]).collect();
    // In the legacy era the Python SDK does not declare `listChanged`, and sends no notification.
    let notifies = (variant.server, variant.era) != (TestServer::Python, Era::Legacy);
    let mut steps = vec![
        Step::new("list-tools", ClientAction::Tools, Exactly(json!(TOOLS))),
        Step::new("call", ClientAction::Structured("add", json!({ "a": 2, "b": 40.5 }), "/sum"), Exactly(json!(42.5))),
        Step::new(
            "call-failing",
            ClientAction::FailingCall("fail", json!({ "city": "Oslo" })),
            Contains("known of Oslo".into()),
        ),
        Step::new("progress", ClientAction::Progress("count", json!({ "to": 3 })), Exactly(json!([1, 2, 3]))),
        Step::new("elicitation", ClientAction::Call("greet", json!({})), Exactly("Hello, Ada!".into())),
        Step::new("list-resources", ClientAction::Resources, Exactly(json!(["note://today"]))),
        Step::new("read-resource", ClientAction::Read("note://today"), Exactly("Nothing on this day".into())),
        Step::new("list-templates", ClientAction::Templates, Exactly(json!(["note://day/{day}"]))),
        Step::new("read-template", ClientAction::Read("note://day/monday"), Exactly("Nothing on monday".into())),
        Step::new("complete-template", ClientAction::Complete(day_template, "day", "t"), Exactly(json!(["tuesday"]))),
        Step::new("list-prompts", ClientAction::Prompts, Exactly(json!(["letter"]))),
        Step::new(
            "get-prompt",
            ClientAction::Prompt("letter", json!({ "to": "Eve" })),
            Exactly("Write a letter to Eve".into()),
        ),
        Step::new("complete-prompt", ClientAction::Complete(letter, "to", "ad"), Exactly(json!(["ada", "adam"]))),
        Step::new("grow", ClientAction::Call("grow", json!({})), Done),
    ];
    if notifies {
        steps.push(Step::new("list-changed", ClientAction::Tools, Includes(grown)).eventually());
    }
    steps.push(Step::new("call-grown", ClientAction::Call("grown", json!({})), Exactly("I am new".into())));
    steps
}
