//! Workers against a master that is a ROUTER socket, and against a mock server.

use std::collections::VecDeque;

use client::{Endpoint, HttpEndpoint};
use mock_servers::{MockServer, Script};
use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use zeromq::{RouterSocket, Socket as _, SocketRecv as _, SocketSend as _, ZmqMessage};

use super::{
    message::{Histogram, State, Stats, UserClasses},
    stats::Pending,
    users::{Command, Event},
    worker::Times,
    *,
};
use crate::bench::{
    CallFailure,
    raw::users::UserInterval,
    recorder::Recorder,
    shared::{Sample, Timing},
};

/// Timeout of everything that has to happen.
const SOON: Duration = Duration::from_secs(20);

/// A message of a worker: type, data and node id.
type Received = (String, Value, String);

/// A master: a socket, and what it received and did not expect yet.
struct Master {
    socket: RouterSocket,
    address: String,
    early: VecDeque<Received>,
    /// Identity of the worker that sent the last message.
    worker: Vec<u8>,
}

impl Master {
    async fn bind(address: &str) -> Self {
        let mut socket = RouterSocket::new();
        let bound = socket.bind(&format!("tcp://{address}")).await.unwrap().to_string();
        let address = bound.trim_start_matches("tcp://").to_owned();
        Self { socket, address, early: VecDeque::new(), worker: Vec::new() }
    }

    async fn receive(&mut self) -> Received {
        let message = timeout(SOON, self.socket.recv()).await.expect("a message").unwrap();
        assert_eq!(message.len(), 2, "an identity and one frame, without a delimiter");
        self.worker = message.get(0).unwrap().to_vec();
        // Keys of response times are numbers.
        let frame = message.get(1).unwrap();
        let (kind, _, node_id): (String, serde::de::IgnoredAny, String) = rmp_serde::from_slice(frame).unwrap();
        assert_eq!(node_id.as_bytes(), self.worker, "the node id is the identity");
        let data = match kind.as_str() {
            "stats" => rmp_serde::from_slice::<(String, StatsData, String)>(frame).unwrap().1.into(),
            _ => rmp_serde::from_slice::<(String, Value, String)>(frame).unwrap().1,
        };
        (kind, data, node_id)
    }

    /// Waits for a message of this type. Others are kept for later.
    async fn expect(&mut self, kind: &str) -> Received {
        if let Some(position) = self.early.iter().position(|(early, ..)| early == kind) {
            return self.early.remove(position).unwrap();
        }
        loop {
            let received = self.receive().await;
            if received.0 == kind {
                return received;
            }
            self.early.push_back(received);
        }
    }

    async fn send(&mut self, kind: &str, data: &Value) {
        let frame = rmp_serde::to_vec_named(&(kind, data, String::from_utf8(self.worker.clone()).unwrap())).unwrap();
        let mut message = ZmqMessage::from(self.worker.clone());
        message.push_back(frame.into());
        self.socket.send(message).await.unwrap();
    }

    async fn register(&mut self) -> String {
        let (_, version, node_id) = self.expect("client_ready").await;
        assert_eq!(version, -1);
        self.send("ack", &json!({ "index": 0 })).await;
        node_id
    }

    async fn spawn(&mut self, timestamp: f64, users: u64) {
        let data = json!({
            "timestamp": timestamp, "user_classes_count": { "McpUser": users }, "host": null, "stop_timeout": 0.0,
            "parsed_options": { "reset_stats": false },
        });
        self.send("spawn", &data).await;
        self.expect("spawning").await;
    }
}

/// The parts of statistics that JSON can express.
#[derive(serde::Deserialize)]
struct StatsData {
    stats_total: TotalData,
    errors: Value,
    user_count: u64,
}

#[derive(serde::Deserialize)]
struct TotalData {
    name: String,
    num_requests: u64,
    num_failures: u64,
}

impl From<StatsData> for Value {
    fn from(data: StatsData) -> Self {
        let StatsData { stats_total: total, errors, user_count } = data;
        assert_eq!(total.name, "Aggregated");
        json!({ "requests": total.num_requests, "failures": total.num_failures, "errors": errors, "users": user_count })
    }
}

