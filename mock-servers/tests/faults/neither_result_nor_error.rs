use super::wire::{answer, fault, plain, repeats};

#[tokio::test]
async fn an_answer_says_nothing() {
    let answered = answer(fault("neither-result-nor-error")).await.json();
    assert_eq!(answered, serde_json::json!({"jsonrpc": "2.0", "id": 1}));
    assert!(plain().await.json()["result"].is_object());
    repeats(fault("neither-result-nor-error")).await;
}
