//! `mcp-workbench mock`, as its users run it: what it says, how it ends, and by which exit code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "mock/process.rs"]
mod process;

use std::{fs, path::Path, time::Duration};

use process::{Ended, Process, run};
use reqwest::{RequestBuilder, StatusCode};
use rustix::process::Signal;
use serde_json::{Value, json};

const SCRIPT: &str = "\
tools: [{ name: echo, reply: { text: '{{arguments.text}}' } }]
faults: [{ name: silence, fault: silence, when: { method: tools/call }, enabled: false }]
";

/// A folder with a script in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script.yaml"), SCRIPT).unwrap();
    folder
}

fn initialize(request: RequestBuilder) -> RequestBuilder {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    request.header("accept", "application/json, text/event-stream").json(&message)
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn serves_until_it_is_told_to_stop_and_leaves_a_whole_record() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = folder();
        let (script, record) = (folder.path().join("script.yaml"), folder.path().join("record.jsonl"));
        let arguments = ["mock", "serve", script.to_str().unwrap(), "--json", "--record", record.to_str().unwrap()];
        let mut process = Process::start(&arguments);
        let said: Value = serde_json::from_str(&process.line().await).unwrap();
        assert_eq!((&said["transport"], &said["control"]), (&json!("streamable-http"), &Value::Null));
        assert_eq!(said["pid"], process.id());
        let url = said["url"].as_str().unwrap();
        let answer =
            initialize(client::http_client::builder().build().expect("an HTTP client").post(url)).send().await.unwrap();
        let session = answer.headers()["mcp-session-id"].clone();
        assert_eq!(answer.json::<Value>().await.unwrap()["result"]["protocolVersion"], "2025-11-25");
        // A stream that is open does not hold it up.
        let stream = client::http_client::builder()
            .build()
            .unwrap()
            .get(url)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", session);
        let stream = stream.send().await.unwrap();
        assert_eq!(stream.status(), StatusCode::OK);
        process.signal(signal);
        // It ends in good order: the body is whole, where a connection that broke off would be an error.
        let rest = tokio::time::timeout(Duration::from_secs(30), stream.bytes()).await.expect("an end in time");
        assert!(rest.is_ok(), "{rest:?}");
        assert_eq!(process.end().await, Ended { code: Some(0), signal: None, stderr: String::new() });
        let frames = lines(&record);
        assert!(frames.iter().any(|frame| frame["body"]["json"]["result"]["serverInfo"].is_object()), "{frames:?}");
        assert_eq!(frames.iter().filter(|frame| frame["http"]["method"] == "GET").count(), 1, "{frames:?}");
    }
}

#[tokio::test]
async fn a_unix_socket_goes_with_its_server() {
    let folder = folder();
    let socket = folder.path().join("mock.sock");
    let listen = format!("unix:{}", socket.display());
    let mut process = Process::start(&["mock", "serve", "minimal", "--listen", &listen]);
    assert_eq!(process.line().await, format!("unix://{}#/mcp", socket.display()));
    assert!(socket.exists());
    process.signal(Signal::TERM);
    assert_eq!(process.end().await.code, Some(0));
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_port_that_is_taken_is_the_fault_of_the_environment() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = run(&["mock", "serve", "minimal", "--listen", &address]).await;
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.starts_with(&format!("error: could not listen on {address}; choose another")), "{ended:?}");
    let ended = run(&["mock", "serve", "minimal", "--control", &address]).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_with_its_place() {
    let folder = folder();
    let bad = folder.path().join("bad.yaml");
    fs::write(&bad, "name: bad\ntools: [{ name: a, replay: { text: hi } }]\n").unwrap();
    for command in ["serve", "stdio"] {
        let ended = run(&["mock", command, bad.to_str().unwrap()]).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("bad.yaml") && ended.stderr.contains("replay"), "{ended:?}");
        assert!(ended.stderr.contains("bad.yaml:2:20\n2 | tools: [{ name: a, replay:"), "{ended:?}");
        assert!(ended.stderr.ends_with("^^^^^^ did you mean `reply`?\n"), "{ended:?}");
    }
    let faulty = folder.path().join("faulty.yaml");
    fs::write(&faulty, "issuer_path: /a\nfaults: [{ fault: wrong-stat }]\n").unwrap();
    let ended = run(&["mock", "oauth", faulty.to_str().unwrap()]).await;
    let place = format!("  {}:2:19\n2 | faults: [{{ fault: wrong-stat }}]\n", faulty.display());
    let advice = "  |                   ^^^^^^^^^^ did you mean `wrong-state`?\n";
    let stderr = format!("error: unknown fault `wrong-stat`\n{place}{advice}");
    assert_eq!(ended, Ended { code: Some(2), signal: None, stderr });
    for arguments in [
        &["serve", "minimal", "--listen", "nowhere"] as &[&str],
        &["serve", "minimal", "--transport", "unix"],
        &["serve", "minimal", "--transport", "stdio", "--control", "127.0.0.1:0"],
        &["serve", "minimal", "--control", "0.0.0.0:0"],
        &["serve", "minimal", "--path", "no-slash"],
        &["serve", "no-such-profile"],
        &["serve", "minimal", "--revision", "2025-01-01"],
    ] {
        let ended = run(&[&["mock"], arguments].concat()).await;
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.starts_with("error: "), "{ended:?}");
    }
}