/// A worker whose users the test plays.
struct Fixture {
    commands: mpsc::UnboundedReceiver<Command>,
    events: mpsc::UnboundedSender<Event>,
    notices: mpsc::UnboundedReceiver<Notice>,
    worker: JoinHandle<Result<(), WorkerError>>,
    cancel: CancellationToken,
}

impl Fixture {
    fn start(master: &str, times: Times) -> Self {
        let (command, commands) = mpsc::unbounded_channel();
        let (events, event) = mpsc::unbounded_channel();
        let (note, notices) = mpsc::unbounded_channel();
        let notify = move |notice| drop(note.send(notice));
        let worker = Worker::new(
            master.to_owned(),
            operations(&LoadPlan::new(&load(json!({}))).unwrap()),
            command,
            event,
            notify,
        )
        .with_times(times);
        let cancel = CancellationToken::new();
        let worker = tokio::spawn(worker.run(cancel.clone()));
        Self { commands, events, notices, worker, cancel }
    }

    async fn command(&mut self) -> Command {
        timeout(SOON, self.commands.recv()).await.expect("a command").unwrap()
    }

    async fn notice(&mut self) -> Notice {
        timeout(SOON, self.notices.recv()).await.expect("a notice").unwrap()
    }

    fn send(&self, event: Event) {
        self.events.send(event).ok().unwrap();
    }

    async fn end(self) -> Result<(), WorkerError> {
        timeout(SOON, self.worker).await.expect("the worker ends").unwrap()
    }
}

/// Reports only when the protocol requires one.
fn times() -> Times {
    let hour = Duration::from_secs(3_600);
    Times { report: hour, heartbeat: hour, ack: hour, lost: hour, retry: Duration::from_millis(1), give_up: hour }
}

