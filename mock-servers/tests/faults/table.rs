//! One row per fault: a sample, and the talk in which a client observes it on each transport.

use evidence::Transport;
use mcp_workbench_mock_servers::faults::{Fault, Randomness};
use serde_json::{Value, json};

/// The transports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestTransport {
    /// Streamable HTTP.
    Http,
    /// Standard input and output of a process.
    Stdio,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Talk {
    /// It calls the tool twice, the second time after the first answer.
    Calls,
    /// It calls the tool once.
    Call,
    /// It calls the tool, twice, the second time before the first answer.
    Overtaken,
    /// It calls the tool, to which nothing is answered where it listens, and goes on with a ping.
    Unanswered,
    /// It opens the stream of the server's own messages, and hears its end.
    Get,
    /// It opens that stream, and hears that it is open.
    Opened,
    /// It calls the tool, sends SIGTERM and goes on with a ping.
    Terminated,
}

use Talk::{Call, Calls, Get, Opened, Overtaken, Terminated, Unanswered};

/// One fault.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) sample: Value,
    pub(super) fault: Fault,
}

impl Row {
    /// The talk on this transport, and whether the fault can be observed in it.
    pub(super) fn talk(&self, front: TestTransport) -> (Talk, bool) {
        let [http, stdio, sse] = talks(&self.fault);
        let (talk, transport) = match front {
            TestTransport::Http => (http, Transport::StreamableHttp),
            TestTransport::Stdio => (stdio, Transport::Stdio),
            TestTransport::Sse => (sse, Transport::HttpSse),
        };
        let observable = self.fault.class().transports.contains(&transport);
        (if observable { talk } else { Calls }, observable)
    }

    /// Whether a notification precedes the response, so that the response is an event over Streamable HTTP too.
    pub(super) fn is_streamed(&self) -> bool {
        use Fault::{BadRetry, Coalesce, EventFields, Fragment, LineEnds, NoEventId, SlowDrip};
        matches!(
            self.fault,
            Fragment(_) | Coalesce(_) | SlowDrip(_) | LineEnds(_) | NoEventId | EventFields(_) | BadRetry(_)
        )
    }

    /// Whether the bytes on this transport depend on the seed.
    pub(super) fn is_drawn(&self, front: TestTransport) -> bool {
        match self.fault {
            // It draws a time; `latency.rs` tests that.
            Fault::Latency(_) => false,
            // Over stdio only the time shows the cuts.
            Fault::Fragment(_) => front != TestTransport::Stdio,
            _ => self.fault.class().randomness == Randomness::Seeded,
        }
    }
}

/// The talks on Streamable HTTP, stdio and HTTP+SSE.
fn talks(fault: &Fault) -> [Talk; 3] {
    match fault {
        Fault::Silence => [Unanswered; 3],
        Fault::Reorder(_) => [Overtaken; 3],
        Fault::Close | Fault::Disconnect(_) | Fault::Exit(_) | Fault::Truncate(_) => [Call; 3],
        Fault::IgnoreSigterm => [Terminated; 3],
        Fault::StreamError(_) => [Get, Call, Get],
        Fault::HttpStatus(_) | Fault::RetryAfter(_) | Fault::Redirect(_) | Fault::SessionExpiry => {
            [Calls, Unanswered, Unanswered]
        }
        Fault::WrongContentType(_) => [Calls, Calls, Opened],
        Fault::Rewrite(_) | Fault::PrettyPrint | Fault::HttpHead(_) => [Calls; 3],
        Fault::Delay(_) | Fault::Latency(_) | Fault::LateReply(_) => [Calls; 3],
        Fault::Garbage(_) | Fault::LogLines(_) | Fault::StderrFlood(_) | Fault::NotificationFlood(_) => [Calls; 3],
        Fault::Grandchild(_) | Fault::Leak(_) => [Calls; 3],
        Fault::WrongId | Fault::NullId | Fault::FloatId | Fault::StringId | Fault::UnknownFields => [Calls; 3],
        Fault::BothResultAndError | Fault::NeitherResultNorError | Fault::Duplicate => [Calls; 3],
        Fault::DeepNesting(_) | Fault::Oversize(_) => [Calls; 3],
        Fault::ByteOrderMark | Fault::InvalidUtf8(_) | Fault::MalformedJson(_) => [Calls; 3],
        Fault::Fragment(_) | Fault::Coalesce(_) | Fault::SlowDrip(_) => [Calls; 3],
        Fault::LineEnds(_) | Fault::NoEventId | Fault::EventFields(_) | Fault::BadRetry(_) => [Calls; 3],
    }
}

/// All rows: the faults without parameters by their names, the others by a sample.
pub(super) fn rows() -> Vec<Row> {
    let samples = [
        json!({"delay": "2ms"}),
        json!({"latency": {"from": "1ms", "to": "5ms"}}),
        json!({"late-reply": "2ms"}),
        json!({"reorder": {"within": "10s"}}),
        json!({"garbage": "<{{id}}>"}),
        json!({"log-lines": {"count": 2, "text": "WARN"}}),
        json!({"stderr-flood": {"bytes": 100_000}}),
        json!({"notification-flood": {"count": 20}}),
        json!({"disconnect": {"moment": "inside"}}),
        json!({"exit": {"code": 3}}),
        json!({"grandchild": {"setsid": true}}),
        json!({"leak": {"bytes": 100}}),
        json!({"truncate": 9}),
        json!({"stream-error": {"after": "2ms"}}),
        json!({"http-status": {"status": 503, "headers": {"X-A": "b"}, "body": "no"}}),
        json!({"retry-after": {"value": "3"}}),
        json!({"redirect": {"to": {"same-origin": "/mcp"}}}),
        json!({"wrong-content-type": "text/html"}),
        json!({"http-head": {"status": 203, "set": {"X-A": "b"}, "remove": "content-type"}}),
        json!({"rewrite": {"remove": "/result/content"}}),
        json!({"deep-nesting": 200}),
        json!({"oversize": 100_000}),
        json!({"invalid-utf8": {}}),
        json!({"malformed-json": {}}),
        json!({"fragment": {"cut": {"random": 3}, "pause": "1ms"}}),
        json!({"coalesce": {"messages": 3}}),
        json!({"slow-drip": {"bytes": 20, "every": "1ms"}}),
        json!({"line-ends": "crlf"}),
        json!({"event-fields": {"id": "same", "event": "update", "ignored": [": comment", "x-unknown"], "tight": true}}),
        json!({"bad-retry": "soon"}),
    ];
    let has_sample = |name: &String| samples.iter().any(|sample| sample.get(name).is_some());
    let plain = Fault::names().into_iter().filter(|name| !has_sample(name)).map(Value::from);
    let row = |sample: Value| Row { fault: serde_json::from_value(sample.clone()).unwrap(), sample };
    plain.chain(samples.clone()).map(row).collect()
}

#[test]
fn every_fault_has_one_row_and_its_own_name() {
    let rows = rows();
    assert!(rows.len() >= 40, "{}", rows.len());
    let mut named: Vec<_> = rows.iter().map(|row| row.fault.name()).collect();
    let mut names = Fault::names();
    named.sort();
    names.sort();
    assert_eq!(named, names);
    for row in rows {
        let key = row.sample.as_object().and_then(|sample| sample.keys().next()).map(String::as_str);
        assert_eq!(row.sample.as_str().or(key), Some(row.fault.name().as_str()));
    }
}
