//! Faults of the bytes of messages. `seed.rs` tests which of them depend on the seed.

use serde_json::{Value, json};

use super::{
    process,
    wire::{SEED, answer, fault, persistent, plain, talk},
};

const MARK: &[u8] = &[0xef, 0xbb, 0xbf];

#[tokio::test]
async fn a_body_starts_with_the_byte_order_mark() {
    let body = answer(fault("byte-order-mark")).await.body();
    assert_eq!(body, [MARK, &plain().await.body()].concat());
}

#[test]
fn a_line_starts_with_the_byte_order_mark() {
    let line = process::answer(fault("byte-order-mark"));
    assert_eq!(line, [MARK, &process::answer("default")].concat());
}

#[tokio::test]
async fn a_string_contains_bytes_that_are_not_utf8() {
    for (sequence, bytes) in [
        ("lone-continuation", [0x80].as_slice()),
        ("overlong", &[0xc0, 0xaf]),
        ("surrogate", &[0xed, 0xa0, 0x80]),
        ("cut-short", &[0xe2, 0x82]),
        ("latin1", &[0xe9]),
    ] {
        let body = answer(fault(json!({"invalid-utf8": {"sequence": sequence}}))).await.body();
        assert!(std::str::from_utf8(&body).is_err());
        let at = body.windows(bytes.len()).position(|window| window == bytes).expect(sequence);
        let without = [&body[..at], &body[at + bytes.len()..]].concat();
        assert_eq!(without, plain().await.body());
    }
}

#[tokio::test]
async fn no_malformation_can_be_parsed() {
    let plain = plain().await.body();
    for with in
        ["missing-brace", "extra-brace", "trailing-comma", "single-quotes", "unquoted-name", "not-a-number", "comment"]
    {
        let body = answer(fault(json!({"malformed-json": {"with": with}}))).await.body();
        assert!(serde_json::from_slice::<Value>(&body).is_err(), "{with}");
        assert_ne!(body, plain);
    }
}

#[tokio::test]
async fn the_server_cannot_parse_the_message() {
    let script = persistent(json!({"fault": {"malformed-json": {}}, "direction": "to-server"}));
    let heard = talk(&script, SEED).await;
    assert_eq!((heard.status(), &heard.json()["error"]["code"]), (400, &json!(-32700)));
}

#[tokio::test]
async fn arrays_have_the_requested_depth() {
    let body = answer(fault(json!({"deep-nesting": 5000}))).await.body();
    let deepest = |bytes: &[u8]| {
        bytes.iter().fold((0_i64, 0), |(depth, most), byte| match byte {
            b'[' => (depth + 1, most.max(depth + 1)),
            b']' => (depth - 1, most),
            _ => (depth, most),
        })
    };
    assert_eq!(deepest(&body), (0, 5000));
    assert!(deepest(&plain().await.body()).1 < 5);
    assert!(serde_json::from_slice::<Value>(&body).is_err(), "deeper than serde_json reads");
}

#[test]
fn lines_change_over_stdio_too() {
    let answered = |sample: Value| process::answer(fault(sample));
    assert!(String::from_utf8(answered(json!({"invalid-utf8": {}}))).is_err());
    assert!(serde_json::from_slice::<Value>(&answered(json!({"malformed-json": {}}))).is_err());
    let nested: Value = serde_json::from_slice(&answered(json!({"deep-nesting": 3}))).unwrap();
    assert_eq!(nested["result"]["_meta"]["nested"], json!([[[]]]));
}

#[test]
fn a_message_has_several_lines() {
    let (pretty, plain) = (process::answer(fault("pretty-print")), process::answer("default"));
    assert!(pretty.starts_with(b"{\n  \"jsonrpc\""));
    let read = |line: &[u8]| serde_json::from_slice::<Value>(line).unwrap();
    assert_eq!(read(&pretty), read(&plain));
}
