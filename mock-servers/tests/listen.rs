//! Where the HTTP fronts listen: Unix sockets, TLS, and whom they let in.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{path::Path, sync::Arc, time::Duration};

use mcp_workbench_mock_servers::{
    HttpMock, Recorder, Script, SseMock,
    listen::{Address, Allowed, Limits, Options, StartError, Tls},
};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::TlsConnector;

/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

async fn start(options: Options) -> Result<HttpMock, StartError> {
    let script: Script = serde_json::from_value(json!({"tools": [{"name": "echo"}]})).unwrap();
    HttpMock::start_with(script, "2025-11-25", 7, Recorder::in_memory("mock"), options).await
}

/// A request as it goes over the wire, with a body of JSON.
fn request(first_line: &str, headers: &str, body: &str) -> String {
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json";
    let length = body.len();
    format!(
        "{first_line} HTTP/1.1\r\n{headers}\r\n{accept}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn initialize(headers: &str, path: &str) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    request(&format!("POST {path}"), headers, &message.to_string())
}

/// Everything that the server says in return.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    tokio::time::timeout(BOUND, stream.read_to_end(&mut said)).await.expect("an answer in time").unwrap();
    String::from_utf8(said).unwrap()
}

fn assert_initialized(answer: &str) {
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains(r#""protocolVersion":"2025-11-25""#),
        "{answer}"
    );
}

fn socket(folder: &tempfile::TempDir) -> std::path::PathBuf {
    folder.path().join("mock.sock")
}

async fn over(path: &Path) -> String {
    ask(UnixStream::connect(path).await.unwrap(), &initialize("host: whatever", "/mcp")).await
}

#[tokio::test]
async fn serves_on_a_unix_socket_and_takes_it_away_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = socket(&folder);
    let mock = start(Options::at(Address::Unix(path.clone()))).await.unwrap();
    assert_eq!(mock.url(), format!("unix://{}#/mcp", path.display()));
    assert_initialized(&over(&path).await);
    mock.stop().await;
    assert!(!path.exists());
}

