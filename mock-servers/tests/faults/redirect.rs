use serde_json::{Value, json};

use super::wire::{MODERN, SEED, Server, fault, on_call};

async fn location(redirect: Value) -> (u16, String, String) {
    let server = Server::start(&on_call(fault(json!({"redirect": redirect}))), MODERN, SEED).await;
    let heard = server.call().await;
    (heard.status(), heard.header("location").unwrap(), server.host().to_owned())
}

#[tokio::test]
async fn it_leads_to_the_same_origin_or_to_another() {
    let (status, same, host) = location(json!({"to": {"same-origin": "/mcp?again"}})).await;
    assert_eq!((status, same), (307, format!("http://{host}/mcp?again")));
    let (status, other, host) = location(json!({"status": 308, "to": {"other-origin": "/mcp"}})).await;
    assert_eq!((status, other), (308, format!("http://{}/mcp", host.replace("127.0.0.1", "localhost"))));
    let (status, far, _) = location(json!({"status": 302, "to": {"location": "gopher://x"}})).await;
    assert_eq!((status, far.as_str()), (302, "gopher://x"));
}

#[tokio::test]
async fn what_it_leads_to_answers() {
    let script = json!({"tools": [{"name": "echo"}], "on": [
        {"when": {"method": "tools/call", "nth": 1}, "do": fault(json!({"redirect": {"to": {"same-origin": "/mcp?again"}}}))},
    ]});
    let server = Server::start(&script, MODERN, SEED).await;
    assert_eq!(server.call().await.status(), 307);
    let again = server.calling(2).replace("POST /mcp ", "POST /mcp?again ");
    assert_eq!(server.connect().await.exchange(&again).await.json()["id"], 2);
}
