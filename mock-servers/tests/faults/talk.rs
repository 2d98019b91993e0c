//! What a client hears of a fault over each front, from the first byte to the last.

use std::{io::Read, thread};

use mcp_workbench_mock_servers::{Recorder, Script, SseMock};
use serde_json::{Value, json};

use super::{
    process::Process,
    table::{Talk, TestTransport},
    wire::{End, LEGACY, SEED, Server, Wire, is_complete, on_call},
};

/// The method of the notification that comes when everything has been said.
const OVER: &str = "test/over";

/// A client's talk with a server that may have a fault.
#[derive(Debug, Clone)]
pub(super) struct Talking<'a> {
    pub(super) front: TestTransport,
    pub(super) talk: Talk,
    /// None: a good server.
    pub(super) fault: Option<&'a Value>,
    /// Whether a notification goes before the answer.
    pub(super) streamed: bool,
    pub(super) seed: u64,
}

/// What was heard: the bytes of each connection, and how it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) heard: Vec<(String, Vec<u8>)>,
    /// What is another in every run or follows from the seed without a fault: ports, sessions.
    names: Vec<(String, &'static str)>,
}

impl Bytes {
    fn add(&mut self, end: impl std::fmt::Debug, bytes: Vec<u8>) {
        self.heard.push((format!("{end:?}"), bytes));
    }

    /// Without what is another in every run: the system chooses ports.
    pub(super) fn without_ports(&self) -> Vec<(String, Vec<u8>)> {
        self.without(|name| name == "PORT")
    }

    /// Without what follows from the seed whether or not there is a fault.
    pub(super) fn without_sessions(&self) -> Vec<(String, Vec<u8>)> {
        self.without(|_| true)
    }

    fn without(&self, unwanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
        let mut heard = self.heard.clone();
        for (text, name) in self.names.iter().filter(|(_, name)| unwanted(name)) {
            for (_, bytes) in &mut heard {
                *bytes = replaced(bytes, text.as_bytes(), name.as_bytes());
            }
        }
        heard
    }

    /// Everything as text.
    pub(super) fn text(&self) -> String {
        self.heard.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect()
    }
}

/// The port of an address with its colon: the digits alone may be part of a session id.
fn port_of(host: &str) -> String {
    format!(":{}", host.rsplit_once(':').unwrap().1)
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut all, mut rest) = (Vec::new(), bytes);
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        all.extend_from_slice(&rest[..at]);
        all.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    [all.as_slice(), rest].concat()
}

fn count(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).filter(|window| *window == text.as_bytes()).count()
}

fn calling(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "arguments": {}}})
}

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 99, "method": "ping"})
}

