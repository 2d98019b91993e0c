use serde_json::json;

use super::{
    process,
    wire::{answer, fault, plain, repeats},
};

#[tokio::test]
async fn arrays_are_as_deep_as_asked() {
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
    assert!(serde_json::from_slice::<serde_json::Value>(&body).is_err(), "deeper than serde_json reads");
    repeats(fault(json!({"deep-nesting": 100}))).await;
}

#[test]
fn over_stdio_too() {
    let line = process::answer(fault(json!({"deep-nesting": 3})));
    let answer: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(answer["result"]["_meta"]["nested"], json!([[[]]]));
}
