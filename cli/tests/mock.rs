//! `mcp-workbench mock` as a process: output, shutdown and exit codes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "mock/process.rs"]
mod process;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use process::{Exit, Process, run};
use reqwest::{RequestBuilder, StatusCode};
use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::http_client;

const SCRIPT: &str = "\
tools: [{ name: echo, reply: { text: '{{arguments.text}}' } }]
faults: [{ name: silence, fault: silence, when: { method: tools/call }, enabled: false }]
";

/// A directory with a script.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        let directory = Self(tempfile::tempdir().unwrap());
        directory.file("script.yaml", SCRIPT);
        directory
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

async fn get_json(url: String) -> Value {
    http_client().get(url).send().await.unwrap().json().await.unwrap()
}

/// A request with an `initialize` message.
fn initialize(url: &str) -> RequestBuilder {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    http_client().post(url).header("accept", "application/json, text/event-stream").json(&message)
}

/// The lines of a JSON Lines file.
fn lines(path: &str) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn serves_until_a_signal_and_completes_the_recording() {
    for signal in [Signal::TERM, Signal::INT] {
        let directory = Directory::new();
        let (script, record) = (directory.path("script.yaml"), directory.path("record.jsonl"));
        let (process, addresses) =
            Process::start_with_json(&["mock", "serve", &script, "--json", "--record", &record]).await;
        assert_eq!((&addresses["transport"], &addresses["control"]), (&json!("streamable-http"), &Value::Null));
        assert_eq!(addresses["pid"], process.id());
        let url = addresses["url"].as_str().unwrap();
        let response = initialize(url).send().await.unwrap();
        let session = response.headers()["mcp-session-id"].clone();
        assert_eq!(response.json::<Value>().await.unwrap()["result"]["protocolVersion"], "2025-11-25");
        // An open stream does not delay the shutdown.
        let stream = http_client().get(url).header("accept", "text/event-stream").header("mcp-session-id", session);
        let stream = stream.send().await.unwrap();
        assert_eq!(stream.status(), StatusCode::OK);
        process.signal(signal);
        // The body is complete; a broken connection would be an error.
        let rest = tokio::time::timeout(Duration::from_secs(30), stream.bytes()).await.expect("the end of the stream");
        assert!(rest.is_ok(), "{rest:?}");
        assert_eq!(process.wait().await, Exit { code: Some(0), signal: None, stderr: String::new() });
        let frames = lines(&record);
        assert!(frames.iter().any(|frame| frame["body"]["json"]["result"]["serverInfo"].is_object()), "{frames:?}");
        assert_eq!(frames.iter().filter(|frame| frame["http"]["method"] == "GET").count(), 1, "{frames:?}");
    }
}

#[tokio::test]
async fn a_unix_socket_is_removed_with_its_server() {
    let directory = Directory::new();
    let socket = directory.path("mock.sock");
    let listen = format!("unix:{socket}");
    let mut process = Process::start(&["mock", "serve", "minimal", "--listen", &listen]);
    assert_eq!(process.line().await, format!("unix://{socket}#/mcp"));
    assert!(Path::new(&socket).exists());
    process.signal(Signal::TERM);
    assert_eq!(process.wait().await.code, Some(0));
    assert!(!Path::new(&socket).exists());
}

#[tokio::test]
async fn a_port_in_use_is_an_environment_error() {
    let in_use = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = in_use.local_addr().unwrap().to_string();
    let exit = run(&["mock", "serve", "minimal", "--listen", &address]).await;
    assert_eq!(exit.code, Some(3));
    assert!(exit.stderr.starts_with(&format!("error: could not listen on {address}; choose another")), "{exit:?}");
    let exit = run(&["mock", "serve", "minimal", "--control", &address]).await;
    assert_eq!(exit.code, Some(3), "{exit:?}");
}

