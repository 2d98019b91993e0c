use serde_json::json;

use super::wire::{MODERN, SEED, Server, answer, fault, on_call, plain, repeats};

#[tokio::test]
async fn the_id_has_a_fraction() {
    let (mut answered, plain) = (answer(fault("float-id")).await.json(), plain().await.json());
    assert_eq!((&answered["id"], &plain["id"]), (&json!(1.5), &json!(1)));
    answered["id"] = json!(1);
    assert_eq!(answered, plain);
    repeats(fault("float-id")).await;
    let server = Server::start(&on_call(fault("float-id")), MODERN, SEED).await;
    let heard = server.connect().await.exchange(&server.calling("text")).await;
    assert_eq!(heard.json()["id"], json!(0.5));
}