impl Talking<'_> {
    /// What is heard in this talk.
    pub(super) async fn heard(&self) -> Bytes {
        match self.front {
            TestTransport::Http => self.over_http().await,
            TestTransport::Stdio => {
                let talking = self.script();
                let (talk, seed) = (self.talk, self.seed);
                tokio::task::spawn_blocking(move || over_stdio(&talking, talk, seed)).await.unwrap()
            }
            TestTransport::Sse => self.over_sse().await,
        }
    }

    fn script(&self) -> Value {
        let fault: Vec<Value> = self.fault.map(|fault| json!({ "fault": fault })).into_iter().collect();
        if matches!(self.talk, Talk::Get | Talk::Opened) {
            let rules = self.fault.map(|fault| json!({"fault": fault, "when": {"method": "GET"}}));
            return json!({"faults": rules.as_slice()});
        }
        let mut actions = fault;
        if self.streamed {
            actions
                .push(json!({"notify": {"method": "notifications/message", "params": {"level": "info", "data": "é"}}}));
        }
        if self.talk == Talk::Overtaken {
            actions.push(json!("default"));
        }
        let settles = self.talk == Talk::Unanswered || (self.talk == Talk::Call && self.fault.is_some());
        // Over Streamable HTTP the end of the answer tells that it is over.
        if self.front != TestTransport::Http && !settles {
            if self.talk != Talk::Overtaken {
                actions.push(json!("default"));
            }
            actions.push(json!({"notify": {"method": OVER, "anyway": true}}));
        }
        if actions.is_empty() {
            actions.push(json!("default"));
        }
        let mut script = on_call(actions.clone());
        if self.talk == Talk::Overtaken && self.fault.is_some() {
            // The second call is answered as if nothing were wrong.
            script["on"][0]["when"]["nth"] = 1.into();
            let plain = json!({"when": {"method": "tools/call"}, "do": actions[1..]});
            script["on"].as_array_mut().unwrap().push(plain);
        }
        script
    }

    async fn over_http(&self) -> Bytes {
        let recorder = Recorder::in_memory("mock");
        let mut server = Server::recorded(&self.script(), LEGACY, self.seed, recorder.clone()).await;
        let mut bytes = Bytes::default();
        let opened = server.initialize().await;
        bytes.add(opened.end, opened.without_date());
        bytes.names.push((port_of(server.host()), "PORT"));
        bytes.names.push((server.session().unwrap().to_owned(), "SESSION"));
        let mut receive = async |request: String| {
            let heard = server.connect().await.exchange(&request).await;
            bytes.add(heard.end, heard.without_date());
        };
        match self.talk {
            Talk::Calls => {
                receive(server.calling(1)).await;
                receive(server.calling(2)).await;
            }
            Talk::Call | Talk::Terminated | Talk::Opened => receive(server.calling(1)).await,
            Talk::Get => receive(server.get()).await,
            Talk::Unanswered => {
                let mut unanswered = server.connect().await;
                unanswered.send(&server.calling(1)).await;
                receive(server.post(&ping())).await;
                assert!(unanswered.is_silent());
            }
            Talk::Overtaken => {
                let mut first = server.connect().await;
                first.send(&server.calling(1)).await;
                recorder.wait_until(|frames| frames.iter().any(|frame| frame.id() == Some(&json!(1)))).await;
                receive(server.calling(2)).await;
                let heard = first.receive().await;
                bytes.add(heard.end, heard.without_date());
            }
        }
        bytes
    }

    async fn over_sse(&self) -> Bytes {
        let mock = sse(&self.script(), self.seed).await;
        let mut session = Session::open(&mock.address().to_string()).await;
        match self.talk {
            Talk::Get => session.until(|_| false).await,
            Talk::Opened => {}
            talk => {
                session.initialize().await;
                session.talk(talk).await;
            }
        }
        session.bytes()
    }
}

/// A session over HTTP+SSE.
struct Session {
    host: String,
    stream: Wire,
    /// The bytes of the stream.
    heard: Vec<u8>,
    end: End,
    path: Option<String>,
    posts: Vec<Vec<u8>>,
}

impl Session {
    async fn open(host: &str) -> Self {
        let mut stream = Wire::to(host).await;
        stream.send(&format!("GET /sse HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\n\r\n")).await;
        let mut session = Self {
            host: host.to_owned(),
            stream,
            heard: Vec::new(),
            end: End::Complete,
            path: None,
            posts: Vec::new(),
        };
        session.until(|body| body.ends_with(b"\n\n")).await;
        session.path = session.said().lines().find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        session
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.heard).into_owned()
    }

    /// Hears until this holds for the body of the stream, or the stream ends.
    async fn until(&mut self, enough: impl Fn(&[u8]) -> bool) {
        if self.goes_on() {
            let heard = std::mem::take(&mut self.heard);
            let heard = self.stream.until(heard, |bytes| is_complete(bytes) || enough(&unchunked(bytes))).await;
            (self.heard, self.end) = (heard.bytes, heard.end);
        }
    }

    fn goes_on(&self) -> bool {
        self.end == End::Complete && !is_complete(&self.heard)
    }

    async fn post(&mut self, message: &Value) {
        let (body, path) = (message.to_string(), self.path.as_deref().unwrap());
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json", self.host);
        let request = format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}");
        let heard = Wire::to(&self.host).await.exchange(&request).await;
        self.posts.push(heard.without_date());
    }

    async fn initialize(&mut self) {
        let params = json!({"protocolVersion": "2024-11-05"});
        self.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        self.until(|body| count(body, "\"id\":0") == 1 && body.ends_with(b"\n\n")).await;
    }

    async fn talk(&mut self, talk: Talk) {
        match talk {
            Talk::Calls => {
                for id in 1..3 {
                    self.post(&calling(id)).await;
                    self.until(|body| count(body, OVER) >= usize::try_from(id).unwrap()).await;
                }
            }
            Talk::Overtaken => {
                self.post(&calling(1)).await;
                self.post(&calling(2)).await;
                self.until(|body| count(body, OVER) == 2).await;
            }
            Talk::Call => {
                self.post(&calling(1)).await;
                // Either it is over, or the stream ends.
                self.until(|body| count(body, OVER) == 1).await;
            }
            _ => self.post(&calling(1)).await,
        }
        if talk != Talk::Call && self.goes_on() {
            self.post(&ping()).await;
            self.until(|body| count(body, "\"id\":99") == 1 && body.ends_with(b"\n\n")).await;
        }
    }

    fn bytes(mut self) -> Bytes {
        let mut bytes = Bytes::default();
        let head = self.said();
        let lines = head.split_inclusive("\r\n").find(|line| line.starts_with("date: ")).unwrap_or_default();
        bytes.add(self.end, replaced(&self.heard, lines.as_bytes(), b""));
        for post in self.posts.drain(..) {
            bytes.add("POST", post);
        }
        let session = self.path.as_deref().and_then(|path| path.split_once("session=%2B")).map(|(_, id)| id.trim());
        bytes.names.extend(session.map(|id| (id.to_owned(), "SESSION")));
        bytes.names.push((port_of(&self.host), "PORT"));
        bytes
    }
}

