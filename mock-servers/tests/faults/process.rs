//! A client of a stdio server that shows the bytes.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::wire::{LEGACY, on_call};

/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

/// A server's process.
pub(super) struct Process {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    pieces: mpsc::Receiver<Vec<u8>>,
    heard: Vec<u8>,
    pub(super) ended: bool,
}

/// The lines after the handshake, up to the answer to a call, of a server whose tool does this.
pub(super) fn answer(actions: impl Into<Value>) -> Vec<u8> {
    let mut process = Process::initialized(&on_call(actions), 7);
    process.call(1);
    process.until(|heard| heard.ends_with(b"}\n") && heard.windows(8).any(|at| at == b"\"result\""))
}

/// The same where lines end by a carriage return and a line feed.
pub(super) fn crlf_answer(actions: impl Into<Value>) -> Vec<u8> {
    let mut process = Process::initialized(&on_call(actions), 7);
    process.call(1);
    process.until(|heard| heard.ends_with(b"\n"))
}

/// What this comes to, which may wait for a process, but not for ever.
pub(super) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, result) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    result.recv_timeout(BOUND).expect("an end in time")
}

impl Process {
    pub(super) fn start(script: &Value, seed: u64) -> Self {
        let mut child = Command::new(executable())
            .args([script.to_string(), LEGACY.to_owned()])
            .env("MOCK_SEED", seed.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, pieces) = mpsc::channel();
        let mut stdout = child.stdout.take().unwrap();
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, pieces, heard: Vec::new(), ended: false }
    }

    /// A process that has answered `initialize`.
    pub(super) fn initialized(script: &Value, seed: u64) -> Self {
        let mut process = Self::start(script, seed);
        process.handshake();
        process
    }

    /// Initializes the server; what comes back is its answer.
    pub(super) fn handshake(&mut self) -> Vec<u8> {
        self.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": LEGACY}}));
        self.until(|heard| heard.ends_with(b"}\n"))
    }

    /// Sends SIGTERM.
    pub(super) fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// The processes that it has started, as the system has them.
    pub(super) fn children(&self) -> Vec<u32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten();
        let lists = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default());
        lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect()
    }

    /// Ends the processes that it has started.
    pub(super) fn kill_children(&self) {
        for child in self.children() {
            let pid = rustix::process::Pid::from_raw(child.try_into().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    }

    pub(super) fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    pub(super) fn call(&mut self, id: u64) {
        let params = json!({"name": "echo", "arguments": {}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    pub(super) fn ping(&mut self, id: u64) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    }

    /// What is on standard output until this holds for it, or it ends.
    pub(super) fn until(&mut self, enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let start = Instant::now();
        while !enough(&self.heard) {
            match self.pieces.recv_timeout(BOUND.saturating_sub(start.elapsed())) {
                Ok(piece) => self.heard.extend(piece),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    self.ended = true;
                    break;
                }
                Err(_) => panic!("no more than {:?}", String::from_utf8_lossy(&self.heard)),
            }
        }
        std::mem::take(&mut self.heard)
    }

    /// Whether nothing has come so far.
    pub(super) fn nothing_yet(&self) -> bool {
        self.heard.is_empty() && matches!(self.pieces.try_recv(), Err(mpsc::TryRecvError::Empty))
    }

    /// The next whole line.
    pub(super) fn line(&mut self) -> String {
        let mut all = self.until(|heard| heard.contains(&b'\n'));
        let end = all.iter().position(|byte| *byte == b'\n').expect("a line");
        self.heard = all.split_off(end + 1);
        String::from_utf8(all).unwrap()
    }

    pub(super) fn message(&mut self) -> Value {
        let line = self.line();
        line.parse().unwrap_or_else(|_| panic!("no JSON: {line:?}"))
    }

    /// Everything until standard output ends.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let rest = self.until(|_| false);
        assert!(self.ended);
        rest
    }

    pub(super) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < BOUND {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the process does not end");
    }

    pub(super) fn close_input(&mut self) {
        self.stdin = None;
    }
}

impl Drop for Process {
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
