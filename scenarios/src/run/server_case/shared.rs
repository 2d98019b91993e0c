//! One session for many scenarios of a revision, one after another.

use std::{ops::Range, sync::Arc, time::Duration};

use evidence::{Body, Frame};
use futures::future::join_all;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{
    evidence::{Evidence, Outcome, StepOutcome},
    model::{Revision, Scenario, ServerStep},
    peer::{FinishedPeer, KEPT, Peer, ProbeResult, SESSION, ServerTarget},
    run::ToolPolicy,
};

use super::{Part, Timeouts, greeted, handshake, ownership, run_server_cases, steps::SESSION_ENDED, take_steps};

/// Maximum number of sessions for the scenarios of a revision. A server that ends more of them is not tested further.
const MAX_SESSIONS: usize = 8;

/// Maximum time of the sessions for the scenarios of a revision.
const MAX_TIME: Duration = Duration::from_secs(90);

/// The scenarios of a revision that share a session.
pub(crate) struct SharedSession<'r> {
    pub(crate) target: &'r ServerTarget,
    pub(crate) facts: &'r ProbeResult,
    pub(crate) revision: Revision,
    /// Timeout of a handshake.
    pub(crate) startup: Duration,
    /// The tools that may be called.
    pub(crate) call_tools: &'r ToolPolicy,
    /// Ends the session before its next scenario.
    pub(crate) cancel: &'r CancellationToken,
}

/// The evidence of a shared session.
pub(crate) struct SharedEvidence {
    /// Of each scenario that ran, in their order.
    pub(crate) scenarios: Vec<Evidence>,
    /// Of the whole session. If the server ended a session, it has the frames of all.
    pub(crate) whole: Evidence,
    /// How long responses were awaited after their timeouts, because the server worked.
    extra: Duration,
}

impl SharedSession<'_> {
    /// Runs the scenarios in an open session after its handshake. Those that end a session come last.
    pub(crate) async fn run(&self, peer: Peer, scenarios: &[Arc<Scenario>]) -> SharedEvidence {
        let (_, ending) = split_at_end(scenarios);
        let (sender, receiver) = oneshot::channel();
        let alone = async {
            if receiver.await.is_err() {
                return Vec::new();
            }
            let alone = ending.iter().map(|scenario| self.run_alone(scenario));
            let alone = self.cancel.run_until_cancelled(join_all(alone)).await;
            alone.unwrap_or_default().into_iter().flatten().collect()
        };
        let (mut collected, alone) = tokio::join!(self.run_sessions(peer, scenarios, BusyNotice(Some(sender))), alone);
        collected.scenarios.extend(alone);
        collected
    }

    /// A scenario in a session of its own.
    async fn run_alone(&self, scenario: &Arc<Scenario>) -> Vec<Evidence> {
        let timeouts = Timeouts { startup: self.startup, leniency: 1 };
        let scenario = std::slice::from_ref(scenario);
        run_server_cases(self.target, scenario, self.facts, self.revision, timeouts, self.call_tools).await
    }

    /// Runs the scenarios in one session, and in further ones after it ended. Without those that end a session if the server
    /// is busy.
    async fn run_sessions(&self, mut peer: Peer, all: &[Arc<Scenario>], mut busy: BusyNotice) -> SharedEvidence {
        let whole = Evidence::without_records("", self.facts.transport, self.revision);
        let mut collected = SharedEvidence { scenarios: Vec::new(), whole, extra: Duration::ZERO };
        for session in 1..=MAX_SESSIONS {
            let rest = &all[collected.scenarios.len()..];
            let next_id = self.run_session(peer, rest, &mut collected, &mut busy).await;
            let scenarios = if busy.is_given() { split_at_end(all).0 } else { all };
            if collected.scenarios.len() == scenarios.len() || self.cancel.is_cancelled() {
                return collected;
            }
            let opened = match session {
                _ if is_over(collected.whole.elapsed_us, collected.extra) => {
                    Err(format!("the server is slow: its session took over {} s", MAX_TIME.as_secs()))
                }
                MAX_SESSIONS => Err(format!("the server ended or stopped responding in {MAX_SESSIONS} sessions")),
                _ => self.open(next_id).await,
            };
            match opened {
                Ok(opened) => peer = opened,
                Err(error) => {
                    let rest = scenarios[collected.scenarios.len()..].iter();
                    collected.scenarios.extend(rest.map(|scenario| self.broken(scenario, &error)));
                    return collected;
                }
            }
        }
        collected
    }

    /// Opens a session, with request ids from `next_id`.
    pub(crate) async fn open(&self, next_id: i64) -> Result<Peer, String> {
        let opened = Peer::open(self.target, self.facts.transport, self.revision).await;
        let mut peer = opened.map_err(|error| error.to_string())?.continuing(next_id);
        match handshake(&mut peer, self.facts, self.startup).await.1 {
            Some(error) => Err(error),
            None => {
                peer.choose_era().await;
                Ok(peer)
            }
        }
    }

    /// Runs scenarios until one of them ends the session. Returns the next request id.
    async fn run_session(
        &self,
        mut peer: Peer,
        scenarios: &[Arc<Scenario>],
        collected: &mut SharedEvidence,
        busy: &mut BusyNotice,
    ) -> i64 {
        let greeting = peer.frame_count();
        let greeted = greeted(&peer, self.facts, 0);
        let mut parts = Vec::new();
        peer = peer.keeping_slow_calls().counting_in(&self.facts.vain_work);
        for scenario in scenarios {
            peer.cancel_working().await;
            peer.end_long_pairs().await;
            if ends_session(scenario) {
                self.settle(&mut peer).await;
            }
            if peer.has_slow_calls() || ends_session(scenario) && peer.is_busy() {
                busy.give();
            }
            if self.cancel.is_cancelled()
                || is_over(peer.now_us(), peer.extra_time().so_far())
                || (busy.is_given() && ends_session(scenario))
            {
                break;
            }
            let (from, began_us) = (peer.frame_count(), peer.now_us());
            let mut steps = vec![greeted.clone()];
            let is_newest = self.facts.is_newest(self.revision);
            let timed_out = take_steps(&mut peer, scenario, self.call_tools, is_newest, &mut steps).await;
            let lost = steps.iter().any(|step| has_ended(&step.outcome))
                || steps.iter().any(|step| is_lost(&step.outcome)) && peer.is_lost().await;
            parts.push(Part::new(from, began_us, &peer, steps, timed_out));
            if lost || ends_session(scenario) {
                break;
            }
        }
        self.settle(&mut peer).await;
        collected.extra += peer.extra_time().so_far();
        let next_id = peer.next_id();
        self.collect(peer.end().await, greeting, greeted, parts, scenarios, collected);
        next_id
    }

    /// Waits for late responses, unless the run is cancelled.
    async fn settle(&self, peer: &mut Peer) {
        self.cancel.run_until_cancelled(peer.settle()).await;
    }

    fn collect(
        &self,
        finished: FinishedPeer,
        greeting: u64,
        greeted: StepOutcome,
        parts: Vec<Part>,
        scenarios: &[Arc<Scenario>],
        collected: &mut SharedEvidence,
    ) {
        let FinishedPeer { mut frames, process, stderr, elapsed_us } = finished;
        let ranges: Vec<Range<u64>> = parts.iter().map(|part| part.frames.clone()).collect();
        let ending = scenarios.get(parts.len().wrapping_sub(1)).is_some_and(|scenario| ends_session(scenario));
        let end = ranges.last().map_or(greeting, |last| if ending { last.start } else { last.end });
        let assigned = ownership::assign(&frames, greeting, &ranges);
        for ((part, frames), scenario) in parts.into_iter().zip(assigned).zip(scenarios) {
            let Part { steps, timed_out, began_us, ended_us, .. } = part;
            collected.scenarios.push(Evidence {
                frames,
                steps,
                timed_out,
                stderr: stderr.clone(),
                elapsed_us: ended_us - began_us,
                ..Evidence::empty(scenario, self.facts.transport, self.revision)
            });
        }
        // Text at the end is judged with the scenarios that end a session, which may have one of their own.
        let is_last_text = |frame: &Frame| matches!(frame.body, Body::Text(_)) && frame.seq >= end;
        frames.retain(|frame| !is_last_text(frame));
        append(&mut collected.whole, frames);
        if collected.whole.steps.is_empty() {
            collected.whole.steps.push(greeted);
        }
        collected.whole.process = process;
        collected.whole.stderr = stderr;
        collected.whole.elapsed_us += elapsed_us;
    }

    fn broken(&self, scenario: &Scenario, why: &str) -> Evidence {
        let broken = Some(why.to_owned());
        Evidence { broken, ..Evidence::empty(scenario, self.facts.transport, self.revision) }
    }
}

