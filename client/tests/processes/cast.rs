//! The roles of this program in tests: a server, a stubborn child, a client.

use std::{
    io::{BufRead, Write},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use mcp_workbench_client::connect;
use serde_json::{Value, json};

use crate::kit;

/// Plays the role in the arguments, if there is one.
pub(crate) fn play(arguments: &[String]) -> Option<ExitCode> {
    let (role, rest) = arguments.split_first()?;
    let (mark, habits) = rest.split_first()?;
    match role.as_str() {
        "server" => Some(server(mark, habits)),
        "sleeper" => Some(sleeper(habits)),
        "client" | "bare-client" => Some(client(mark, habits)),
        "leaving-client" => Some(leave(mark, habits)),
        "cycles" => Some(crate::cycles::run(mark, habits)),
        "proxied" => Some(crate::proxy::call(mark)),
        _ => None,
    }
}

/// SIGTERM is ignored from now on.
fn be_deaf() {
    std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap();
            while signal.recv().await.is_some() {}
        });
    });
}

fn sleep() -> ! {
    // Longer than any test, and a limit if one fails.
    std::thread::sleep(Duration::from_secs(60));
    panic!("this process was not stopped")
}

fn sleeper(habits: &[String]) -> ExitCode {
    if habits.iter().any(|habit| habit == "setsid") {
        rustix::process::setsid().unwrap();
    }
    if habits.iter().any(|habit| habit == "deaf") {
        be_deaf();
    }
    sleep()
}

/// The child keeps the server's standard output open.
#[expect(clippy::zombie_processes, reason = "a server that never looks after its children is the point")]
fn start_child(mark: &str, habits: &[&str]) {
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new(own);
    child.env_clear().arg("sleeper").arg(mark).args(habits).stdin(Stdio::null()).spawn().unwrap();
}

fn server(mark: &str, habits: &[String]) -> ExitCode {
    let has = |habit: &str| habits.iter().any(|own| own == habit);
    if has("exit-at-start") {
        eprintln!("no licence found");
        return ExitCode::from(3);
    }
    if has("deaf") {
        be_deaf();
    }
    if has("child") {
        start_child(mark, &[]);
    }
    if has("deaf-setsid-child") {
        start_child(mark, &["setsid", "deaf"]);
    }
    if has("silent") {
        eprintln!("still warming up");
    } else {
        answer_all();
    }
    if has("stay") || has("silent") { sleep() } else { ExitCode::SUCCESS }
}

fn answer_all() {
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let arguments = &message["params"]["arguments"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "played", "version": "1"},
            }),
            "tools/call" if message["params"]["name"] == "exit" => {
                // The lints allow a test program to end only by panic or return, so it kills itself.
                exit(i32::try_from(arguments["code"].as_i64().unwrap()).unwrap())
            }
            "tools/call" => json!({"content": [{"type": "text", "text": arguments["text"]}]}),
            "tools/list" => json!({"tools": []}),
            _ if message.get("id").is_none() => continue,
            _ => {
                let error = json!({"code": -32601, "message": "unknown method"});
                say(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
                continue;
            }
        };
        say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
    }
}

#[expect(clippy::disallowed_methods, reason = "a server that ends in the middle of a call cannot return")]
fn exit(code: i32) -> Value {
    std::process::exit(code)
}

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{message}").unwrap();
    out.flush().unwrap();
}

/// Connects, prints a line, and stops its servers without a runtime when its input is closed.
fn leave(mark: &str, habits: &[String]) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connection = runtime.block_on(connect(kit::config_of(mark, habits))).unwrap();
    println!("ready");
    std::io::stdin().lock().lines().count();
    drop(runtime);
    assert_eq!(mcp_workbench_client::process::end_all(Duration::from_secs(10)), 0);
    drop(connection);
    ExitCode::SUCCESS
}

/// Connects, prints a line, and runs until its input is closed.
fn client(mark: &str, habits: &[String]) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = connect(kit::config_of(mark, habits)).await.unwrap();
        println!("ready");
        tokio::task::spawn_blocking(|| std::io::stdin().lock().lines().count()).await.unwrap();
        connection.close().await;
    });
    ExitCode::SUCCESS
}
