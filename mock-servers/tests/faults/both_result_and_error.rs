use super::wire::{answer, fault, plain, repeats};

#[tokio::test]
async fn an_answer_has_a_result_and_an_error() {
    let mut answered = answer(fault("both-result-and-error")).await.json();
    assert!(answered["error"]["code"].is_i64());
    answered.as_object_mut().unwrap().remove("error");
    assert_eq!(answered, plain().await.json());
    repeats(fault("both-result-and-error")).await;
}

#[tokio::test]
async fn an_error_gets_a_result() {
    let error = serde_json::json!({"error": {"code": 1, "message": "no"}});
    let answered = answer(serde_json::json!([fault("both-result-and-error"), error])).await.json();
    assert_eq!((answered["error"]["code"].as_i64(), answered["result"].is_object()), (Some(1), true));
}
