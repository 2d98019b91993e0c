//! Change notifications of mock servers over HTTP reach the subscribers of the built-in client.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use client::{
    CallOptions, ClientEventKind, Connection, Endpoint, EventSink, HttpEndpoint, Revision, RevisionChoice,
    ServerConfig, connect_with, event::ClientEvent,
};
use mock_servers::{MockServer, mock::HttpTransport, profile};
use serde_json::json;
use tokio::{sync::broadcast::Receiver, time::timeout};

/// Timeout of each wait. Only a failing test waits for it.
const BOUND: Duration = Duration::from_secs(30);

async fn connected(
    server: &MockServer,
    transport: HttpTransport,
    revision: Revision,
) -> (Connection, Receiver<ClientEvent>) {
    let endpoint = HttpEndpoint { url: server.url(), ..HttpEndpoint::default() };
    let endpoint = match transport {
        HttpTransport::Sse => Endpoint::Sse(endpoint),
        _ => Endpoint::StreamableHttp(endpoint),
    };
    let mut config = ServerConfig::new("mock", endpoint);
    config.protocol = RevisionChoice::Pinned(revision);
    let events = EventSink::default();
    let heard = events.subscribe();
    (connect_with(config, events.into()).await.unwrap(), heard)
}

/// Calls a tool repeatedly until the notification arrives, because no event reports that the stream is open.
async fn announces(connection: &Connection, heard: &mut Receiver<ClientEvent>, tool: &str, what: &ClientEventKind) {
    let announced = async {
        loop {
            connection.call(tool, json!({}), CallOptions::default()).await.unwrap();
            let heard = async { while heard.recv().await.unwrap().kind != *what {} };
            if timeout(Duration::from_millis(200), heard).await.is_ok() {
                return;
            }
        }
    };
    timeout(BOUND, announced).await.unwrap_or_else(|_| panic!("{what:?} was not announced"));
}

#[tokio::test]
async fn change_notifications_arrive_over_every_transport_and_in_both_eras() {
    for (transport, revision) in [
        (HttpTransport::Http, Revision::V2025_11_25),
        (HttpTransport::Http, Revision::V2026_07_28),
        (HttpTransport::Sse, Revision::V2024_11_05),
    ] {
        let script = profile::load("everything").unwrap();
        let server = MockServer::builder().script(script).transport(transport).start().await.unwrap();
        let (connection, mut heard) = connected(&server, transport, revision).await;
        let uri = "test://watched-resource".to_owned();
        connection.subscribe_resource(&uri).await.unwrap();
        let updated = ClientEventKind::ResourceUpdated { uri };
        announces(&connection, &mut heard, "test_update_resource", &updated).await;
        announces(&connection, &mut heard, "test_trigger_resource_change", &ClientEventKind::ResourcesChanged).await;
        announces(&connection, &mut heard, "test_trigger_prompt_change", &ClientEventKind::PromptsChanged).await;
        connection.close().await;
        server.stop().await;
    }
}
