//! Real processes: all of them are stopped, whichever exits first.
//!
//! This test has its own `main`, because it must be able to become the supervisor. The program also plays the servers,
//! their stubborn children, and a client that is killed.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the played roles speak over their streams")]

mod cast;
mod cycles;
mod kit;
mod managed;
mod proxy;

use std::{process::ExitCode, time::Duration};

use kit::{ProcessMark, config, graces, patient, patient_with_sigterm, shell, until_none_is_left};
use mcp_workbench_client::{
    CallError, CallOptions, ConnectFailure, Connection, Endpoint, Inherit, ServerConfig, Stage, StdioEndpoint, connect,
    process::{Ending, ExitInfo, StartProblem, supervisor},
};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // One role runs without a supervisor, to show what remains then.
    if arguments.first().is_none_or(|role| role != "bare-client")
        && let Some(code) = supervisor::main_if_requested()
    {
        return code;
    }
    if let Some(code) = cast::play(&arguments) {
        return code;
    }
    kit::run(
        &arguments,
        &[
            ("a_cooperative_server_exits_when_its_input_is_closed", &obedient),
            ("a_stubborn_tree_is_killed_after_the_grace_periods", &stubborn),
            ("a_server_started_by_a_shell_stops_as_fast_as_without", &behind_a_shell),
            ("all_processes_exit_with_a_killed_client", &killed_client),
            ("all_processes_exit_with_a_client_that_is_killed_while_it_connects", &killed_while_connecting),
            ("a_dropped_connection_stops_its_server_without_a_runtime", &dropped_without_runtime),
            ("a_server_exit_fails_the_call_and_reports_its_children", &ends_in_mid_call),
            ("a_missing_command_is_reported_immediately", &missing_command),
            ("a_server_that_exits_at_the_start_shows_its_stderr", &ends_at_the_start),
            ("a_silent_server_is_stopped_after_the_startup_timeout", &silent),
            ("without_a_supervisor_the_process_group_is_stopped", &without_supervisor),
            ("the_supervisor_reports_what_is_left_behind", &reports_left_behind),
            ("processes_that_exit_in_time_are_not_left_behind", &settles),
            ("the_supervisor_passes_on_code_and_signal", &passes_on),
            ("a_broken_script_is_diagnosed", &broken_scripts),
            ("a_server_inherits_only_allowed_variables", &environment),
            ("all_servers_stop_at_the_exit_of_the_program", &exit_of_the_program),
            ("starting_and_stopping_leaves_nothing_behind", &cycles::leave_nothing_behind),
            ("only_changed_servers_get_another_process", &managed::only_changed_servers_get_another_process),
            (
                "a_server_is_started_on_demand_and_again_after_it_exited",
                &managed::a_server_is_started_on_demand_and_again_after_it_exited,
            ),
            ("a_missing_required_server_fails_the_start", &managed::a_missing_required_server_fails_the_start),
            ("a_proxy_of_the_environment_is_used", &proxy::proxy_is_used),
        ],
    )
}

async fn close(connection: Connection, mark: &ProcessMark) -> (Ending, Duration) {
    let report = connection.close().await;
    assert!(report.transport_closed);
    let process = report.process.expect("a stdio server has a process");
    until_none_is_left(mark).await;
    (process.ending, process.took)
}

async fn obedient() {
    let mark = ProcessMark::new();
    let connection = connect(patient(config(&mark, &[]))).await.unwrap();
    let result = connection.call("echo", json!({"text": "ä\r\n"}), CallOptions::default()).await.unwrap();
    assert_eq!(result.text(), "ä\r\n");
    let (ending, took) = close(connection, &mark).await;
    assert_eq!(ending, Ending::StdinClosed);
    assert!(took < kit::LONG_TIMEOUT, "{took:?}");
}

async fn stubborn() {
    let mark = ProcessMark::new();
    let connection = connect(config(&mark, &["stay", "deaf", "child", "deaf-setsid-child"])).await.unwrap();
    test_support::wait_until("the processes", || mark.alive().len() >= 3).await;
    let (ending, took) = close(connection, &mark).await;
    assert_eq!(ending, Ending::Killed);
    assert!(took >= graces().stdin_close + graces().sigterm && took < kit::LONG_TIMEOUT, "{took:?}");
}

