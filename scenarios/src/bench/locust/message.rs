//! Messages between a Locust master and its workers, as in Locust 2.47: an array of type, data and node id in MessagePack.
//!
//! A malformed message ends the listener of a master for good, so all messages are encoded from these types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::entry::{Entry, ErrorEntry};

/// Version of a worker that works with any version of the master.
const ANY_VERSION: i8 = -1;

/// Users by class.
pub(super) type UserClasses = BTreeMap<String, u64>;

/// State of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// Registered, without users.
    Ready,
    /// Changing the number of users.
    Spawning,
    /// With users.
    Running,
}

/// A message to the master.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ToMaster {
    ClientReady,
    Heartbeat(Heartbeat),
    Spawning,
    SpawningComplete(UserCounts),
    Stats(Box<Stats>),
    Histogram(Histogram),
    Exception(Exception),
    Drained,
    ClientStopped,
    Quit,
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Heartbeat {
    pub(super) state: State,
    /// Percentage of all cores.
    pub(super) current_cpu_usage: f64,
    /// Bytes.
    pub(super) current_memory_usage: u64,
}

/// The users of a worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct UserCounts {
    pub(super) user_classes_count: UserClasses,
    pub(super) user_count: u64,
}

/// Calls that ended since the previous report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Stats {
    pub(super) stats: Vec<Entry>,
    pub(super) stats_total: Entry,
    pub(super) errors: BTreeMap<String, ErrorEntry>,
    pub(super) user_classes_count: UserClasses,
    pub(super) user_count: u64,
}

/// Latencies since the previous report, for the locustfile. Not part of Locust.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Histogram {
    /// Start of the report, in seconds since 1970, and its duration in seconds.
    pub(super) start: f64,
    pub(super) duration: f64,
    /// Maximum latency in microseconds.
    pub(super) max_us: u64,
    /// The latencies in microseconds: V2 of HdrHistogram, compressed, in Base64.
    pub(super) histogram: String,
    /// Calls that were due and not sent. Their waiting times are among the latencies.
    pub(super) unsent: u64,
}

/// An error of the worker itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Exception {
    pub(super) msg: String,
    pub(super) traceback: String,
}

impl ToMaster {
    /// The type of the message.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::ClientReady => "client_ready",
            Self::Heartbeat(_) => "heartbeat",
            Self::Spawning => "spawning",
            Self::SpawningComplete(_) => "spawning_complete",
            Self::Stats(_) => "stats",
            Self::Histogram(_) => "mcp_histogram",
            Self::Exception(_) => "exception",
            Self::Drained => "mcp_drained",
            Self::ClientStopped => "client_stopped",
            Self::Quit => "quit",
        }
    }

    /// The encoded message.
    pub(super) fn encode(&self, node_id: &str) -> Vec<u8> {
        fn pack(kind: &str, data: impl Serialize, node_id: &str) -> Vec<u8> {
            rmp_serde::to_vec_named(&(kind, data, node_id)).expect("these types have no maps of unknown length")
        }
        let kind = self.kind();
        match self {
            Self::ClientReady => pack(kind, ANY_VERSION, node_id),
            Self::Heartbeat(data) => pack(kind, data, node_id),
            Self::SpawningComplete(data) => pack(kind, data, node_id),
            Self::Stats(data) => pack(kind, data, node_id),
            Self::Histogram(data) => pack(kind, data, node_id),
            Self::Exception(data) => pack(kind, data, node_id),
            Self::Spawning | Self::Drained | Self::ClientStopped | Self::Quit => pack(kind, (), node_id),
        }
    }
}

/// A message of the master.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FromMaster {
    Ack,
    Spawn(Spawn),
    SpawningComplete,
    Heartbeat,
    /// Finish the calls in flight before a `stop` or `quit`, within this number of seconds. Not part of Locust.
    Drain(f64),
    Stop,
    Quit,
    Reconnect,
    /// A message that does not concern this worker.
    Other(String),
}

/// The users that this worker has from now on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Spawn {
    /// Older messages are ignored.
    pub(super) timestamp: f64,
    pub(super) user_classes_count: UserClasses,
    /// Time that a `stop` gives to calls in flight, in seconds.
    #[serde(default)]
    pub(super) stop_timeout: Option<f64>,
    #[serde(default)]
    pub(super) parsed_options: Option<Options>,
}

