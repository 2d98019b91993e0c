//! Checks of lists with pages.

use super::*;

pub(super) fn table() -> Vec<Row> {
    let first = || page(stdio(), json!({}), &["a"], json!("2"));
    let invalid = json!({ "cursor": "workbench-no-such-cursor" });
    vec![
        (
            "pages-come-to-an-end",
            page(first(), json!({ "cursor": "2" }), &["b"], json!("2")),
            page(first(), json!({ "cursor": "2" }), &["b"], Value::Null),
        ),
        (
            "pages-do-not-overlap",
            page(first(), json!({ "cursor": "2" }), &["a"], Value::Null),
            page(first(), json!({ "cursor": "2" }), &["b"], Value::Null),
        ),
        (
            "invalid-cursor-is-refused",
            page(first(), invalid.clone(), &["a"], Value::Null),
            first().error("tools/list", invalid, -32602),
        ),
    ]
}
