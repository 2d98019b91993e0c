use serde_json::json;

use super::wire::{Server, answer, fault, plain, repeats, streamed};

#[tokio::test]
async fn the_same_body_comes_under_another_type() {
    let wrong = fault(json!({"wrong-content-type": "text/html"}));
    let (heard, plain) = (answer(wrong.clone()).await, plain().await);
    assert_eq!(heard.header("content-type").as_deref(), Some("text/html"));
    assert_eq!(plain.header("content-type").as_deref(), Some("application/json"));
    assert_eq!(heard.body(), plain.body());
    repeats(wrong).await;
}

#[tokio::test]
async fn streams_too() {
    let heard = streamed(json!({"wrong-content-type": "text/html"})).await;
    assert_eq!(heard.header("content-type").as_deref(), Some("text/html"));
    let rule = json!({"fault": {"wrong-content-type": "text/html"}, "when": {"method": "GET"}});
    let broken = json!({"fault": {"stream-error": {}}, "when": {"method": "GET"}});
    let server = Server::initialized(&json!({"faults": [rule, broken]})).await;
    let heard = server.connect().await.exchange(&server.get()).await;
    assert_eq!(heard.header("content-type").as_deref(), Some("text/html"));
}
