use serde_json::json;

use super::{
    process::Process,
    wire::{Server, fault},
};

fn second_call_expires() -> serde_json::Value {
    let when = json!({"method": "tools/call", "nth": 2});
    json!({"tools": [{"name": "echo"}], "on": [{"when": when, "do": fault("session-expiry")}]})
}

#[tokio::test]
async fn from_the_nth_request_on_the_session_is_unknown() {
    let mut server = Server::initialized(&second_call_expires()).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(server.call().await.status());
    }
    assert_eq!(statuses, [200, 404, 404]);
    server.initialize().await;
    assert_eq!(server.call().await.status(), 200, "another session is another matter");
}

#[test]
fn over_stdio_the_server_forgets_the_handshake() {
    let mut process = Process::initialized(&second_call_expires(), 1);
    let mut codes = Vec::new();
    for id in 1..4 {
        process.call(id);
        codes.push(process.message()["error"]["code"].as_i64());
    }
    assert_eq!(codes, [None, Some(-32001), Some(-32600)]);
}