/// A second with calls that succeeded after these microseconds, and with failures.
fn interval(second: u64, succeeded: &[u64], failures: &[Option<&'static str>]) -> Box<UserInterval> {
    let plan = LoadPlan::new(&load(json!({}))).unwrap();
    let timing = Timing::new(&plan);
    let mut recorder = Recorder::interval(&timing);
    let start = timing.start;
    let mut record = |micros: u64, outcome| {
        let ended = start + Duration::from_micros(micros);
        recorder.record(Sample { intended: start, sent: start, ended, last: None, outcome }, timing.end());
    };
    succeeded.iter().for_each(|micros| record(*micros, Ok(())));
    for kind in failures {
        record(2_000, Err(kind.map(|kind| CallFailure::new(kind, "text"))));
    }
    Box::new(UserInterval { second, recorder, unsent: crate::bench::latencies::Latencies::new() })
}

fn load(more: Value) -> Load {
    let mut load = json!({ "tool": "echo", "shape": { "closed": { "users": 1 } }, "duration": "10s" });
    for (key, value) in more.as_object().unwrap() {
        load[key] = value.clone();
    }
    serde_json::from_value(load).unwrap()
}

#[tokio::test]
async fn a_run_has_each_call_in_exactly_one_report() {
    let mut master = Master::bind("127.0.0.1:0").await;
    let mut fixture = Fixture::start(&master.address, times());
    let node_id = master.register().await;
    assert_eq!(fixture.notice().await, Notice::Registered { node_id });
    master.spawn(1.0, 3).await;
    assert_eq!(fixture.command().await, Command::Users(3));
    fixture.send(Event::Changed);
    let (_, counts, _) = master.expect("spawning_complete").await;
    assert_eq!(counts, json!({ "user_classes_count": { "McpUser": 3 }, "user_count": 3 }));
    // An old message changes nothing; the next command is that of the new one.
    master.spawn(1.0, 9).await;
    master.spawn(2.0, 2).await;
    assert_eq!(fixture.command().await, Command::Users(2));
    fixture.send(Event::Changed);
    fixture.send(Event::Interval(interval(10, &[100, 200], &[Some("rpc-error")])));
    master.send("stop", &Value::Null).await;
    assert_eq!(fixture.command().await, Command::Stop(Duration::from_secs(1)));
    fixture.send(Event::Interval(interval(11, &[300], &[None])));
    fixture.send(Event::Stopped);
    let first = loop {
        let (_, stats, _) = master.expect("stats").await;
        if stats["requests"] != 0 {
            break stats;
        }
    };
    assert_eq!((&first["requests"], &first["failures"], &first["users"]), (&json!(5), &json!(2), &json!(0)));
    assert_eq!(first["errors"]["tools/call.echo.rpc-error"]["occurrences"], 1, "{first}");
    assert_eq!(first["errors"]["tools/call.echo.unfinished"]["occurrences"], 1, "{first}");
    master.expect("mcp_histogram").await;
    master.expect("client_stopped").await;
    master.register().await;
    // The next run starts without calls of the previous one.
    master.spawn(3.0, 1).await;
    assert_eq!(fixture.command().await, Command::Users(1));
    fixture.send(Event::Changed);
    fixture.send(Event::Interval(interval(20, &[100], &[])));
    master.send("quit", &Value::Null).await;
    let asked = Instant::now();
    assert!(matches!(fixture.command().await, Command::Stop(grace) if grace < Duration::from_millis(300)));
    fixture.send(Event::Interval(interval(21, &[100], &[])));
    fixture.send(Event::Stopped);
    let mut requests = 0;
    while requests < 2 {
        requests += master.expect("stats").await.1["requests"].as_u64().unwrap();
    }
    assert!(asked.elapsed() < Duration::from_millis(500), "the master waits 0.5 s for the last report");
    assert_eq!(requests, 2);
    master.expect("quit").await;
    assert!(fixture.end().await.is_ok());
}

#[tokio::test]
async fn users_that_do_not_stop_in_time_cost_no_report() {
    let mut master = Master::bind("127.0.0.1:0").await;
    let mut fixture = Fixture::start(&master.address, times());
    master.register().await;
    master.spawn(1.0, 1).await;
    fixture.send(Event::Interval(interval(10, &[100], &[])));
    master.expect("stats").await;
    master.send("quit", &Value::Null).await;
    let asked = Instant::now();
    // The users never confirm that they stopped.
    assert_eq!(fixture.command().await, Command::Users(1));
    let (_, stats, _) = master.expect("stats").await;
    assert!(asked.elapsed() < Duration::from_millis(500), "{:?}", asked.elapsed());
    assert_eq!(stats["requests"], 1);
    master.expect("quit").await;
    assert!(fixture.end().await.is_ok());
}

#[tokio::test]
async fn a_registration_is_repeated_until_it_is_acknowledged() {
    let mut master = Master::bind("127.0.0.1:0").await;
    let mut fixture = Fixture::start(&master.address, Times { ack: Duration::from_millis(20), ..times() });
    let (_, _, first) = master.expect("client_ready").await;
    let (_, _, second) = master.expect("client_ready").await;
    assert_eq!(first, second);
    master.send("ack", &Value::Null).await;
    assert_eq!(fixture.notice().await, Notice::Registered { node_id: first });
    fixture.cancel.cancel();
    // A cancelled worker ends at once.
    assert!(matches!(fixture.command().await, Command::Stop(_)));
    fixture.send(Event::Stopped);
    master.expect("quit").await;
    assert!(fixture.end().await.is_ok());
}

#[tokio::test]
async fn heartbeats_have_a_state_and_numbers() {
    let mut master = Master::bind("127.0.0.1:0").await;
    let mut fixture = Fixture::start(&master.address, Times { heartbeat: Duration::from_millis(10), ..times() });
    master.register().await;
    let (_, heartbeat, _) = master.expect("heartbeat").await;
    assert_eq!(heartbeat["state"], serde_json::to_value(State::Ready).unwrap());
    assert!(heartbeat["current_cpu_usage"].is_f64() && heartbeat["current_memory_usage"].as_u64() > Some(1_000_000));
    master.spawn(1.0, 1).await;
    assert_eq!(fixture.command().await, Command::Users(1));
    fixture.send(Event::Changed);
    while master.expect("heartbeat").await.1["state"] != "running" {}
}

#[tokio::test]
async fn a_master_that_closes_is_lost_and_the_worker_registers_at_the_next_one() {
    let mut master = Master::bind("127.0.0.1:0").await;
    let mut fixture = Fixture::start(&master.address, times());
    let first = master.register().await;
    assert!(matches!(fixture.notice().await, Notice::Registered { .. }));
    master.spawn(9.0, 2).await;
    assert_eq!(fixture.command().await, Command::Users(2));
    let address = master.address.clone();
    drop(master);
    // The users stop although nobody asked for it.
    assert!(matches!(fixture.command().await, Command::Stop(_)));
    fixture.send(Event::Interval(interval(10, &[100], &[])));
    fixture.send(Event::Stopped);
    assert!(matches!(fixture.notice().await, Notice::Lost { .. }));
    let mut master = Master::bind(&address).await;
    let second = master.register().await;
    assert_ne!(first, second, "the master may still have the old identity");
    // Its clock may be behind, and it does not get calls of the previous run.
    master.spawn(1.0, 1).await;
    assert_eq!(fixture.command().await, Command::Users(1));
    let (_, stats, _) = master.expect("stats").await;
    assert_eq!(stats["requests"], 0);
}

#[tokio::test]
async fn a_master_without_heartbeats_is_lost() {
    let mut master = Master::bind("127.0.0.1:0").await;
    let mut fixture = Fixture::start(&master.address, Times { lost: Duration::from_millis(100), ..times() });
    let first = master.register().await;
    assert!(matches!(fixture.notice().await, Notice::Registered { .. }));
    assert!(matches!(fixture.command().await, Command::Stop(_)));
    fixture.send(Event::Stopped);
    assert!(matches!(fixture.notice().await, Notice::Lost { .. }));
    assert_ne!(master.register().await, first);
}

#[tokio::test]
async fn a_worker_gives_up_without_a_master_and_ignores_invalid_messages() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let fixture = Fixture::start(&unused, Times { give_up: Duration::ZERO, ..times() });
    assert!(matches!(fixture.end().await, Err(WorkerError::NoMaster { .. })));
    let mut master = Master::bind("127.0.0.1:0").await;
    let mut fixture = Fixture::start(&master.address, times());
    master.register().await;
    master.send("spawn", &json!("not a spawn message")).await;
    master.send("something_new", &json!({ "a": [1] })).await;
    master.spawn(1.0, 4).await;
    assert_eq!(fixture.command().await, Command::Users(4));
    // An error of the users ends the worker, and the master gets the reason.
    fixture.send(Event::Failed(WorkerError::Raw(io::Error::other("no descriptors"))));
    let (_, exception, _) = master.expect("exception").await;
    assert_eq!(exception, json!({ "msg": "the load generator failed", "traceback": "no descriptors" }));
    master.expect("quit").await;
    assert!(matches!(fixture.end().await, Err(WorkerError::Raw(_))));
}