#[tokio::test]
async fn invalid_input_is_rejected_with_its_location() {
    let directory = Directory::new();
    let bad = directory.file("bad.yaml", "name: bad\ntools: [{ name: a, replay: { text: hi } }]\n");
    for command in ["serve", "stdio"] {
        let exit = run(&["mock", command, &bad]).await;
        assert_eq!(exit.code, Some(2), "{exit:?}");
        assert!(exit.stderr.contains("bad.yaml") && exit.stderr.contains("replay"), "{exit:?}");
        assert!(exit.stderr.contains("bad.yaml:2:20\n2 | tools: [{ name: a, replay:"), "{exit:?}");
        assert!(exit.stderr.ends_with("^^^^^^ did you mean `reply`?\n"), "{exit:?}");
    }
    let faulty = directory.file("faulty.yaml", "issuer_path: /a\nfaults: [{ fault: wrong-stat }]\n");
    let exit = run(&["mock", "oauth", &faulty]).await;
    let location = format!("  {faulty}:2:19\n2 | faults: [{{ fault: wrong-stat }}]\n");
    let advice = "  |                   ^^^^^^^^^^ did you mean `wrong-state`?\n";
    let stderr = format!("error: unknown fault `wrong-stat`\n{location}{advice}");
    assert_eq!(exit, Exit { code: Some(2), signal: None, stderr });
    for arguments in [
        &["serve", "minimal", "--listen", "nowhere"] as &[&str],
        &["serve", "minimal", "--transport", "unix"],
        &["serve", "minimal", "--transport", "stdio", "--control", "127.0.0.1:0"],
        &["serve", "minimal", "--transport", "stdio", "--log"],
        &["serve", "minimal", "--control", "0.0.0.0:0"],
        &["serve", "minimal", "--path", "no-slash"],
        &["serve", "no-such-profile"],
        &["serve", "minimal", "--revision", "2025-01-01"],
    ] {
        let exit = run(&[&["mock"], arguments].concat()).await;
        assert_eq!(exit.code, Some(2), "{arguments:?}: {exit:?}");
        assert!(exit.stderr.starts_with("error: "), "{exit:?}");
    }
}

