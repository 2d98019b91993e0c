//! The stdio server as a real process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use evidence::{Body, ConnectionEvent, Direction, Frame, recorder::read_file};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    dir: TempDir,
}

impl Server {
    fn start(script: &Value) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), script, "2025-11-25")
    }

    fn start_in(dir: TempDir, script: &Value, revision: &str) -> Self {
        let mut child = Command::new(executable())
            .args([script.to_string(), revision.to_owned()])
            .args([dir.path().join("record.jsonl"), dir.path().join("runs")])
            .env("MARKER", "here")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|read| read > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, dir }
    }

    fn initialized(script: &Value) -> Self {
        let mut server = Self::start(script);
        server.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
        }}));
        assert_eq!(server.message()["id"], 0);
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: u64, tool: &str) {
        let params = json!({"name": tool, "_meta": {"progressToken": "p"}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(BOUND).expect("a line in time")
    }

    fn message(&self) -> Value {
        let line = self.line();
        line.parse().unwrap_or_else(|_| panic!("no JSON: {line:?}"))
    }

    /// Whether standard output has ended, and nothing more was on it.
    fn output_ended(&self) -> bool {
        matches!(self.lines.recv_timeout(BOUND), Err(mpsc::RecvTimeoutError::Disconnected))
    }

    fn close_input(&mut self) {
        self.stdin = None;
    }

    fn terminate(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
    }

    fn wait(&mut self) -> ExitStatus {
        let status = within(|| self.child.try_wait().unwrap());
        status.expect("the server ends in time")
    }

    fn record(&self) -> Vec<Frame> {
        read_file(&self.dir.path().join("record.jsonl")).unwrap()
    }

    fn marks(&self) -> Vec<ConnectionEvent> {
        self.record()
            .iter()
            .filter_map(|frame| if let Body::Event(mark) = frame.body { Some(mark) } else { None })
            .collect()
    }

    /// Waits until a mark is in the record.
    fn mark_seen(&self, mark: ConnectionEvent) {
        within(|| self.marks().contains(&mark).then_some(())).expect("the mark is recorded in time");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }
}

/// The example beside the test's own executable: cargo builds it together with the tests.
fn executable() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    profile.join("examples").join("stdio-mock")
}

/// Asks until there is an answer, or for as long as the bound.
fn within<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < BOUND {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        thread::sleep(Duration::from_millis(2));
    }
    None
}

fn one_rule(actions: Value) -> Value {
    json!({"tools": [{"name": "echo"}, {"name": "other"}], "on": [{"when": {"tool": "echo"}, "do": actions}]})
}

#[test]
fn serves_and_ends_with_its_input() {
    let mut server = Server::initialized(&json!({"tools": [{"name": "echo"}]}));
    server.call(1, "echo");
    assert_eq!(server.message()["result"]["content"][0]["text"], "echo: {}");
    server.close_input();
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(server.marks(), [ConnectionEvent::Opened, ConnectionEvent::ClosedByPeer, ConnectionEvent::Exit]);
    let frames = server.record();
    let call = frames.iter().position(|frame| frame.method() == Some("tools/call")).unwrap();
    assert_eq!(frames[call].direction, Direction::ClientToServer);
    assert_eq!((frames[call + 1].direction, frames[call + 1].id()), (Direction::ServerToClient, Some(&json!(1))));
    assert!(frames.iter().all(|frame| frame.connection == 1 && frame.server == "mock"));
}

#[test]
fn answers_all_of_a_batch_of_lines_before_it_ends() {
    let mut server = Server::initialized(&json!({"tools": [{"name": "echo"}]}));
    let lines: String =
        (1..=500).map(|id| format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))).collect();
    server.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    server.close_input();
    let ids: Vec<_> = (1..=500).map(|_| server.message()["id"].as_u64().unwrap()).collect();
    assert!(ids.into_iter().eq(1..=500));
    assert!(server.output_ended());
}

#[test]
fn a_delayed_answer_holds_up_nobody() {
    let mut server = Server::initialized(&one_rule(json!({"fault": {"delay": "300ms"}})));
    server.call(1, "echo");
    server.call(2, "other");
    assert_eq!(server.message()["id"], 2);
    assert_eq!(server.message()["id"], 1);
}

#[test]
fn a_cancelled_answer_never_comes() {
    let mut server = Server::initialized(&one_rule(json!({"fault": {"delay": "100ms"}})));
    let call = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo"}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    // All in one write, so that no pause of the machine's lets the first delay pass before the cancellation.
    let lines = format!("{}\n{cancel}\n{}\n", call(1), call(2));
    server.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    assert_eq!(server.message()["id"], 2, "it was asked later and takes as long");
}

