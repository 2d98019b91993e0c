//! How a case ended, for reports: the last ends of its connections, and its processes.

use evidence::{Body, ConnectionEvent, Frame};
use reports::model::{CaseEnd, ConnectionEnd, Descendant, ProcessEnd};

use crate::evidence::{Evidence, ProcessEvidence};

/// Maximum number of ends of connections in a result. Over HTTP, each exchange is a connection.
const MAX_CONNECTIONS: usize = 8;
/// Maximum number of processes in a result.
const MAX_PROCESSES: usize = 20;

/// The end of a case; `None` if nothing of it was recorded.
pub(super) fn case_end(evidence: &Evidence) -> Option<CaseEnd> {
    let mut connections: Vec<_> =
        evidence.frames.iter().rev().filter_map(connection_end).take(MAX_CONNECTIONS).collect();
    connections.reverse();
    let end = CaseEnd {
        connections,
        process: evidence.process.as_ref().map(process_end),
        descendants: evidence.process.iter().flat_map(descendants).take(MAX_PROCESSES).collect(),
        timed_out: evidence.timed_out,
    };
    (end != CaseEnd::default()).then_some(end)
}

fn connection_end(frame: &Frame) -> Option<ConnectionEnd> {
    let Body::Event(event) = &frame.body else { return None };
    let event = match event {
        ConnectionEvent::Opened | ConnectionEvent::ChildStarted | ConnectionEvent::Bodiless => return None,
        ConnectionEvent::ClosedByPeer => "closed-by-client",
        ConnectionEvent::ClosedByServer => "closed-by-server",
        ConnectionEvent::Sigterm => "sigterm",
        ConnectionEvent::Exit => "exit",
    };
    Some(ConnectionEnd { at_us: frame.at_us, server: frame.server.clone(), event: event.to_owned() })
}

fn process_end(process: &ProcessEvidence) -> ProcessEnd {
    ProcessEnd {
        code: process.code,
        signal: process.signal,
        at_us: process.ended_us,
        killed_on_purpose: process.killed_on_purpose,
    }
}

/// The processes that were left come first, because they show a failure.
fn descendants(process: &ProcessEvidence) -> impl Iterator<Item = Descendant> {
    let is_left = |pid: i32| process.left.iter().any(|left| left.pid == pid);
    let left = process.left.iter().map(|one| Descendant { pid: one.pid, command: one.command.clone(), left: true });
    // The mock servers belong to the workbench.
    let seen = process.seen.iter().filter(move |one| !one.server && !is_left(one.pid));
    left.chain(seen.map(|one| Descendant { pid: one.pid, command: one.command.clone(), left: false }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        evidence::ObservedProcess,
        model::{Revision, Transport},
    };

    fn frame(at_us: u64, body: serde_json::Value) -> Frame {
        serde_json::from_value(json!({ "seq": at_us, "at_us": at_us, "server": "main", "connection": 1,
            "direction": "client-to-server", "body": body }))
        .expect("a frame")
    }

    fn evidence() -> Evidence {
        Evidence::without_records("a/b", Transport::Stdio, Revision::V2025_11_25)
    }

    #[test]
    fn a_case_without_records_has_no_end() {
        assert_eq!(case_end(&evidence()), None);
    }

    #[test]
    fn the_last_ends_of_connections_are_kept_in_order() {
        let mut frames: Vec<Frame> = (0..20).map(|at| frame(at, json!({ "event": "closed-by-peer" }))).collect();
        frames.push(frame(20, json!({ "event": "opened" })));
        frames.push(frame(21, json!({ "json": {} })));
        frames.push(frame(22, json!({ "event": "exit" })));
        let end = case_end(&Evidence { frames, ..evidence() }).expect("an end");
        let times: Vec<u64> = end.connections.iter().map(|one| one.at_us).collect();
        assert_eq!(times, [13, 14, 15, 16, 17, 18, 19, 22]);
        assert_eq!(end.connections[6].event, "closed-by-client");
        assert_eq!(end.connections[7].event, "exit");
    }

    #[test]
    fn processes_that_were_left_come_first_and_once() {
        let process = |pid: i32| ObservedProcess {
            pid,
            parent: 1,
            command: format!("program {pid}"),
            server: pid == 9,
            first_us: 0,
            last_us: 1,
        };
        let seen = ProcessEvidence {
            signal: Some(9),
            seen: vec![process(7), process(8), process(9)],
            left: vec![process(8)],
            ..ProcessEvidence::default()
        };
        let end = case_end(&Evidence { process: Some(seen), ..evidence() }).expect("an end");
        let shown: Vec<_> = end.descendants.iter().map(|one| (one.pid, one.left)).collect();
        assert_eq!(shown, [(8, true), (7, false)]);
        assert_eq!(end.process.and_then(|process| process.signal), Some(9));
    }
}
