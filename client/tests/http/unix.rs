//! Streamable HTTP over a Unix socket.

use super::*;

#[tokio::test]
async fn a_server_behind_a_unix_socket_is_reached_by_url() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a b.sock");
    let socket = tokio::net::UnixListener::bind(&path).unwrap();
    let (app, log) = router(legacy_streamable);
    tokio::spawn(async move { axum::serve(socket, app).await.unwrap() });
    let url = format!("unix://{}#/mcp", path.to_str().unwrap().replace(' ', "%20"));
    let endpoint = HttpEndpoint { url, ..at("") };
    for endpoint in [Endpoint::StreamableHttp(endpoint.clone()), Endpoint::Auto(endpoint)] {
        let (connection, _) = connect(endpoint, RevisionChoice::Auto).await;
        let connection = connection.unwrap();
        assert_eq!(connection.transport(), Transport::StreamableHttp);
        assert_eq!(connection.call("good", json!({}), CallOptions::default()).await.unwrap().text(), "streamed");
        connection.close().await;
    }
    let log = log.lock().unwrap();
    assert!(log.iter().all(|seen| seen.headers["host"] == "localhost" && seen.headers["x-user"] == "me"));
}

#[tokio::test]
async fn a_missing_socket_is_reported() {
    let endpoint = HttpEndpoint { url: "unix:///nowhere/to/be.found#/mcp".into(), ..HttpEndpoint::default() };
    let (connection, _) = connect(Endpoint::StreamableHttp(endpoint), RevisionChoice::Auto).await;
    let failure = connection.unwrap_err();
    assert_eq!(failure.kind(), "transport", "{failure}");
}