#[tokio::test]
async fn users_stay_stopped_between_drain_and_stop() {
    let mut master = Master::bind("127.0.0.1:0").await;
    let mut fixture = Fixture::start(&master.address, times());
    master.register().await;
    master.spawn(1.0, 2).await;
    assert_eq!(fixture.command().await, Command::Users(2));
    fixture.send(Event::Changed);
    master.expect("spawning_complete").await;
    master.send("mcp_drain", &json!(7)).await;
    assert_eq!(fixture.command().await, Command::Stop(Duration::from_secs(7)));
    // The ramp of the master goes on for a moment.
    master.spawn(2.0, 3).await;
    fixture.send(Event::Stopped);
    master.expect("mcp_drained").await;
    master.send("stop", &Value::Null).await;
    assert!(matches!(fixture.command().await, Command::Stop(_)));
    fixture.send(Event::Stopped);
    master.expect("client_stopped").await;
    master.expect("client_ready").await;
}

#[test]
fn response_times_keep_two_digits_below_a_millisecond() {
    let mut pending = Pending::new(operations(&LoadPlan::new(&load(json!({}))).unwrap()), 5.0);
    pending.add(&interval(10, &[27, 364, 364, 12_340], &[Some("rpc-error"), None]));
    pending.add(&interval(11, &[99_500], &[]));
    let users = UserClasses::from([("McpUser".to_owned(), 2)]);
    let (stats, histogram) = pending.take(&users, 13.0);
    let entry = &stats.stats[0];
    assert_eq!((entry.num_requests, entry.num_failures, entry.num_none_requests), (7, 2, 0));
    let times: Vec<(f64, u64)> = entry.response_times.millis().collect();
    assert_eq!(times, [(0.027, 1), (0.36, 2), (2.0, 2), (12.0, 1), (100.0, 1)]);
    assert_eq!((entry.min_response_time, entry.max_response_time), (Some(0.027), 99.5));
    assert!((entry.total_response_time - 116.595).abs() < 1e-9, "{}", entry.total_response_time);
    assert_eq!(entry.num_reqs_per_sec, [(10, 6), (11, 1)].into());
    assert_eq!(entry.num_fail_per_sec, [(10, 2)].into());
    assert_eq!((stats.stats_total.num_requests, stats.user_count), (7, 2));
    // As in a load test of one machine, the histogram has results and waiting times.
    let mut merger = reports::histogram_log::Merger::default();
    let histogram = histogram.unwrap();
    assert_eq!((histogram.start, histogram.duration, histogram.max_us), (5.0, 8.0, 99_500));
    merger.add(format!("0.000,8.000,0.000,{}\n", histogram.histogram).as_bytes()).unwrap();
    assert_eq!(merger.finish().unwrap().total.count, 6);
    // Everything was reported.
    let (stats, histogram) = pending.take(&users, 14.0);
    assert_eq!((stats.stats.len(), stats.stats_total.num_requests, histogram), (0, 0, None));
}