/// Neither the name nor the content of a hostile file controls the terminal.
#[tokio::test]
async fn no_control_character_of_a_file_reaches_the_terminal() {
    let directory = Directory::new();
    for (name, text) in [
        ("\u{1b}[2Jkey.yaml", "\"\\e]0;title\\a\": 1\n"),
        ("\u{1b}[2Jjson.json", "{\"\\u001b[31m\": 1}"),
        ("\u{1b}[2Jraw.yaml", "name: \u{1b}[31m\n"),
    ] {
        let path = PathBuf::from(directory.file(name, text));
        for command in ["serve", "stdio", "oauth"] {
            // The file is invalid, and the other one does not exist.
            for path in [path.clone(), path.with_extension("absent.yaml")] {
                let exit = run(&["mock", command, path.to_str().unwrap()]).await;
                assert_eq!(exit.code, Some(2), "{exit:?}");
                assert!(exit.stderr.contains("\\u{1b}[2J"), "{exit:?}");
                assert!(!exit.stderr.chars().any(|ch| ch != '\n' && ch.is_control()), "{exit:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_fault_of_a_running_server_is_enabled() {
    let directory = Directory::new();
    let script = directory.path("script.yaml");
    let (process, addresses) =
        Process::start_with_json(&["mock", "serve", &script, "--control", "127.0.0.1:0", "--json"]).await;
    let (url, control) = (addresses["url"].as_str().unwrap(), addresses["control"].as_str().unwrap());
    let request = http_client().put(format!("{control}/faults/silence")).json(&json!({"enabled": true}));
    let changed: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(changed["faults"][0]["enabled"], true, "{changed}");
    initialize(url).send().await.unwrap();
    let requests = get_json(format!("{control}/requests")).await;
    assert_eq!(requests["requests"][0]["message"]["method"], "initialize", "{requests}");
    process.signal(Signal::TERM);
    assert_eq!(process.wait().await.code, Some(0));
}

#[tokio::test]
async fn a_listening_server_exits_as_its_script_specifies() {
    for (exit, expected) in [
        ("{ code: 7 }", (Some(7), None)),
        ("{ signal: SIGABRT }", (None, Some(6))),
        ("{ kill: true }", (None, Some(9))),
    ] {
        let directory = Directory::new();
        let text = format!("on: [{{ when: {{ method: initialize }}, do: {{ fault: {{ exit: {exit} }} }} }}]\n");
        let mut process = Process::start(&["mock", "serve", &directory.file("exit.yaml", &text)]);
        let url = process.line().await;
        assert!(initialize(&url).send().await.is_err(), "there is no response");
        let exit = process.wait().await;
        assert_eq!((exit.code, exit.signal), expected);
    }
}

#[tokio::test]
async fn a_stop_completes_open_subscriptions_and_calls() {
    let directory = Directory::new();
    let text = "capabilities: { tools: { listChanged: true } }\ntools: [{ name: slow }]\n\
                on: [{ when: { tool: slow }, do: { fault: { delay: 500ms } } }]\n";
    let script = directory.file("changing.yaml", text);
    let (process, addresses) =
        Process::start_with_json(&["mock", "serve", &script, "--control", "127.0.0.1:0", "--json"]).await;
    let (url, control) = (addresses["url"].as_str().unwrap(), addresses["control"].as_str().unwrap());
    let post = |id: u64, method: &str, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let request = http_client().post(url).header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        request.header("mcp-name", name).json(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let stream = post(1, "subscriptions/listen", filter).send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    let call = tokio::spawn(post(2, "tools/call", json!({"name": "slow"})).send());
    let received = async || get_json(format!("{control}/requests")).await.to_string().contains("tools/call");
    tokio::time::timeout(Duration::from_secs(30), async { while !received().await {} }).await.expect("a call");
    process.signal(Signal::TERM);
    let events = stream.text().await.unwrap();
    assert!(events.contains(r#""id":1,"result":{"resultType":"complete""#), "{events}");
    let response: Value = call.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!((&response["id"], response.get("error")), (&json!(2), None), "{response}");
    assert_eq!(process.wait().await, Exit { code: Some(0), signal: None, stderr: String::new() });
}

#[tokio::test]
async fn an_authorization_server_protects_a_mock_over_both_transports() {
    for transport in ["http", "sse"] {
        let directory = Directory::new();
        let audit = directory.path("audit.jsonl");
        let arguments =
            ["mock", "oauth", "--protect", "minimal", "--transport", transport, "--json", "--audit", &audit];
        let (process, addresses) = Process::start_with_json(&arguments).await;
        let resource = addresses["resource"].as_str().unwrap();
        let response = match transport {
            "http" => initialize(resource).send().await.unwrap(),
            _ => http_client().get(resource).send().await.unwrap(),
        };
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert!(response.headers()["www-authenticate"].to_str().unwrap().contains("resource_metadata="));
        process.signal(Signal::TERM);
        assert_eq!(process.wait().await.code, Some(0));
        let entries = lines(&audit);
        assert!(entries.iter().any(|entry| entry.to_string().contains(resource)), "{entries:?}");
    }
}

/// A line of the request log without its duration.
async fn logged(process: &mut Process) -> String {
    let line = process.error_line().await;
    let (before, after) = line.split_once(" ms").unwrap_or((&line, ""));
    let (before, duration) = before.rsplit_once(' ').unwrap();
    assert!(duration.parse::<f64>().is_ok_and(|ms| ms >= 0.0), "{line}");
    format!("{before}{after}")
}

#[tokio::test]
async fn the_log_has_a_line_for_each_request_with_the_reason_of_a_rejection() {
    let directory = Directory::new();
    let mut process = Process::start(&["mock", "serve", &directory.path("script.yaml"), "--log"]);
    let url = process.line().await;
    let both = "application/json, text/event-stream";
    let post = || http_client().post(&url).header("content-type", "application/json");
    let ping = r#"{"jsonrpc": "2.0", "id": "p", "method": "ping"}"#;
    let elsewhere = url.replace("/mcp", "/other?secret=1");
    let unknown_tool = r#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "nothing"}}"#;
    let session = initialize(&url).send().await.unwrap().headers()["mcp-session-id"].clone();
    assert_eq!(logged(&mut process).await, "POST /mcp initialize id=1 200");
    let in_session = || post().header("accept", both).header("mcp-session-id", &session);
    for (request, expected) in [
        (in_session().body(ping), "POST /mcp ping id=\"p\" 200"),
        (
            in_session().body(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#),
            "POST /mcp notifications/initialized 202",
        ),
        (in_session().body(unknown_tool), "POST /mcp tools/call id=7 200: error -32602: "),
        (
            post().header("accept", "application/json").body(ping),
            "POST /mcp ping id=\"p\" 406: Accept lacks text/event-stream",
        ),
        (post().body(ping), "POST /mcp ping id=\"p\" 406: Accept lacks application/json and text/event-stream"),
        (
            http_client().post(&url).header("accept", both).header("content-type", "text/plain").body(ping),
            "POST /mcp ping id=\"p\" 415: Content-Type is `text/plain`, it must be application/json",
        ),
        (
            post().header("accept", both).body(ping),
            "POST /mcp ping id=\"p\" 400: error -32000: bad request: `Mcp-Session-Id` is required",
        ),
        (
            post().header("accept", both).header("mcp-session-id", "gone").body(ping),
            "POST /mcp ping id=\"p\" 404: error -32001: session not found",
        ),
        (post().header("accept", both).body("{"), "POST /mcp 400: error -32700: "),
        (http_client().get(&url), "GET /mcp 406: Accept lacks text/event-stream"),
        (
            http_client().get(&url).header("accept", both).header("mcp-session-id", "gone"),
            "GET /mcp 404: session not found",
        ),
        (http_client().put(&url), "PUT /mcp 405: method PUT is not allowed, only GET, POST, DELETE"),
        (http_client().get(elsewhere), "GET /other 404: the endpoint is at /mcp, not at /other"),
        (
            post().header("origin", "http://evil.example").body(ping),
            "POST /mcp 403: the origin `http://evil.example` is not allowed; `--allow-origin` allows it",
        ),
    ] {
        request.send().await.unwrap();
        let line = logged(&mut process).await;
        // The texts of some errors belong to the engine.
        assert!(
            line == expected || (expected.ends_with(": ") && line.starts_with(expected)),
            "{line:?}, not {expected:?}"
        );
    }
    process.signal(Signal::TERM);
}

#[tokio::test]
async fn with_json_each_line_of_the_log_is_an_object() {
    let arguments = ["mock", "oauth", "--protect", "minimal", "--json", "--log"];
    let (mut process, addresses) = Process::start_with_json(&arguments).await;
    let (issuer, resource) = (addresses["issuer"].as_str().unwrap(), addresses["resource"].as_str().unwrap());
    let token = format!("{issuer}/token");
    for (request, path, status, reason) in [
        (initialize(resource), "/mcp", 401, "unauthorized: a token is needed"),
        (http_client().get(format!("{issuer}/nothing")), "/nothing", 404, "the path /nothing is unknown"),
        (http_client().get(&token), "/token", 405, "method GET is not allowed, only POST"),
        (http_client().post(&token), "/token", 400, "invalid_request: the body has to be a form"),
    ] {
        request.send().await.unwrap();
        let line: Value = serde_json::from_str(&process.error_line().await).unwrap();
        assert_eq!((&line["path"], &line["status"], &line["reason"]), (&json!(path), &json!(status), &json!(reason)));
        assert!(line["duration_ms"].as_f64().is_some_and(|ms| ms >= 0.0), "{line}");
        let call = if path == "/mcp" { (json!("initialize"), json!(1)) } else { (Value::Null, Value::Null) };
        assert_eq!((line["rpc_method"].clone(), line["id"].clone()), call, "{line}");
    }
    process.signal(Signal::TERM);
}

/// A client that gives up, and a script that closes a connection, have a line too.
#[tokio::test]
async fn requests_without_a_response_are_logged() {
    let directory = Directory::new();
    let script = "on: [{ when: { method: initialize, nth: 1 }, do: { fault: silence } }, \
                       { when: { method: initialize, nth: 2 }, do: { fault: close } }]\n";
    let mut process = Process::start(&["mock", "serve", &directory.file("silent.yaml", script), "--log"]);
    let url = process.line().await;
    for (timeout, reason) in [
        (Duration::from_millis(200), "the client disconnected before the response"),
        (Duration::from_secs(30), "the script closed the connection without a response"),
    ] {
        let response = initialize(&url).timeout(timeout).send().await;
        assert!(response.is_err(), "{response:?}");
        assert_eq!(logged(&mut process).await, format!("POST /mcp initialize id=1 -: {reason}"));
    }
    process.signal(Signal::TERM);
}

#[tokio::test]
async fn serves_profiles_and_scripts_over_stdio() {
    let directory = Directory::new();
    let script = directory.path("script.yaml");
    for arguments in [&["mock", "stdio", "minimal"] as &[&str], &["mock", "serve", &script, "--transport", "stdio"]] {
        let mut process = Process::start(arguments);
        process.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
        let response = process.json().await;
        assert_eq!(response["id"], 1, "{response}");
        process.close_stdin();
        assert_eq!(process.wait().await.code, Some(0));
    }
}
