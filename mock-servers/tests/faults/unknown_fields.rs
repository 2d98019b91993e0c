use serde_json::Value;

use super::wire::{answer, fault, is_drawn, plain};

#[tokio::test]
async fn message_and_result_have_members_that_nobody_knows() {
    let mut answered = answer(fault("unknown-fields")).await.json();
    let mut strip = |at: &str| {
        let members = answered.pointer_mut(at).and_then(Value::as_object_mut).unwrap();
        let before = members.len();
        members.retain(|name, _| !name.starts_with("x-unknown-"));
        before - members.len()
    };
    assert_eq!((strip(""), strip("/result")), (1, 1));
    assert_eq!(answered, plain().await.json());
    is_drawn(fault("unknown-fields")).await;
}