#[test]
fn writes_garbage_and_refuses_it() {
    let mut server = Server::initialized(&one_rule(json!({"fault": {"garbage": "oops"}})));
    server.call(1, "echo");
    assert_eq!(server.line(), "oops\n");
    assert_eq!(server.message()["id"], 1);
    server.stdin.as_mut().unwrap().write_all(b"{\"jsonrpc\n").unwrap();
    assert_eq!(server.message()["error"]["code"], -32700);
    assert!(server.record().iter().any(|frame| frame.body == Body::Text("oops\n".into())));
}

#[test]
fn closes_its_output_and_lives_on() {
    let mut server = Server::initialized(&one_rule(json!([{"progress": {"progress": 1}}, {"fault": "close"}])));
    server.call(1, "echo");
    assert_eq!(server.message()["method"], "notifications/progress");
    assert!(server.output_ended());
    assert!(server.child.try_wait().unwrap().is_none());
    server.close_input();
    assert_eq!(server.wait().code(), Some(0));
    assert!(server.marks().contains(&ConnectionEvent::ClosedByServer));
}

#[test]
fn truncates_its_last_answer() {
    let mut server = Server::initialized(&one_rule(json!({"fault": {"truncate": 12}})));
    server.call(1, "echo");
    assert_eq!(server.line(), "{\"jsonrpc\":\"");
    assert!(server.output_ended());
}

#[test]
fn exits_as_the_script_says() {
    let mut server = Server::initialized(&one_rule(json!({"fault": {"exit": {"code": 7}}})));
    server.call(1, "echo");
    assert_eq!(server.wait().code(), Some(7));
    assert_eq!(server.marks(), [ConnectionEvent::Opened, ConnectionEvent::Exit]);
    let mut server =
        Server::initialized(&one_rule(json!([{"fault": {"delay": "10ms"}}, {"fault": {"exit": {"kill": true}}}])));
    server.call(1, "echo");
    let status = server.wait();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    assert_eq!(server.record().last().unwrap().body, Body::Event(ConnectionEvent::Exit), "nothing recorded is lost");
}

#[test]
fn talks_before_it_serves_and_may_not_serve_at_all() {
    let script = json!({"process": {"banner": "Welcome!", "stderr": "warming up", "exit_at_start": 4}});
    let mut server = Server::start(&script);
    assert_eq!(server.line(), "Welcome!\n");
    assert_eq!(server.wait().code(), Some(4));
    let mut stderr = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "warming up\n");
}

#[test]
fn starts_late() {
    let start = Instant::now();
    let server = Server::initialized(&json!({"process": {"start_delay": "200ms"}}));
    assert!(start.elapsed() >= Duration::from_millis(200));
    drop(server);
}

#[test]
fn what_is_under_way_is_said_before_it_ends() {
    for ends_by_signal in [false, true] {
        let actions = json!([{"fault": {"delay": "150ms"}}, {"fault": {"slow-drip": {"bytes": 40, "every": "10ms"}}}]);
        let mut server = Server::initialized(&one_rule(actions));
        server.call(1, "echo");
        server.call(2, "other");
        assert_eq!(server.message()["id"], 2);
        if ends_by_signal {
            server.terminate()
        } else {
            server.close_input()
        }
        assert_eq!(server.message()["result"]["content"][0]["text"], "echo: {}");
        assert!(server.output_ended());
        assert_eq!(server.wait().code(), Some(0));
    }
}

#[test]
fn what_takes_too_long_is_not_waited_for() {
    let mut server = Server::initialized(&one_rule(json!({"fault": {"delay": "3600s"}})));
    server.call(1, "echo");
    server.call(2, "other");
    assert_eq!(server.message()["id"], 2);
    server.close_input();
    assert!(server.output_ended());
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_client_that_does_not_read_keeps_it_from_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let script = json!({"on": [{"when": {"method": "ping"}, "do": {"fault": {"oversize": 1_000_000}}}]});
    let mut child = Command::new(executable())
        .args([script.to_string(), "2025-11-25".to_owned()])
        .args([dir.path().join("record.jsonl"), dir.path().join("runs")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (stdin, _unread, lines) = (child.stdin.take(), child.stdout.take(), mpsc::channel().1);
    let mut server = Server { child, stdin, lines, dir };
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    // More than a pipe holds: from here on the server cannot go on.
    let record = server.dir.path().join("record.jsonl");
    let answers = || read_file(&record).is_ok_and(|frames| frames.iter().any(Frame::is_response));
    within(|| answers().then_some(())).expect("an answer is being written");
    server.terminate();
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_subscription_gets_its_result_when_the_server_stops() {
    let script = json!({"capabilities": {"tools": {"listChanged": true}}});
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start_in(tempfile::tempdir().unwrap(), &script, "2026-07-28");
        server.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": {
            "notifications": {"toolsListChanged": true},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }}));
        assert_eq!(server.message()["method"], "notifications/subscriptions/acknowledged");
        kill_process(Pid::from_child(&server.child), signal).unwrap();
        let last = server.message();
        assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(7), &json!("complete")));
        assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
        assert!(server.output_ended());
        assert_eq!(server.wait().code(), Some(0));
    }
}

