//! The servers under attack.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use serde_json::{Value, json};

use crate::peer::{Peer, Reply, request};

pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const MODERN: &str = "2026-07-28";

/// A mock server over HTTP, in a process of its own.
pub(crate) struct Server {
    child: Child,
    _stdin: ChildStdin,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(script: &Value, revision: &str) -> Self {
        let mut child = Command::new(example("http-mock"))
            .args([script.to_string(), revision.to_owned()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://").unwrap().split('/').next().unwrap().parse().unwrap();
        let stdin = child.stdin.take().unwrap();
        Self { child, _stdin: stdin, address }
    }

    /// A stateless server with one tool.
    pub(crate) fn modern() -> Self {
        Self::start(&json!({"tools": [{"name": "echo"}]}), MODERN)
    }

    pub(crate) fn connect(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// Sends one request on a connection of its own.
    pub(crate) fn ask(&self, request: &[u8]) -> Option<Reply> {
        let mut peer = self.connect();
        // One that refuses a request in the middle need not read the rest of it.
        let _ = peer.send(request);
        peer.reply()
    }

    /// Proves that the server serves others as if nothing were the matter.
    #[track_caller]
    pub(crate) fn serves_others(&self) {
        let reply = self.ask(&call("others")).expect("others are served");
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json()["result"]["content"][0]["text"], "echo: {\"text\":\"others\"}");
    }

    /// The resident memory, in megabytes; none where the system does not tell.
    pub(crate) fn megabytes(&self) -> Option<u64> {
        megabytes(&self.child)
    }

    /// Fails if the server holds more than this, in megabytes.
    #[track_caller]
    pub(crate) fn holds_at_most(&self, limit: u64) {
        if let Some(held) = self.megabytes() {
            assert!(held <= limit, "the server holds {held} MB");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn megabytes(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// A call of the tool `echo` in the manner of 2026-07-28, as a whole HTTP request.
pub(crate) fn call(text: &str) -> Vec<u8> {
    request(&[("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "echo")], call_body(text))
}

pub(crate) fn call_body(text: &str) -> Vec<u8> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "echo", "arguments": {"text": text}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string().into_bytes()
}

/// An example of this crate, which cargo has built along with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let mine = std::env::current_exe().unwrap();
    let program = mine.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(program.exists(), "{} is not built: cargo build --examples", program.display());
    program
}