/// What a GET of a server with this script is answered with over HTTP+SSE, until its end.
pub(super) async fn opened(script: &Value) -> Bytes {
    let mock = sse(script, SEED).await;
    let host = mock.address().to_string();
    let mut stream = Wire::to(&host).await;
    stream.send(&format!("GET /sse HTTP/1.1\r\nhost: {host}\r\n\r\n")).await;
    let heard = stream.receive().await;
    let mut bytes = Bytes::default();
    bytes.add(heard.end, heard.bytes);
    bytes
}

/// What the POST of a call is answered with over HTTP+SSE by a server that does this.
pub(super) async fn posted(actions: &Value) -> String {
    let mock = sse(&on_call(actions.clone()), SEED).await;
    let mut session = Session::open(&mock.address().to_string()).await;
    session.initialize().await;
    session.post(&calling(1)).await;
    String::from_utf8(session.posts.pop().unwrap()).unwrap()
}

/// Calls the tool of a server over HTTP+SSE that does this, and hears the end of the stream; the server comes back.
pub(super) async fn ended(actions: &Value) -> SseMock {
    let mock = sse(&on_call(actions.clone()), SEED).await;
    let mut session = Session::open(&mock.address().to_string()).await;
    session.initialize().await;
    session.post(&calling(1)).await;
    session.until(|_| false).await;
    mock
}

async fn sse(script: &Value, seed: u64) -> SseMock {
    let script: Script = serde_json::from_value(script.clone()).unwrap();
    SseMock::start(script, "2024-11-05", seed, Recorder::default()).await.unwrap()
}

/// The body of what was heard, as far as its chunks are here.
pub(super) fn unchunked(bytes: &[u8]) -> Vec<u8> {
    let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Vec::new() };
    let (mut body, mut rest) = (Vec::new(), &bytes[head + 4..]);
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..line]), 16).unwrap_or_default();
        let Some(chunk) = rest.get(line + 2..line + 2 + size + 2).filter(|_| size > 0) else { break };
        body.extend_from_slice(&chunk[..size]);
        rest = &rest[line + 2 + size + 2..];
    }
    body
}

fn over_stdio(script: &Value, talk: Talk, seed: u64) -> Bytes {
    let mut process = Process::start(script, seed);
    let mut stderr = process.child.stderr.take().unwrap();
    let flood = thread::spawn(move || {
        let mut all = Vec::new();
        stderr.read_to_end(&mut all).map(|_| all)
    });
    let mut heard = process.handshake();
    let mut receive = |process: &mut Process, times: usize| {
        let before = heard.len();
        let said = std::mem::take(&mut heard);
        let more = process.until(|more| count(&said, OVER) + count(more, OVER) >= times);
        heard = [said, more].concat();
        assert!(heard.len() >= before);
    };
    match talk {
        Talk::Calls => {
            process.send(&calling(1));
            receive(&mut process, 1);
            process.send(&calling(2));
            receive(&mut process, 2);
        }
        Talk::Overtaken => {
            process.send(&calling(1));
            process.send(&calling(2));
            receive(&mut process, 2);
        }
        Talk::Call | Talk::Terminated => {
            process.send(&calling(1));
            receive(&mut process, 1);
        }
        _ => process.send(&calling(1)),
    }
    if talk == Talk::Terminated {
        process.terminate();
    }
    // A process that says nothing more may still live, and one that lives answers a ping after all that it has said.
    if !process.ended {
        process.send(&ping());
        heard.extend(process.until(|more| count(more, "\"id\":99") == 1 && more.ends_with(b"}\n")));
    }
    process.kill_children();
    process.close_input();
    let status = process.wait();
    let mut bytes = Bytes::default();
    bytes.add(status, heard);
    bytes.add("stderr", flood.join().unwrap().unwrap());
    bytes
}