/// A file of a hostile author, or of a hostile archive: neither its name nor what it says acts upon the terminal.
#[tokio::test]
async fn no_control_character_of_a_file_reaches_the_terminal() {
    let folder = folder();
    for (name, text) in [
        ("\u{1b}[2Jkey.yaml", "\"\\e]0;title\\a\": 1\n"),
        ("\u{1b}[2Jjson.json", "{\"\\u001b[31m\": 1}"),
        ("\u{1b}[2Jraw.yaml", "name: \u{1b}[31m\n"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        for command in ["serve", "stdio", "oauth"] {
            // What is there says something wrong; what is not there is wrong itself.
            for path in [path.clone(), path.with_extension("absent.yaml")] {
                let ended = run(&["mock", command, path.to_str().unwrap()]).await;
                assert_eq!(ended.code, Some(2), "{ended:?}");
                assert!(ended.stderr.contains("\\u{1b}[2J"), "{ended:?}");
                assert!(!ended.stderr.chars().any(|ch| ch != '\n' && ch.is_control()), "{ended:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_running_server_is_told_to_misbehave() {
    let folder = folder();
    let script = folder.path().join("script.yaml");
    let arguments = ["mock", "serve", script.to_str().unwrap(), "--control", "127.0.0.1:0", "--json"];
    let mut process = Process::start(&arguments);
    let said: Value = serde_json::from_str(&process.line().await).unwrap();
    let (url, control) = (said["url"].as_str().unwrap(), said["control"].as_str().unwrap());
    let switch = client::http_client::builder()
        .build()
        .unwrap()
        .put(format!("{control}/faults/silence"))
        .json(&json!({"enabled": true}));
    let switched: Value = switch.send().await.unwrap().json().await.unwrap();
    assert_eq!(switched["faults"][0]["enabled"], true, "{switched}");
    initialize(client::http_client::builder().build().expect("an HTTP client").post(url)).send().await.unwrap();
    let came: Value = client::http_client::builder()
        .build()
        .unwrap()
        .get(format!("{control}/requests"))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(came["requests"][0]["message"]["method"], "initialize", "{came}");
    process.signal(Signal::TERM);
    assert_eq!(process.end().await.code, Some(0));
}

#[tokio::test]
async fn a_server_that_listens_ends_as_its_script_says() {
    for (exit, expected) in [
        ("{ code: 7 }", (Some(7), None)),
        ("{ signal: SIGABRT }", (None, Some(6))),
        ("{ kill: true }", (None, Some(9))),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.yaml");
        fs::write(
            &script,
            format!("on: [{{ when: {{ method: initialize }}, do: {{ fault: {{ exit: {exit} }} }} }}]\n"),
        )
        .unwrap();
        let mut process = Process::start(&["mock", "serve", script.to_str().unwrap()]);
        let url = process.line().await;
        assert!(
            initialize(client::http_client::builder().build().expect("an HTTP client").post(url)).send().await.is_err(),
            "there is no answer"
        );
        let ended = process.end().await;
        assert_eq!((ended.code, ended.signal), expected);
    }
}

#[tokio::test]
async fn subscriptions_and_answers_under_way_come_to_their_end_when_it_is_told_to_stop() {
    let folder = folder();
    let script = folder.path().join("changing.yaml");
    let text = "capabilities: { tools: { listChanged: true } }\ntools: [{ name: slow }]\n\
                on: [{ when: { tool: slow }, do: { fault: { delay: 500ms } } }]\n";
    fs::write(&script, text).unwrap();
    let arguments = ["mock", "serve", script.to_str().unwrap(), "--control", "127.0.0.1:0", "--json"];
    let mut process = Process::start(&arguments);
    let said: Value = serde_json::from_str(&process.line().await).unwrap();
    let (url, control) = (said["url"].as_str().unwrap(), said["control"].as_str().unwrap());
    let post = |id: u64, method: &str, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let request = client::http_client::builder()
            .build()
            .unwrap()
            .post(url)
            .header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        request.header("mcp-name", name).json(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let wish = json!({"notifications": {"toolsListChanged": true}});
    let stream = post(1, "subscriptions/listen", wish).send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    let call = tokio::spawn(post(2, "tools/call", json!({"name": "slow"})).send());
    // The control endpoint tells when the call has come.
    let came = async || {
        let came: Value = client::http_client::builder()
            .build()
            .unwrap()
            .get(format!("{control}/requests"))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        came.to_string().contains("tools/call")
    };
    tokio::time::timeout(Duration::from_secs(30), async { while !came().await {} }).await.expect("the call comes");
    process.signal(Signal::TERM);
    let events = stream.text().await.unwrap();
    assert!(events.contains(r#""id":1,"result":{"resultType":"complete""#), "{events}");
    let answer: Value = call.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!((&answer["id"], answer.get("error")), (&json!(2), None), "{answer}");
    assert_eq!(process.end().await, Ended { code: Some(0), signal: None, stderr: String::new() });
}

#[tokio::test]
async fn an_authorization_server_guards_a_mock_over_either_transport() {
    for transport in ["http", "sse"] {
        let folder = folder();
        let audit = folder.path().join("audit.jsonl");
        let arguments = ["mock", "oauth", "--protect", "minimal", "--transport", transport, "--json"];
        let mut process = Process::start(&[&arguments as &[&str], &["--audit", audit.to_str().unwrap()]].concat());
        let said: Value = serde_json::from_str(&process.line().await).unwrap();
        let resource = said["resource"].as_str().unwrap();
        let answer = match transport {
            "http" => initialize(client::http_client::builder().build().expect("an HTTP client").post(resource))
                .send()
                .await
                .unwrap(),
            _ => client::http_client::builder().build().expect("an HTTP client").get(resource).send().await.unwrap(),
        };
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        assert!(answer.headers()["www-authenticate"].to_str().unwrap().contains("resource_metadata="));
        process.signal(Signal::TERM);
        assert_eq!(process.end().await.code, Some(0));
        let entries = lines(&audit);
        assert!(entries.iter().any(|entry| entry.to_string().contains(resource)), "{entries:?}");
    }
}

#[tokio::test]
async fn speaks_over_standard_input_and_output_from_profiles_and_from_yaml() {
    let folder = folder();
    let script = folder.path().join("script.yaml");
    for arguments in
        [&["mock", "stdio", "minimal"] as &[&str], &["mock", "serve", script.to_str().unwrap(), "--transport", "stdio"]]
    {
        let mut process = Process::start(arguments);
        process.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
        let answer: Value = serde_json::from_str(&process.line().await).unwrap();
        assert_eq!(answer["id"], 1, "{answer}");
        process.hang_up();
        assert_eq!(process.end().await.code, Some(0));
    }
}