#[test]
fn ends_on_sigterm() {
    let mut server = Server::initialized(&json!({}));
    server.terminate();
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(server.marks(), [ConnectionEvent::Opened, ConnectionEvent::Sigterm, ConnectionEvent::Exit]);
}

#[test]
fn lives_on_where_the_script_says_so() {
    let mut server = Server::initialized(&json!({"process": {"ignore_sigterm": true, "ignore_stdin_close": true}}));
    server.terminate();
    server.mark_seen(ConnectionEvent::Sigterm);
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(server.message()["id"], 1);
    server.close_input();
    server.mark_seen(ConnectionEvent::ClosedByPeer);
    assert!(server.child.try_wait().unwrap().is_none());
}

#[test]
fn lingers_after_the_end_of_its_input() {
    let mut server = Server::initialized(&json!({"process": {"linger": "200ms"}}));
    let start = Instant::now();
    server.close_input();
    assert_eq!(server.wait().code(), Some(0));
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn counts_its_runs() {
    let script = json!({"on": [
        {"when": {"method": "initialize", "run": 1}, "do": {"fault": {"exit": {"code": 1}}}},
    ]});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "x"}});
    let mut first = Server::start(&script);
    first.send(&initialize);
    assert_eq!(first.wait().code(), Some(1));
    let dir = tempfile::tempdir().unwrap();
    for name in ["runs", "runs.used"] {
        std::fs::copy(first.dir.path().join(name), dir.path().join(name)).unwrap();
    }
    let mut second = Server::start_in(dir, &script, "2025-11-25");
    second.send(&initialize);
    assert_eq!(second.message()["id"], 0);
    assert!(second.record().iter().all(|frame| frame.connection == 2));
}

/// One of the numbers behind the name in `/proc/<pid>/stat`: 1 is the parent, 3 the session.
fn stat(pid: Pid, field: usize) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(field)?.parse().ok()
}

/// The only child of the server.
fn only_child(server: &Server) -> Pid {
    let own = i32::try_from(server.child.id()).unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = processes.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let children: Vec<_> = pids.filter(|pid| stat(*pid, 1) == Some(own)).collect();
    let [child] = children[..] else { panic!("one child is there before the first answer: {children:?}") };
    child
}

/// Whether the process has ended; nobody may have looked after its remains.
fn has_ended(pid: Pid) -> bool {
    std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).is_ok_and(|line| line.is_empty())
        || test_kill_process(pid).is_err()
}

#[test]
#[cfg(target_os = "linux")]
fn leaves_children_behind_as_the_script_says() {
    let script = json!({"process": {"children": [
        {"setsid": true, "ignore_sigterm": true, "clear_env": true, "hold_stdout": true},
    ]}});
    let mut server = Server::initialized(&script);
    let child = only_child(&server);
    assert_eq!(stat(child, 3), Some(child.as_raw_nonzero().get()), "it leads a session of its own");
    let environment = std::fs::read(format!("/proc/{}/environ", child.as_raw_nonzero())).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains("MARKER"), "its environment is empty");
    server.close_input();
    server.wait();
    assert!(server.lines.try_recv() == Err(mpsc::TryRecvError::Empty), "the output is held open");
    kill_process(child, Signal::TERM).unwrap();
    assert!(!has_ended(child), "SIGTERM does not end it");
    kill_process(child, Signal::KILL).unwrap();
    assert!(server.output_ended());
}

#[test]
#[cfg(target_os = "linux")]
fn an_ordinary_child_ends_on_sigterm_and_holds_nothing() {
    let mut server = Server::initialized(&json!({"process": {"children": [{}]}}));
    let child = only_child(&server);
    server.close_input();
    server.wait();
    assert!(server.output_ended());
    kill_process(child, Signal::TERM).unwrap();
    within(|| has_ended(child).then_some(())).expect("SIGTERM ends it");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let said = |script: &Value| {
        let mut server = Server::initialized(script);
        for id in 1..4 {
            server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
        }
        (1..4).map(|_| server.line()).collect::<Vec<_>>()
    };
    let script = json!({"generate": {"tools": 5}, "page_size": 2});
    assert_eq!(said(&script), said(&script));
}

#[test]
fn serves_modern_requests() {
    let mut server =
        Server::start_in(tempfile::tempdir().unwrap(), &one_rule(json!({"change": {"announce": true}})), "2026-07-28");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "_meta": meta, "notifications": {"toolsListChanged": true},
    }}));
    assert_eq!(server.message()["method"], "notifications/subscriptions/acknowledged");
    server.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"_meta": meta, "name": "echo"}}));
    assert_eq!(server.message()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(server.message()["result"]["resultType"], "complete");
}