/// Options of the master that matter to a worker.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Options {
    /// Whether statistics start again when all users were started.
    #[serde(default)]
    pub(super) reset_stats: Option<bool>,
}

impl FromMaster {
    /// Decodes a message.
    ///
    /// # Errors
    /// If it is not an array of type, data and node id, or the data are not those of the type.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, rmp_serde::decode::Error> {
        type Data<T> = (IgnoredAny, T, IgnoredAny);
        let (kind, _, _): (String, IgnoredAny, IgnoredAny) = rmp_serde::from_slice(bytes)?;
        Ok(match kind.as_str() {
            "ack" => Self::Ack,
            "spawn" => Self::Spawn(rmp_serde::from_slice::<Data<Spawn>>(bytes)?.1),
            "spawning_complete" => Self::SpawningComplete,
            "heartbeat" => Self::Heartbeat,
            "mcp_drain" => Self::Drain(rmp_serde::from_slice::<Data<f64>>(bytes)?.1),
            "stop" => Self::Stop,
            "quit" => Self::Quit,
            "reconnect" => Self::Reconnect,
            _ => Self::Other(kind),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_arrays_of_three_as_locust_writes_them() {
        // `msgpack.dumps(("client_ready", -1, "w"))` and so on, of Python.
        for (message, expected) in [
            (ToMaster::ClientReady, &b"\x93\xacclient_ready\xff\xa1w"[..]),
            (ToMaster::Spawning, b"\x93\xa8spawning\xc0\xa1w"),
            (ToMaster::ClientStopped, b"\x93\xaeclient_stopped\xc0\xa1w"),
            (ToMaster::Quit, b"\x93\xa4quit\xc0\xa1w"),
            (
                ToMaster::Heartbeat(Heartbeat { state: State::Ready, current_cpu_usage: 0.5, current_memory_usage: 7 }),
                b"\x93\xa9heartbeat\x83\xa5state\xa5ready\xb1current_cpu_usage\xcb\x3f\xe0\0\0\0\0\0\0\
                  \xb4current_memory_usage\x07\xa1w",
            ),
            (
                ToMaster::SpawningComplete(UserCounts {
                    user_classes_count: UserClasses::from([("U".to_owned(), 3)]),
                    user_count: 3,
                }),
                b"\x93\xb1spawning_complete\x82\xb2user_classes_count\x81\xa1U\x03\xaauser_count\x03\xa1w",
            ),
        ] {
            assert_eq!(message.encode("w"), expected, "{message:?}");
        }
    }

    #[test]
    fn reads_what_a_master_sends_and_rejects_the_rest() {
        // Options of any type are skipped.
        let spawn = rmp_serde::to_vec_named(&(
            "spawn",
            serde_json::json!({
                "timestamp": 1.5, "user_classes_count": { "U": 4 }, "host": null, "stop_timeout": 0,
                "parsed_options": { "reset_stats": true, "tags": ["a"], "nested": { "x": [1, null] } },
            }),
            "w",
        ))
        .unwrap();
        let FromMaster::Spawn(read) = FromMaster::decode(&spawn).unwrap() else { panic!("not a spawn") };
        assert_eq!((read.timestamp, read.user_classes_count["U"], read.stop_timeout), (1.5, 4, Some(0.0)));
        assert_eq!(read.parsed_options.and_then(|options| options.reset_stats), Some(true));
        for (bytes, expected) in [
            (&b"\x93\xa3ack\x81\xa5index\x00\xa1w"[..], Some(FromMaster::Ack)),
            (b"\x93\xa9heartbeat\xc0\xa1w", Some(FromMaster::Heartbeat)),
            (b"\x93\xa9mcp_drain\x0a\xa1w", Some(FromMaster::Drain(10.0))),
            (b"\x93\xa4stop\xc0\xc0", Some(FromMaster::Stop)),
            (b"\x93\xa3new\xc0\xa1w", Some(FromMaster::Other("new".to_owned()))),
            (b"\x93\xa5spawn\xc0\xa1w", None),
            (b"\x92\xa4stop\xc0", None),
            (b"\x01", None),
            (b"", None),
        ] {
            assert_eq!(FromMaster::decode(bytes).ok(), expected, "{bytes:?}");
        }
    }
}
