//! Output and exit codes of results and errors.

use serde_json::json;

use crate::kit::{PROGRAM, Ran, Server, TestTransport, command};

#[tokio::test]
async fn arguments_follow_the_schema() {
    let server = Server::start(TestTransport::Stdio).await;
    let given = async |arguments: &[&str]| {
        let called = server.client(&[&["call", "echo", "--json"], arguments].concat()).await;
        called.success();
        called.json()["structuredContent"]["given"].clone()
    };
    assert_eq!(given(&["text=7", "times=7"]).await, json!({"text": "7", "times": 7}));
    assert_eq!(given(&["--args", r#"{"text": "a", "more": [1]}"#]).await, json!({"text": "a", "more": [1]}));
    assert_eq!(given(&["--args", r#"{"text": "a"}"#, "text=b", "x={}"]).await, json!({"text": "b", "x": {}}));
    for (arguments, problem) in [
        (&["times=soon"] as &[&str], "argument `times`: `soon` is not of type integer"),
        (&["text=a", "text=b"], "argument `text` is given twice"),
        (&["--args", "[]"], "--args is not a JSON object"),
        (&["--args", "{"], "--args is not JSON: "),
    ] {
        let rejected = server.client(&[&["call", "echo", "--json"], arguments].concat()).await;
        assert_eq!((rejected.code, &rejected.json()["error"]["kind"]), (Some(2), &json!("invalid-arguments")));
        assert!(rejected.stderr.starts_with(&format!("error: {problem}")), "{rejected:?}");
    }
}

#[tokio::test]
async fn server_output_contains_no_control_characters() {
    let server = Server::start(TestTransport::Stdio).await;
    for more in [&[] as &[&str], &["--json"]] {
        let arguments = ["call", "test_echo", "--args", r#"{"message": "a\u001b[2J\u009b1mb\u202e\tc"}"#];
        let called = server.client(&[&arguments, more].concat()).await;
        assert!(called.success().contains("[2J"), "{called:?}");
        let harmful = |ch: char| (ch.is_control() && ch != '\t') || ch == '\u{202e}';
        assert!(!called.stdout.trim_end().chars().any(harmful), "{called:?}");
    }
}

#[tokio::test]
async fn an_error_result_fails_the_command() {
    let server = Server::start(TestTransport::Stdio).await;
    let failed = server.client(&["call", "test_error_handling"]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(failed.stdout, "This tool intentionally returns an error for testing\n");
    assert_eq!(server.client(&["call", "test_error_handling", "--json"]).await.json()["isError"], true);
}

#[tokio::test]
async fn each_kind_of_error_has_an_exit_code() {
    let server = Server::start(TestTransport::Stdio).await;
    let kind = |ran: &Ran| (ran.code, ran.json()["error"]["kind"].as_str().unwrap_or_default().to_owned());
    let rejected = server.client(&["call", "ecko", "--json"]).await;
    assert_eq!(kind(&rejected), (Some(1), "unknown-tool".to_owned()), "{rejected:?}");
    assert_eq!(rejected.json()["error"]["help"], "did you mean `echo`?");
    assert!(rejected.stderr.ends_with("\n  help: did you mean `echo`?\n"), "{rejected:?}");
    let unknown = server.client(&["tools", "ecko", "--json"]).await;
    assert_eq!(kind(&unknown), (Some(1), "unknown-tool".to_owned()));
    let late = server.client(&["call", "stuck", "--timeout", "2s", "--json"]).await;
    assert_eq!(kind(&late), (Some(3), "timed-out".to_owned()), "{late:?}");
    assert!(late.json()["error"]["help"].as_str().unwrap().contains("--timeout"), "{late:?}");
    let misled = server.client(&["tools", "--revision", "2025-01-01"]).await;
    assert_eq!(misled.code, Some(2), "{misled:?}");
    assert!(misled.stderr.contains("2025-11-25"), "{misled:?}");
    let unnamed = Ran::run(command(&["connect", "--json"])).await;
    assert_eq!((unnamed.code, unnamed.json()["error"].is_object()), (Some(2), true), "{unnamed:?}");
}

#[tokio::test]
async fn timeouts_come_from_the_environment() {
    let server = Server::start(TestTransport::Stdio).await;
    let mut limited = server.command(&["call", "stuck", "--json"]);
    limited.env("MCP_TOOL_TIMEOUT", "300");
    let limited = Ran::run(limited).await;
    assert_eq!(limited.json()["error"]["message"], "no response within 300ms (timeout)", "{limited:?}");
    let mut wrong = server.command(&["tools"]);
    wrong.env("MCP_TIMEOUT", "soon");
    let wrong = Ran::run(wrong).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("MCP_TIMEOUT is not a number of milliseconds above 0: `soon`"), "{wrong:?}");
}

#[tokio::test]
async fn an_unusable_server_is_reported_with_the_reason() {
    let missing = Ran::run(command(&["status", "--json", "--", "/no/such/program"])).await;
    assert_eq!((missing.code, &missing.json()["status"]), (Some(3), &json!("failed")), "{missing:?}");
    assert!(
        missing.json()["reason"].as_str().unwrap().contains("file `/no/such/program` does not exist"),
        "{missing:?}"
    );
    let dying = Ran::run(command(&["connect", "--json", "--", "sh", "-c", "echo no licence >&2; exit 7"])).await;
    assert_eq!((dying.code, &dying.json()["error"]["kind"]), (Some(3), &json!("exited")), "{dying:?}");
    assert!(dying.stderr.contains("no licence"), "{dying:?}");
    // No process listens on this port.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let silent = Ran::run(command(&["connect", "--json", "--url", &format!("http://127.0.0.1:{port}/mcp")])).await;
    assert_eq!((silent.code, &silent.json()["error"]["kind"]), (Some(3), &json!("transport")), "{silent:?}");
    assert!(silent.stderr.contains("Connection refused"), "{silent:?}");
    assert!(silent.stderr.contains("help: check that the server runs"), "{silent:?}");
}

#[tokio::test]
async fn progress_is_printed_to_stderr() {
    for transport in [TestTransport::Stdio, TestTransport::Http, TestTransport::Sse] {
        let server = Server::start(transport).await;
        let called = server.client(&["call", "test_tool_with_progress"]).await;
        let lines: Vec<_> = called.stderr.lines().filter(|line| line.starts_with("progress: ")).collect();
        assert_eq!(lines.len(), 3, "{transport:?}: {called:?}");
        assert_eq!(lines[1], "progress: 50/100 Completed step 50 of 100");
        assert!(!called.success().contains("progress"), "{called:?}");
    }
}

#[tokio::test]
async fn server_logs_are_printed_from_the_requested_level() {
    let server = Server::start(TestTransport::Stdio).await;
    for revision in ["2025-11-25", "2026-07-28"] {
        for (level, lines) in [("info", true), ("error", false)] {
            let call = ["call", "test_logging_tool", "--revision", revision, "--log-level", level];
            let called = server.client(&call).await;
            assert_eq!(called.success(), "Logging evaluated\n");
            assert_eq!(called.stderr.contains("info: Diagnostic trace"), lines, "{revision} {level}: {called:?}");
        }
    }
    let unknown = server.client(&["tools", "--log-level", "loud"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[tokio::test]
async fn roots_are_sent_to_the_server() {
    let server = Server::start(TestTransport::Stdio).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    for revision in ["2025-11-25", "2026-07-28"] {
        let call = ["call", "test_list_roots", "--revision", revision, "--root", path, "--root", "/"];
        assert_eq!(server.client(&call).await.success(), "Found 2 root(s)\n", "{revision}");
    }
    let lines = serde_json::to_string(&server.frames()).unwrap();
    assert!(lines.contains(&format!("file://{}", std::fs::canonicalize(path).unwrap().display())), "{lines}");
    let unnamed = server.client(&["tools", "--root", "/no/such/directory"]).await;
    assert_eq!(unnamed.code, Some(2), "{unnamed:?}");
}

#[tokio::test]
async fn a_call_waits_for_its_task() {
    let server = Server::start(TestTransport::Stdio).await;
    let called = server.client(&["call", "slow_compute", "seconds=1", "label=pi", "--revision", "2026-07-28"]).await;
    assert_eq!(called.success(), "Computed pi in 1s\n");
    assert!(server.has_received("tasks/get"), "{:?}", server.frames());
    let failed = server.client(&["call", "failing_job", "--revision", "2026-07-28"]).await;
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), "The job failed\n"), "{failed:?}");
}

#[test]
fn help_lists_the_commands() {
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(PROGRAM).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let help = run(&["client", "--help"]);
    for command in [
        "connect", "tools", "call", "read", "prompt", "status", "login", "logout", "clear", "add", "add-json", "list",
        "get", "remove", "enable", "disable", "run", "search", "overview", "complete", "import",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
        assert!(run(&["client", command, "--help"]).contains("--json"), "{command}");
    }
    assert!(!help.contains("drive"), "{help}");
}