fn is_over(elapsed_us: u64, extra: Duration) -> bool {
    Duration::from_micros(elapsed_us).saturating_sub(extra) > MAX_TIME
}

/// Tells once that the server works on slow or cancelled calls. It exits late then, so that its exit would say nothing.
struct BusyNotice(Option<oneshot::Sender<()>>);

impl BusyNotice {
    fn give(&mut self) {
        if let Some(sender) = self.0.take() {
            // The receiver exists as long as the sender.
            let _ = sender.send(());
        }
    }

    fn is_given(&self) -> bool {
        self.0.is_none()
    }
}

/// The scenarios before the first one that ends the session, and the others.
fn split_at_end(scenarios: &[Arc<Scenario>]) -> (&[Arc<Scenario>], &[Arc<Scenario>]) {
    scenarios.split_at(scenarios.partition_point(|scenario| !ends_session(scenario)))
}

/// Whether a scenario ends the session.
fn ends_session(scenario: &Scenario) -> bool {
    scenario.steps.server().iter().any(|step| matches!(step, ServerStep::Close(_) | ServerStep::Terminate(_)))
}

/// Adds the frames of a later session, with numbers and times after those before, and another name of the session.
fn append(whole: &mut Evidence, mut frames: Vec<Frame>) {
    let seq = whole.frames.last().map_or(0, |frame| frame.seq + 1);
    let connection = whole.frames.iter().map(|frame| frame.connection + 1).max().unwrap_or(0);
    let elapsed_us = whole.elapsed_us;
    if seq > 0 {
        let http = frames.iter_mut().filter_map(|frame| frame.http.as_mut());
        for http in http.filter(|http| http.headers.get(SESSION).is_some_and(|id| id == KEPT)) {
            Arc::make_mut(http).headers_mut().insert(SESSION.to_owned(), format!("[later session {connection}]"));
        }
    }
    whole.frames.extend(frames.into_iter().map(|frame| Frame {
        seq: frame.seq + seq,
        at_us: frame.at_us + elapsed_us,
        connection: frame.connection + connection,
        ..frame
    }));
}

/// Whether the session has ended.
fn has_ended(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Skipped(why) if why == SESSION_ENDED)
}

/// Whether a step suggests that the server no longer responds.
fn is_lost(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Error(error) if matches!(error.kind.as_str(), "timed-out" | "closed"))
}
