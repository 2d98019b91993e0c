use serde_json::json;

use super::{
    process,
    wire::{answer, fault, is_drawn, plain},
};

#[tokio::test]
async fn a_string_holds_bytes_that_are_no_utf8() {
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
    is_drawn(fault(json!({"invalid-utf8": {}}))).await;
}

#[test]
fn over_stdio_too() {
    assert!(String::from_utf8(process::answer(fault(json!({"invalid-utf8": {}})))).is_err());
}
