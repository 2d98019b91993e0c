//! The notebook of `xtask/interop`, which is the same on every SDK.

use serde_json::json;

use super::{Deed, Step};
use crate::interop::{
    expect::Expect::{Among, Done, Exactly, Holding},
    sdk::Era,
    servers::{Kind, Subject},
};

/// Its tools at the beginning.
const TOOLS: [&str; 5] = ["add", "fail", "count", "greet", "grow"];

pub(super) fn steps(subject: Subject) -> Vec<Step> {
    let letter = json!({ "type": "ref/prompt", "name": "letter" });
    let of_a_day = json!({ "type": "ref/resource", "uri": "note://day/{day}" });
    let grown = TOOLS.into_iter().chain(["grown"]).collect();
    // In its legacy era the Python SDK does not declare that tools change, and so announces nothing.
    let announces = (subject.kind, subject.era) != (Kind::Python, Era::Legacy);
    let mut steps = vec![
        Step::new("list-tools", Deed::Tools, Exactly(json!(TOOLS))),
        Step::new("call", Deed::Structured("add", json!({ "a": 2, "b": 40.5 }), "/sum"), Exactly(json!(42.5))),
        Step::new("call-failing", Deed::Refused("fail", json!({ "city": "Oslo" })), Holding("known of Oslo".into())),
        Step::new("progress", Deed::Progress("count", json!({ "to": 3 })), Exactly(json!([1, 2, 3]))),
        Step::new("elicitation", Deed::Call("greet", json!({})), Exactly("Hello, Ada!".into())),
        Step::new("list-resources", Deed::Resources, Exactly(json!(["note://today"]))),
        Step::new("read-resource", Deed::Read("note://today"), Exactly("Nothing on this day".into())),
        Step::new("list-templates", Deed::Templates, Exactly(json!(["note://day/{day}"]))),
        Step::new("read-template", Deed::Read("note://day/monday"), Exactly("Nothing on monday".into())),
        Step::new("complete-template", Deed::Complete(of_a_day, "day", "t"), Exactly(json!(["tuesday"]))),
        Step::new("list-prompts", Deed::Prompts, Exactly(json!(["letter"]))),
        Step::new(
            "get-prompt",
            Deed::Prompt("letter", json!({ "to": "Eve" })),
            Exactly("Write a letter to Eve".into()),
        ),
        Step::new("complete-prompt", Deed::Complete(letter, "to", "ad"), Exactly(json!(["ada", "adam"]))),
        Step::new("grow", Deed::Call("grow", json!({})), Done),
    ];
    if announces {
        steps.push(Step::new("list-changed", Deed::Tools, Among(grown)).by_and_by());
    }
    steps.push(Step::new("call-grown", Deed::Call("grown", json!({})), Exactly("I am new".into())));
    steps
}