#[tokio::test]
async fn replaces_a_socket_that_nobody_listens_on_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = socket(&folder);
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "it was left behind");
    let mock = start(Options::at(Address::Unix(path.clone()))).await.unwrap();
    assert_initialized(&over(&path).await);
    let second = start(Options::at(Address::Unix(path.clone()))).await;
    assert!(matches!(second, Err(StartError::Bind { .. })), "a server at work is not pushed aside");
    assert_initialized(&over(&path).await);
    mock.stop().await;
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(start(Options::at(Address::Unix(path.clone()))).await, Err(StartError::Bind { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[tokio::test]
async fn encrypts_with_a_certificate_that_a_client_can_trust() {
    let mock = start(Options::default().with_tls(Tls::ThrowAway)).await.unwrap();
    let address = mock.address().tcp().unwrap();
    assert_eq!(mock.url(), format!("https://{address}/mcp"));
    let mut roots = rustls::RootCertStore::empty();
    let certificate = mock.certificate_pem().unwrap();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let trusting = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    for name in ["127.0.0.1", "localhost"] {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from(name).unwrap();
        let stream = TlsConnector::from(Arc::clone(&trusting)).connect(name, stream).await.unwrap();
        assert_initialized(&ask(stream, &initialize("host: localhost", "/mcp")).await);
    }
    let foreign = ServerName::try_from("mock.example").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    assert!(TlsConnector::from(trusting).connect(foreign, stream).await.is_err(), "it is for no other name");
    let plain = ask(TcpStream::connect(address).await.unwrap(), &initialize("host: localhost", "/mcp")).await;
    assert!(!plain.contains("200 OK"), "{plain}");
}

#[tokio::test]
async fn accepts_the_configured_hosts_and_origins() {
    let options = Options::default()
        .with_allowed_hosts(Allowed::listed(["mock.example"]))
        .with_allowed_origins(Allowed::listed(["https://app.example"]));
    let mock = start(options).await.unwrap();
    let status = |headers: &'static str| {
        let address = mock.address().tcp().unwrap();
        async move {
            let answer = ask(TcpStream::connect(address).await.unwrap(), &initialize(headers, "/mcp")).await;
            answer[9..12].to_owned()
        }
    };
    assert_eq!(status("host: mock.example\r\norigin: https://app.example").await, "200");
    assert_eq!(status("host: mock.example\r\norigin: http://localhost").await, "403");
    assert_eq!(status("host: localhost").await, "403");
}

#[tokio::test]
async fn serves_the_configured_path() {
    let mock = start(Options::default().with_path("/deep/endpoint")).await.unwrap();
    let address = mock.address().tcp().unwrap();
    let there = ask(TcpStream::connect(address).await.unwrap(), &initialize("host: localhost", "/deep/endpoint")).await;
    assert_initialized(&there);
    let elsewhere = ask(TcpStream::connect(address).await.unwrap(), &initialize("host: localhost", "/mcp")).await;
    assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
    for path in ["mcp", "/mcp?a", "/mcp#a", "/m cp"] {
        assert!(matches!(start(Options::default().with_path(path)).await, Err(StartError::Path { .. })), "{path}");
    }
}

#[tokio::test]
async fn the_old_transport_listens_in_the_same_ways() {
    let folder = tempfile::tempdir().unwrap();
    let path = socket(&folder);
    for (form, endpoint) in
        [("path", "/old/events/messages"), ("relative", "events/messages"), ("uri", "http://any:7/old/events/messages")]
    {
        let script: Script = serde_json::from_value(json!({ "http": { "endpoint": form } })).unwrap();
        let options = Options::at(Address::Unix(path.clone())).with_path("/old/events");
        let mock = SseMock::start_with(script, "2024-11-05", 7, Recorder::disabled(), options).await.unwrap();
        assert_eq!(mock.url(), format!("unix://{}#/old/events", path.display()));
        let mut stream = UnixStream::connect(&path).await.unwrap();
        stream.write_all(request("GET /old/events", "host: any:7", "").as_bytes()).await.unwrap();
        let mut said = String::new();
        while !said.contains("?session=") {
            let mut bytes = [0; 1024];
            let read = tokio::time::timeout(BOUND, stream.read(&mut bytes)).await.unwrap().unwrap();
            assert_ne!(read, 0, "{said}");
            said.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
        assert!(said.contains(&format!("data: {endpoint}?session=")), "{said}");
        mock.stop().await;
    }
}

#[tokio::test]
async fn what_takes_too_long_to_come_is_not_waited_for() {
    let limits = Limits::default().with_head_time(Duration::from_millis(50)).with_body_time(Duration::from_millis(50));
    let mock = start(Options::default().with_limits(limits)).await.unwrap();
    let address = mock.address().tcp().unwrap();
    let begun = |text: &'static str| async move { ask(TcpStream::connect(address).await.unwrap(), text).await };
    let head = begun("POST /mcp HTTP/1.1\r\nhost: localhost\r\n").await;
    assert!(!head.contains("200 OK"), "{head}");
    let body = begun("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{").await;
    assert!(body.starts_with("HTTP/1.1 408 "), "{body}");
    assert_eq!(begun("").await, "", "nor is a connection kept for nothing");
}

#[tokio::test]
async fn one_session_too_many_ends_the_oldest() {
    let mock = start(Options::default().with_limits(Limits::default().with_sessions(2))).await.unwrap();
    let address = mock.address().tcp().unwrap();
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let answer = ask(TcpStream::connect(address).await.unwrap(), &initialize("host: localhost", "/mcp")).await;
        assert_initialized(&answer);
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
        assert!(id.len() >= 32 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
        sessions.push(id);
    }
    let mut statuses = Vec::new();
    for id in &sessions {
        let ping = request(
            "POST /mcp",
            &format!("host: localhost\r\nmcp-session-id: {id}"),
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        );
        statuses.push(ask(TcpStream::connect(address).await.unwrap(), &ping).await[9..12].to_owned());
    }
    assert_eq!(statuses, ["404", "200", "200"]);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_sent_away() {
    let flood = json!({"tools": [{"name": "echo"}], "on": [
        {"when": {"method": "tools/call"}, "do": [{"progress": {"progress": 1, "times": 100_000}}, {"fault": "silence"}]},
    ]});
    let limits = Limits::default().with_unread_bytes(1024 * 1024);
    let options = Options::default().with_limits(limits);
    let script: Script = serde_json::from_value(flood).unwrap();
    let mock = HttpMock::start_with(script, "2026-07-28", 7, Recorder::disabled(), options).await.unwrap();
    let meta = json!({"progressToken": 1, "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "_meta": meta}});
    let headers = "host: localhost\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo";
    let mut stream = TcpStream::connect(mock.address().tcp().unwrap()).await.unwrap();
    stream.write_all(request("POST /mcp", headers, &call.to_string()).as_bytes()).await.unwrap();
    let mut beginning = [0; 16];
    tokio::time::timeout(BOUND, stream.read_exact(&mut beginning)).await.unwrap().unwrap();
    assert_eq!(&beginning, b"HTTP/1.1 200 OK\r");
    // The end of the connection is what is waited for, and it comes although nothing more is read.
    let idle = tokio::time::timeout(BOUND, mock.until_idle(BOUND * 2)).await;
    assert!(idle.is_ok(), "the connection is still open");
}

#[tokio::test]
async fn says_which_methods_a_path_knows() {
    let mock = start(Options::default()).await.unwrap();
    let modern = HttpMock::start(Script::default(), "2026-07-28", 7, Recorder::disabled()).await.unwrap();
    let sse = SseMock::start(Script::default(), "2024-11-05", 7, Recorder::disabled()).await.unwrap();
    for (address, path, allowed) in [
        (mock.address(), "/mcp", "GET, POST, DELETE"),
        (modern.address(), "/mcp", "POST"),
        (sse.address(), "/sse", "GET"),
        (sse.address(), "/messages", "POST"),
    ] {
        let put = request(&format!("PUT {path}"), "host: localhost", "");
        let answer = ask(TcpStream::connect(address.tcp().unwrap()).await.unwrap(), &put).await;
        assert!(
            answer.starts_with("HTTP/1.1 405 ") && answer.contains(&format!("\r\nallow: {allowed}\r\n")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn http2_with_prior_knowledge_has_the_same_checks_and_limits() {
    let limits = Limits::default().with_head_time(Duration::from_millis(50));
    let mock = start(Options::default().with_limits(limits)).await.unwrap();
    let address = mock.address().tcp().unwrap();
    let client = test_support::http_client_builder().http2_prior_knowledge();
    let client = client.resolve("other.test", address).build().unwrap();
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    for (host, status) in [("127.0.0.1", 200), ("other.test", 403)] {
        let request = client.post(format!("http://{host}:{}/mcp", address.port())).json(&message);
        let response = request.header("accept", "application/json, text/event-stream").send().await.unwrap();
        assert_eq!((response.version(), response.status().as_u16()), (http::Version::HTTP_2, status), "{host}");
    }
    // The preface and empty settings, and then nothing, not even a response to a ping.
    let mut silent = TcpStream::connect(address).await.unwrap();
    silent.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let closed = tokio::time::timeout(BOUND, silent.read_to_end(&mut Vec::new())).await;
    closed.expect("the connection is closed in time").unwrap();
}
