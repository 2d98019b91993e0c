//! What is told of results and of failures: by words, by JSON and by exit codes.

use serde_json::json;

use crate::kit::{PROGRAM, Ran, Server, Way, command};

#[tokio::test]
async fn arguments_are_what_the_schema_asks_for() {
    let server = Server::start(Way::Stdio).await;
    let given = async |arguments: &[&str]| {
        let called = server.client(&[&["call", "echo", "--json"], arguments].concat()).await;
        called.said();
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
        let refused = server.client(&[&["call", "echo", "--json"], arguments].concat()).await;
        assert_eq!((refused.code, &refused.json()["error"]["kind"]), (Some(2), &json!("invalid-arguments")));
        assert!(refused.stderr.starts_with(&format!("error: {problem}")), "{refused:?}");
    }
}

#[tokio::test]
async fn what_a_server_says_cannot_move_the_cursor() {
    let server = Server::start(Way::Stdio).await;
    for more in [&[] as &[&str], &["--json"]] {
        let arguments = ["call", "test_echo", "--args", r#"{"message": "a\u001b[2J\u009b1mb\u202e\tc"}"#];
        let called = server.client(&[&arguments, more].concat()).await;
        assert!(called.said().contains("[2J"), "{called:?}");
        let harmful = |ch: char| (ch.is_control() && ch != '\t') || ch == '\u{202e}';
        assert!(!called.stdout.trim_end().chars().any(harmful), "{called:?}");
    }
}

#[tokio::test]
async fn a_tool_that_fails_makes_the_command_fail() {
    let server = Server::start(Way::Stdio).await;
    let failed = server.client(&["call", "test_error_handling"]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(failed.stdout, "This tool intentionally returns an error for testing\n");
    assert_eq!(server.client(&["call", "test_error_handling", "--json"]).await.json()["isError"], true);
}

#[tokio::test]
async fn exit_codes_tell_what_went_wrong() {
    let server = Server::start(Way::Stdio).await;
    let kind = |ran: &Ran| (ran.code, ran.json()["error"]["kind"].as_str().unwrap_or_default().to_owned());
    let refused = server.client(&["call", "ecko", "--json"]).await;
    assert_eq!(kind(&refused), (Some(1), "rpc-error".to_owned()), "{refused:?}");
    assert_eq!(refused.json()["error"]["help"], "did you mean `echo`?");
    assert!(refused.stderr.ends_with("\n  help: did you mean `echo`?\n"), "{refused:?}");
    let unknown = server.client(&["tools", "ecko", "--json"]).await;
    assert_eq!(kind(&unknown), (Some(1), "unknown-tool".to_owned()));
    let late = server.client(&["call", "stuck", "--timeout", "2s", "--json"]).await;
    assert_eq!(kind(&late), (Some(3), "timed-out".to_owned()), "{late:?}");
    assert!(late.json()["error"]["help"].as_str().unwrap().contains("--timeout"), "{late:?}");
    let misled = server.client(&["tools", "--revision", "2025-01-01"]).await;
    assert_eq!(misled.code, Some(2), "{misled:?}");
    assert!(misled.stderr.contains("2025-11-25"), "{misled:?}");
    let nowhere = Ran::of(command(&["tools", "--json"])).await;
    assert_eq!((nowhere.code, nowhere.json()["error"].is_object()), (Some(2), true), "{nowhere:?}");
}

#[tokio::test]
async fn the_environment_can_say_how_long_to_wait() {
    let server = Server::start(Way::Stdio).await;
    let mut limited = server.command(&["call", "stuck", "--json"]);
    limited.env("MCP_TOOL_TIMEOUT", "300");
    let limited = Ran::of(limited).await;
    assert_eq!(limited.json()["error"]["message"], "no response within 300ms (timeout)", "{limited:?}");
    let mut wrong = server.command(&["tools"]);
    wrong.env("MCP_TIMEOUT", "soon");
    let wrong = Ran::of(wrong).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("MCP_TIMEOUT is not a number of milliseconds above 0: `soon`"), "{wrong:?}");
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_told_with_its_reason() {
    let missing = Ran::of(command(&["status", "--json", "--", "/no/such/program"])).await;
    assert_eq!((missing.code, &missing.json()["status"]), (Some(3), &json!("failed")), "{missing:?}");
    assert!(
        missing.json()["reason"].as_str().unwrap().contains("file `/no/such/program` does not exist"),
        "{missing:?}"
    );
    let dying = Ran::of(command(&["connect", "--json", "--", "sh", "-c", "echo no licence >&2; exit 7"])).await;
    assert_eq!((dying.code, &dying.json()["error"]["kind"]), (Some(3), &json!("exited")), "{dying:?}");
    assert!(dying.stderr.contains("no licence"), "{dying:?}");
    // A port on which nobody listens any more.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let silent = Ran::of(command(&["connect", "--json", "--url", &format!("http://127.0.0.1:{port}/mcp")])).await;
    assert_eq!((silent.code, &silent.json()["error"]["kind"]), (Some(3), &json!("transport")), "{silent:?}");
    assert!(silent.stderr.contains("Connection refused"), "{silent:?}");
    assert!(silent.stderr.contains("help: check that the server runs"), "{silent:?}");
}

#[tokio::test]
async fn progress_is_told_beside_the_result() {
    for way in [Way::Stdio, Way::Http, Way::Sse] {
        let server = Server::start(way).await;
        let called = server.client(&["call", "test_tool_with_progress"]).await;
        let told: Vec<_> = called.stderr.lines().filter(|line| line.starts_with("progress: ")).collect();
        assert_eq!(told.len(), 3, "{way:?}: {called:?}");
        assert_eq!(told[1], "progress: 50/100 Completed step 50 of 100");
        assert!(!called.said().contains("progress"), "{called:?}");
    }
}

#[tokio::test]
async fn what_a_server_logs_is_told_from_the_level_that_was_asked_for() {
    let server = Server::start(Way::Stdio).await;
    for revision in ["2025-11-25", "2026-07-28"] {
        for (level, told) in [("info", true), ("error", false)] {
            let call = ["call", "test_logging_tool", "--revision", revision, "--log-level", level];
            let called = server.client(&call).await;
            assert_eq!(called.said(), "Logging evaluated\n");
            assert_eq!(called.stderr.contains("info: Diagnostic trace"), told, "{revision} {level}: {called:?}");
        }
    }
    let unknown = server.client(&["tools", "--log-level", "loud"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[tokio::test]
async fn a_server_is_told_of_the_folders_that_are_named() {
    let server = Server::start(Way::Stdio).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for revision in ["2025-11-25", "2026-07-28"] {
        let call = ["call", "test_list_roots", "--revision", revision, "--root", path, "--root", "/"];
        assert_eq!(server.client(&call).await.said(), "Found 2 root(s)\n", "{revision}");
    }
    let told = serde_json::to_string(&server.frames()).unwrap();
    assert!(told.contains(&format!("file://{}", std::fs::canonicalize(path).unwrap().display())), "{told}");
    let nowhere = server.client(&["tools", "--root", "/no/such/folder"]).await;
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
}

#[tokio::test]
async fn a_call_that_becomes_a_task_is_waited_for() {
    let server = Server::start(Way::Stdio).await;
    let called = server.client(&["call", "slow_compute", "seconds=1", "label=pi", "--revision", "2026-07-28"]).await;
    assert_eq!(called.said(), "Computed pi in 1s\n");
    assert!(server.heard("tasks/get"), "{:?}", server.frames());
    let failed = server.client(&["call", "failing_job", "--revision", "2026-07-28"]).await;
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), "The job failed\n"), "{failed:?}");
}

#[test]
fn completions_and_help_know_the_commands() {
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(PROGRAM).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let script = run(&["completions", "bash"]);
    let help = run(&["client", "--help"]);
    for command in [
        "connect", "tools", "call", "read", "prompt", "status", "login", "logout", "clear", "add", "add-json", "list",
        "get", "remove", "enable", "disable",
    ] {
        assert!(script.contains(&format!("client,{command})")), "{command} is not completed");
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
        assert!(run(&["client", command, "--help"]).contains("--json"), "{command}");
    }
    assert!(!help.contains("drive"), "{help}");
}
