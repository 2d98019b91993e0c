use std::time::Duration;

use serde_json::json;

use super::wire::{End, Server};

fn script(error: serde_json::Value) -> serde_json::Value {
    json!({"tools": [{"name": "echo"}], "faults": [{"fault": {"stream-error": error}, "when": {"method": "GET"}}]})
}

#[tokio::test]
async fn the_stream_opens_and_breaks_every_time() {
    for (by, end) in [("close", End::Closed), ("reset", End::Reset)] {
        let server = Server::initialized(&script(json!({"by": by}))).await;
        for _ in 0..3 {
            let heard = server.connect().await.exchange(&server.get()).await;
            assert_eq!((heard.status(), heard.end), (200, end));
            assert_eq!(heard.header("content-type").as_deref(), Some("text/event-stream"));
        }
        assert_eq!(server.call().await.json()["id"], 1, "calls are answered all the same");
    }
}

#[tokio::test]
async fn it_may_last_for_a_while() {
    let server = Server::initialized(&script(json!({"after": "10ms"}))).await;
    let heard = server.connect().await.exchange(&server.get()).await;
    assert!(heard.took >= Duration::from_millis(10));
    assert_eq!((heard.status(), heard.end), (200, End::Closed));
}