/// The report of the calls of one second.
fn reported(plan: &LoadPlan, recorder: Recorder) -> (Stats, Option<Histogram>) {
    let mut pending = Pending::new(operations(plan), 5.0);
    pending.add(&UserInterval { second: 10, recorder, unsent: crate::bench::latencies::Latencies::new() });
    pending.take(&UserClasses::new(), 13.0)
}

#[test]
fn the_operations_of_a_mix_have_statistics_of_their_own() {
    let mut load = load(json!({}));
    (load.tool, load.mix) = (None, vec!["3:echo".parse().unwrap(), "1:tools/list".parse().unwrap()]);
    let plan = LoadPlan::new(&load).unwrap();
    let timing = Timing::new(&plan);
    let mut recorder = Recorder::interval(&timing);
    let (intended, sent) = (timing.start, timing.start);
    for (row, micros, outcome) in [
        (0, 400, Ok(())),
        (1, 900, Ok(())),
        (1, 2_000, Err(Some(CallFailure::new("rpc-error", "text")))),
        (0, 50, Err(None)),
    ] {
        let ended = sent + Duration::from_micros(micros);
        recorder.record(Sample { intended, sent, ended, last: Some((row, sent)), outcome }, timing.end());
    }
    let (stats, _) = reported(&plan, recorder);
    let entries = stats.stats.iter().map(|entry| {
        let times: u64 = entry.response_times.millis().map(|(_, count)| count).sum();
        (entry.method.as_str(), entry.name.as_str(), entry.num_requests, entry.num_failures, times)
    });
    assert_eq!(entries.collect::<Vec<_>>(), [("tools/call", "echo", 2, 1, 2), ("tools/list", "tools/list", 2, 1, 2)]);
    assert_eq!((stats.stats_total.num_requests, stats.stats_total.num_failures), (4, 2));
    let errors: Vec<_> = stats.errors.keys().map(String::as_str).collect();
    assert_eq!(errors, ["tools/call.echo.unfinished", "tools/list.tools/list.rpc-error"]);
}

#[test]
fn the_operations_of_a_sequence_add_up_to_the_total() {
    let mut load = load(json!({}));
    (load.tool, load.steps) = (None, vec!["tools/list".parse().unwrap(), "echo".parse().unwrap()]);
    let plan = LoadPlan::new(&load).unwrap();
    let timing = Timing::new(&plan);
    let mut recorder = Recorder::interval(&timing);
    let (intended, sent) = (timing.start, timing.start);
    for (outcome, steps) in [(Ok(()), 1), (Err(Some(CallFailure::new("rpc-error", "text"))), 1), (Err(None), 0)] {
        (0..steps).for_each(|_| recorder.record_step(0, Duration::from_micros(300)));
        let ended = sent + Duration::from_micros(900);
        recorder.record(Sample { intended, sent, ended, last: Some((steps, sent)), outcome }, timing.end());
    }
    let (stats, histogram) = reported(&plan, recorder);
    let entries = stats.stats.iter().map(|entry| (entry.name.as_str(), entry.num_requests, entry.num_failures));
    assert_eq!(entries.collect::<Vec<_>>(), [("tools/list", 3, 1), ("echo", 2, 1)]);
    assert_eq!((stats.stats_total.num_requests, stats.stats_total.num_failures), (5, 2));
    assert_eq!(stats.stats_total.num_reqs_per_sec, [(10, 5)].into());
    // Its durations are those of whole iterations, with the waiting time of the one that was stopped.
    assert_eq!(histogram.unwrap().max_us, 900);
}