async fn behind_a_shell() {
    let mark = ProcessMark::new();
    let connection = connect(shell(patient(config(&mark, &[])))).await.unwrap();
    assert!(mark.alive().len() >= 2, "the shell is gone");
    let (ending, took) = close(connection, &mark).await;
    assert_eq!(ending, Ending::StdinClosed);
    assert!(took < kit::LONG_TIMEOUT, "{took:?}");

    let mark = ProcessMark::new();
    let connection = connect(shell(patient_with_sigterm(config(&mark, &["stay"])))).await.unwrap();
    let (ending, took) = close(connection, &mark).await;
    assert_eq!(ending, Ending::Terminated);
    assert!(took < kit::LONG_TIMEOUT, "{took:?}");
}

async fn killed_client() {
    let mark = ProcessMark::new();
    let mut client = kit::start_client("client", &mark, &["stay", "deaf", "child", "deaf-setsid-child"]);
    test_support::wait_until("the processes", || mark.alive().len() >= 3).await;
    kit::until_ready(&mut client);
    client.kill().unwrap();
    client.wait().unwrap();
    until_none_is_left(&mark).await;
}

async fn killed_while_connecting() {
    let mark = ProcessMark::new();
    let mut client = kit::start_client("client", &mark, &["silent", "stay", "deaf", "deaf-setsid-child"]);
    test_support::wait_until("the processes", || mark.alive().len() >= 2).await;
    client.kill().unwrap();
    client.wait().unwrap();
    until_none_is_left(&mark).await;
}

async fn dropped_without_runtime() {
    let mark = ProcessMark::new();
    let server = config(&mark, &["stay", "deaf-setsid-child"]);
    let connection = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(connect(server)).unwrap()
    });
    let connection = connection.join().unwrap();
    test_support::wait_until("the processes", || mark.alive().len() >= 2).await;
    std::thread::spawn(move || drop(connection)).join().unwrap();
    until_none_is_left(&mark).await;
}

