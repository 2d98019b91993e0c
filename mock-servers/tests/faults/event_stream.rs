//! Each fault over HTTP+SSE: what is on the stream, and what the POST is answered with, beside the same without the fault.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    table::{Row, Talk, TestTransport, rows},
    talk::{Bytes, Talking, unchunked},
    wire::SEED,
};

/// What came on the stream, and on the POSTs.
struct Seen {
    head: String,
    body: Vec<u8>,
    /// How the stream ended.
    end: String,
    /// How many chunks the server made of it.
    chunks: usize,
    /// The answers to the POSTs after `initialize`.
    posts: Vec<String>,
    took: Duration,
}

impl Seen {
    fn from_bytes(bytes: &Bytes, took: Duration) -> Self {
        let (end, stream) = &bytes.heard[0];
        let at = stream.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        let posts = bytes.heard.iter().skip(2).map(|(_, post)| String::from_utf8_lossy(post).into_owned());
        Self {
            head: String::from_utf8_lossy(&stream[..at]).into_owned(),
            body: unchunked(stream),
            end: end.clone(),
            chunks: stream[at..].windows(2).filter(|window| window == b"\r\n").count() / 2,
            posts: posts.collect(),
            took,
        }
    }

    async fn talk(row: &Row, fault: Option<&Value>) -> Self {
        let (talk, observable) = row.talk(TestTransport::Sse);
        assert!(observable, "{row:?}");
        // What a good server answers ends no stream.
        let talk = if fault.is_none() && talk == Talk::Get { Talk::Opened } else { talk };
        let start = Instant::now();
        let bytes =
            Talking { front: TestTransport::Sse, talk, fault, streamed: row.is_streamed(), seed: SEED }.heard().await;
        Self::from_bytes(&bytes, start.elapsed())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn data(&self) -> Vec<String> {
        self.text().lines().filter_map(|line| line.strip_prefix("data: ").map(str::to_owned)).collect()
    }

    /// The answers after that to `initialize`, where they are JSON.
    fn answers(&self) -> Vec<Value> {
        let messages = self.data().into_iter().filter_map(|data| data.parse::<Value>().ok());
        messages.filter(|message| message.get("method").is_none()).skip(1).filter(|one| one["id"] != 99).collect()
    }

    fn ids(&self) -> Vec<Value> {
        self.answers().iter().map(|answer| answer["id"].clone()).collect()
    }

    fn holds(&self, bytes: &[u8]) -> usize {
        self.body.windows(bytes.len()).filter(|window| *window == bytes).count()
    }

    fn broke_off(&self) -> bool {
        self.end == "Closed" && self.posts.iter().all(|post| post.starts_with("HTTP/1.1 202 "))
    }

    /// The stream goes on without an answer to the call, and the POST is answered in this way.
    fn is_refused(&self, line: &str, header: &str) -> bool {
        let post = &self.posts[0];
        self.answers().is_empty() && self.end == "Complete" && post.starts_with(line) && post.contains(header)
    }
}

/// Whether the fault is seen.
fn is_seen(name: &str, seen: &Seen, plain: &Seen) -> bool {
    let both = [json!(1), json!(2)];
    match name {
        "silence" => seen.is_refused("HTTP/1.1 202 ", "") && seen.text().contains("\"id\":99"),
        "delay" | "late-reply" => seen.body == plain.body && seen.took >= Duration::from_millis(120),
        "latency" => seen.body == plain.body && seen.took >= Duration::from_millis(120),
        "reorder" => seen.ids() == [json!(2), json!(1)] && plain.ids() == both,
        "garbage" => seen.holds(b"event: message\ndata: <1>\n\n") == 1 && seen.ids() == both,
        "log-lines" => seen.holds(b"event: message\ndata: WARN 2\n\n") == 2 && seen.ids() == both,
        "notification-flood" => seen.holds(b"notifications/") == plain.holds(b"notifications/") + 40,
        "close" | "exit" => seen.broke_off() && seen.answers().is_empty() && plain.ids().len() == 1,
        "disconnect" => seen.broke_off() && seen.data()[2].len() == plain.data()[2].len() / 2,
        "truncate" => seen.broke_off() && seen.body.ends_with(b"event: message\ndata: {\"jsonrpc"),
        "stream-error" => seen.broke_off() && seen.data() == plain.data() && plain.end == "Complete",
        "http-status" => seen.is_refused("HTTP/1.1 503 ", "x-a: b\r\n") && seen.posts[0].ends_with("\r\n\r\nno"),
        "retry-after" => seen.is_refused("HTTP/1.1 429 ", "retry-after: 3\r\n"),
        "redirect" => seen.is_refused("HTTP/1.1 307 ", "location: http://127.0.0.1:"),
        "session-expiry" => seen.is_refused("HTTP/1.1 404 ", ""),
        "wrong-content-type" => seen.head.contains("content-type: text/html\r\n") && seen.body == plain.body,
        "rewrite" => seen.answers().iter().all(|one| one["result"].get("content").is_none()),
        "pretty-print" => seen.holds(b"data: {\ndata:   \"jsonrpc\"") >= 2,
        "wrong-id" => seen.ids().iter().all(|id| id.as_u64() > Some(1_000)),
        "null-id" => seen.ids() == [Value::Null, Value::Null],
        "float-id" => seen.ids() == [json!(1.5), json!(2.5)],
        "string-id" => seen.ids() == [json!("1"), json!("2")],
        "unknown-fields" => seen.holds(b"\"x-unknown-") >= 4 && seen.ids() == both,
        "both-result-and-error" => {
            seen.answers().iter().all(|one| one["result"].is_object() && one["error"].is_object())
        }
        "neither-result-nor-error" => seen.answers().iter().all(|one| one.as_object().unwrap().len() == 2),
        "duplicate" => seen.ids() == [json!(1), json!(1), json!(2), json!(2)],
        "deep-nesting" => seen.holds(&[b'['; 200]) >= 2,
        "oversize" => seen.data().iter().filter(|data| data.len() >= 100_000).count() >= 2,
        "byte-order-mark" => seen.holds(b"data: \xef\xbb\xbf{") >= 2,
        "invalid-utf8" => std::str::from_utf8(&seen.body).is_err(),
        "malformed-json" => seen.answers().is_empty(),
        "fragment" => seen.body == plain.body && seen.chunks > plain.chunks,
        "coalesce" => seen.body == plain.body && seen.chunks < plain.chunks,
        "slow-drip" => seen.body == plain.body && seen.chunks > plain.body.len() / 40,
        "line-ends" => seen.holds(b"\r\n\r\n") >= 4 && seen.text().replace('\r', "") == plain.text(),
        "bad-retry" => {
            seen.text().replace("retry: soon\n", "") == plain.text() && seen.holds(b"retry: soon\nevent: ") > 2
        }
        _ => seen.body != plain.body,
    }
}

#[tokio::test]
async fn every_fault_that_makes_sense_here_is_seen() {
    for mut row in rows() {
        let name = row.fault.name();
        if !row.talk(TestTransport::Sse).1 {
            continue;
        }
        match name.as_str() {
            "delay" | "late-reply" => row.sample[&name] = json!("60ms"),
            "latency" => row.sample[&name] = json!({"from": "60ms", "to": "61ms"}),
            _ => {}
        }
        let (seen, plain) = (Seen::talk(&row, Some(&row.sample)).await, Seen::talk(&row, None).await);
        let words =
            format!("{name}: {} {:?}, ended {}\n{}{}", seen.head, seen.posts, seen.end, seen.text(), plain.text());
        assert!(is_seen(&name, &seen, &plain), "{words}");
        let good = Seen::talk(&row, None).await;
        assert!(!is_seen(&name, &good, &plain), "{name} is seen where it is not");
    }
}

/// The head of the answer to a GET of a server with these faults, and the end of what follows.
async fn got(faults: Value) -> (String, String) {
    let heard = super::talk::opened(&json!({ "faults": faults })).await;
    let (end, bytes) = &heard.heard[0];
    (String::from_utf8_lossy(bytes).into_owned(), end.clone())
}

#[tokio::test]
async fn a_stream_may_be_refused_and_its_connection_dropped() {
    let (answer, _) = got(json!([
        {"fault": {"delay": "1ms"}, "when": {"method": "GET"}},
        {"fault": {"http-status": {"status": 503, "body": "no"}}, "when": {"method": "GET"}},
    ]))
    .await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("\r\n\r\nno"), "{answer}");
    for (by, end) in [("close", "Closed"), ("reset", "Reset")] {
        let dropped = got(json!([{"fault": {"disconnect": {"by": by}}, "when": {"method": "GET"}}])).await;
        assert_eq!(dropped, (String::new(), end.to_owned()));
    }
    let (answer, end) = got(json!([{"fault": {"stream-error": {"by": "reset"}}, "when": {"method": "GET"}}])).await;
    assert!(answer.contains("event: endpoint\n") && end == "Reset", "{end}: {answer}");
    let (answer, _) = got(json!([{"fault": "session-expiry", "when": {"method": "GET"}}])).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[tokio::test]
async fn an_answer_to_a_post_that_comes_late_is_worded_all_the_same() {
    let row = rows().into_iter().find(|row| row.fault.name() == "http-status").unwrap();
    let late = json!([{"fault": {"delay": "5ms"}}, {"fault": row.sample}]);
    let heard = super::talk::posted(&late).await;
    assert!(heard.contains("HTTP/1.1 503 "), "{heard}");
}