/// Calls of `echo` that a server received.
fn calls(received: &[mock_servers::mock::Received]) -> usize {
    received.iter().filter(|message| message.tool() == Some("echo")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_changing_users_are_those_of_the_server() {
    let replies = json!({ "tools": [{ "name": "echo", "reply": { "text": "hello" } }] });
    let mut silent = replies.clone();
    silent["on"] = json!([{ "when": { "tool": "echo" }, "do": { "fault": "silence" } }]);
    for (script, think_time, rate_per_user, abandoned) in [
        (&replies, Some(Duration::from_millis(5)), None, 0),
        (&replies, None, Some(100.0), 0),
        // Each user has one call, which never ends.
        (&silent, None, None, 4),
    ] {
        let script: Script = serde_json::from_value(script.clone()).unwrap();
        let mock = MockServer::start(script).await.unwrap();
        let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url: mock.url(), ..HttpEndpoint::default() });
        let settings = WorkerSettings {
            master: String::new(),
            config: ServerConfig::new("mock", endpoint),
            connections: Some(2),
            load: load(json!({})),
            think_time,
            rate_per_user,
            max_in_flight: None,
            seed: 0,
        };
        let (command, commands) = mpsc::unbounded_channel();
        let (event, mut events) = mpsc::unbounded_channel();
        let executor = tokio::spawn(users(settings).unwrap().run(commands, event));
        for (count, until) in [(4, 4 + 40 * usize::from(abandoned == 0)), (1, 0)] {
            command.send(Command::Users(count)).unwrap();
            assert!(mock.until(SOON, |received| calls(received) >= until.max(1)).await);
        }
        command.send(Command::Stop(Duration::from_millis(200))).unwrap();
        let (mut ended, mut unfinished) = (0, 0);
        loop {
            match timeout(SOON, events.recv()).await.expect("an event").unwrap() {
                Event::Interval(interval) => {
                    ended += interval.recorder.finished();
                    unfinished += interval.recorder.abandoned;
                }
                Event::Changed => {}
                Event::Stopped => break,
                Event::Failed(error) => panic!("{error}"),
            }
        }
        assert_eq!(
            (ended, unfinished),
            (calls(&mock.received()) as u64, abandoned),
            "{think_time:?} {rate_per_user:?}"
        );
        drop(command);
        executor.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_stop_shortens_the_grace_period() {
    let script = json!({
        "tools": [{ "name": "echo" }], "on": [{ "when": { "tool": "echo" }, "do": { "fault": "silence" } }],
    });
    let mock = MockServer::start(serde_json::from_value(script).unwrap()).await.unwrap();
    let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url: mock.url(), ..HttpEndpoint::default() });
    let settings = WorkerSettings {
        master: String::new(),
        config: ServerConfig::new("mock", endpoint),
        connections: None,
        load: load(json!({})),
        think_time: None,
        rate_per_user: None,
        max_in_flight: None,
        seed: 0,
    };
    let (command, commands) = mpsc::unbounded_channel();
    let (event, mut events) = mpsc::unbounded_channel();
    let executor = tokio::spawn(users(settings).unwrap().run(commands, event));
    command.send(Command::Users(1)).unwrap();
    assert!(mock.until(SOON, |received| calls(received) == 1).await);
    command.send(Command::Stop(Duration::from_secs(3_600))).unwrap();
    command.send(Command::Stop(Duration::from_millis(1))).unwrap();
    let mut stops = 0;
    while stops < 2 {
        let event = timeout(SOON, events.recv()).await.expect("an event").unwrap();
        stops += usize::from(matches!(event, Event::Stopped));
    }
    drop(command);
    executor.await.unwrap();
}