async fn ends_in_mid_call() {
    let mark = ProcessMark::new();
    let connection = connect(config(&mark, &["child", "deaf-setsid-child"])).await.unwrap();
    test_support::wait_until("the processes", || mark.alive().len() >= 3).await;
    let begun = std::time::Instant::now();
    // The child keeps the server's output open, so only the exit of the process ends the connection.
    let failure = connection.call("exit", json!({"code": 9}), CallOptions::default()).await.unwrap_err();
    assert!(matches!(&failure, CallError::ConnectionLost { reason } if reason.contains("exit code 9")), "{failure}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let closing = connection.close().await.process.unwrap();
    assert_eq!((closing.ending, closing.exit), (Ending::AlreadyOver, Some(ExitInfo { code: Some(9), signal: None })));
    assert_eq!(closing.left_behind.len(), 2);
    until_none_is_left(&mark).await;
}

async fn missing_command() {
    let mark = ProcessMark::new();
    let mut server = config(&mark, &[]);
    let mcp_workbench_client::Endpoint::Stdio(endpoint) = &mut server.endpoint else { unreachable!() };
    endpoint.command = "mcp-workbench-no-such-command".into();
    let begun = std::time::Instant::now();
    let failure = connect(server).await.unwrap_err();
    assert_eq!((failure.kind(), failure.stage), ("spawn-failed", Stage::Spawn), "{failure}");
    let ConnectFailure::Spawn { command, source, problem } = *failure.failure else { panic!() };
    assert_eq!((command.as_str(), source.kind()), ("mcp-workbench-no-such-command", std::io::ErrorKind::NotFound));
    assert_eq!(problem, StartProblem::NotInPath);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

async fn broken_scripts() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    for (text, mode, told) in [
        ("#!/no/such/shell\n", 0o755, "interpreter \"/no/such/shell\""),
        ("#!/bin/sh\n", 0o644, "not executable"),
        ("no program\n", 0o755, "neither a program nor a script"),
    ] {
        let path = directory.path().join("server");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let endpoint = StdioEndpoint { command: path.to_str().unwrap().into(), ..StdioEndpoint::default() };
        let failure = connect(ServerConfig::new("script", Endpoint::Stdio(endpoint))).await.unwrap_err();
        assert_eq!(failure.kind(), "spawn-failed", "{failure}");
        assert!(failure.to_string().contains(told), "{failure}");
    }
    let cwd = Some(directory.path().join("nowhere"));
    let endpoint = StdioEndpoint { command: "sh".into(), cwd, ..StdioEndpoint::default() };
    let failure = connect(ServerConfig::new("script", Endpoint::Stdio(endpoint))).await.unwrap_err();
    assert!(failure.to_string().contains("working directory"), "{failure}");
}

async fn environment() {
    let script = "env | cut -d= -f1 | sort | tr '\\n' ' ' >&2; exit 4";
    let mut endpoint =
        StdioEndpoint { command: "sh".into(), args: vec!["-c".into(), script.into()], ..StdioEndpoint::default() };
    endpoint.env.insert("GIVEN".into(), "1".into());
    endpoint.env_vars.push("CARGO_MANIFEST_DIR".into());
    let seen = async |endpoint: StdioEndpoint| {
        let failure = connect(ServerConfig::new("env", Endpoint::Stdio(endpoint))).await.unwrap_err();
        failure.stderr.join(" ").split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let names = seen(endpoint.clone()).await;
    let has = |name: &str| names.iter().any(|own| own == name);
    // Cargo sets its variables for each test.
    assert!(has("PATH") && has("GIVEN") && has("CARGO_MANIFEST_DIR") && !has("CARGO_PKG_NAME"), "{names:?}");
    endpoint.inherit = Inherit::Everything;
    assert!(seen(endpoint).await.iter().any(|own| own == "CARGO_PKG_NAME"));
}

async fn exit_of_the_program() {
    let mark = ProcessMark::new();
    let mut client = kit::start_client("leaving-client", &mark, &["stay", "child"]);
    kit::until_ready(&mut client);
    test_support::wait_until("the processes", || mark.alive().len() >= 2).await;
    drop(client.stdin.take());
    assert!(client.wait().unwrap().success());
    assert_eq!(mark.alive(), Vec::<String>::new(), "the program ended before its servers");
}

async fn ends_at_the_start() {
    let mark = ProcessMark::new();
    let failure = connect(config(&mark, &["exit-at-start"])).await.unwrap_err();
    assert_eq!(failure.kind(), "exited");
    let ConnectFailure::Exited { exit } = &*failure.failure else { panic!() };
    assert_eq!(exit.code, Some(3));
    assert!(failure.to_string().contains("no licence found"), "{failure}");
    assert!(failure.to_string().contains("`tested`"), "{failure}");
}

async fn silent() {
    let mark = ProcessMark::new();
    let mut server = config(&mark, &["silent", "deaf-setsid-child"]);
    server.timeouts.startup = Duration::from_millis(900);
    let begun = std::time::Instant::now();
    let failure = connect(server).await.unwrap_err();
    assert_eq!((failure.kind(), failure.stage), ("startup-timeout", Stage::Initialize));
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(failure.stderr.contains(&"still warming up".to_owned()), "{:?}", failure.stderr);
    until_none_is_left(&mark).await;
}

async fn without_supervisor() {
    let mark = ProcessMark::new();
    let mut client = kit::start_client("bare-client", &mark, &["stay", "deaf", "child"]);
    kit::until_ready(&mut client);
    drop(client.stdin.take());
    assert!(client.wait().unwrap().success());
    until_none_is_left(&mark).await;
}

async fn reports_left_behind() {
    // Neither process is a copy of the shell any more when the shell exits.
    let script = "sleep 300 & a=$!; setsid sleep 301 & for p in $a $!; do \
                  until tr '\\0' ' ' < /proc/$p/cmdline | grep -q ^sleep; do :; done; done; exit 7";
    let (report, code) = kit::supervise(script, Duration::ZERO);
    assert_eq!((code, report.exit.code, report.left_behind.len()), (Some(7), Some(7), 2), "{report:?}");
    assert!(report.left_behind.iter().any(|process| process.argv == ["sleep", "300"]), "{report:?}");
    assert_eq!(report.survivors, Vec::<i32>::new());
}

async fn settles() {
    let (report, _) = kit::supervise("sleep 0.2 & exit 0", Duration::from_secs(10));
    assert_eq!(report.left_behind, []);
    assert!((50..5_000).contains(&report.emptied_after_ms), "{report:?}");
}

async fn passes_on() {
    let (report, code) = kit::supervise("kill -KILL $$", Duration::ZERO);
    assert_eq!((code, report.exit), (Some(137), ExitInfo { code: None, signal: Some(9) }));
    assert!(!report.killed);
    let (report, code) = kit::supervise("exec /no/such/program", Duration::ZERO);
    assert_eq!((code, report.exit.code), (Some(127), Some(127)));
    let _: Value = serde_json::to_value(report).unwrap();
}
