//! Requests without a response in time: tool calls are cancelled, or stay open until the end of a shared session, which waits
//! for all late responses.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::Duration,
};

use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::{
    Outgoing, Peer, Sent, State, TOO_SLOW, answer::feature_of, failure, find_response, lock, progress_of,
    responses::has_nameless_error,
};
use crate::evidence::StepError;

/// A call that has progress but no response after this time is cancelled.
const BRIEF: Duration = Duration::from_millis(400);
/// A call whose progress shows that it takes at most this time is not cancelled, so that its last progress is judged too.
const SHORT: Duration = Duration::from_secs(3);
/// The same for a call whose progress has no total.
const SHORT_WITHOUT_TOTAL: Duration = Duration::from_millis(1_500);
/// How long to wait for progress of a cancelled call since it was sent, besides the time of the slowest response. Some tools
/// send progress every two seconds.
const FIRST_PROGRESS: Duration = Duration::from_millis(2_100);
/// How long to wait for an update of a resource after the end of its subscription.
pub(super) const AFTER_UNSUBSCRIBE: Duration = Duration::from_millis(800);
/// How long to wait for a response to a cancelled call.
const AFTER_CANCEL: Duration = Duration::from_millis(500);

/// Why a slow tool is not called again.
pub(crate) const NO_RESPONSE: &str = "an earlier call had no response in time";
/// When the calls of a step took so long together, slow tools are not called again.
const ALL_CALLS: Duration = Duration::from_secs(20);
/// A tool whose last call took longer is slow.
const SLOW: Duration = Duration::from_secs(1);
/// When the calls of a step took so long together, tools are not called with other valid arguments. Those that violate the
/// schema show more.
const BEFORE_VARIANTS: Duration = Duration::from_secs(5);
/// How long to wait for a call of a tool that stays open, since it was sent, if its end is needed.
const SOON: Duration = Duration::from_secs(2);
/// Default timeout of a call.
pub(crate) const CALL: Duration = Duration::from_secs(10);
/// A tool whose last call took longer is not called with other valid arguments.
const UNHURRIED: Duration = Duration::from_millis(150);

/// The slow calls of a connection.
#[derive(Debug, Default)]
pub(super) struct SlowCalls {
    /// The tools with a call that had no response in time.
    tools: BTreeSet<String>,
    /// The tools with a call that was cancelled because it took long.
    long: BTreeSet<String>,
    /// The duration of the last call of each tool that had a response.
    durations: BTreeMap<String, Duration>,
    /// The tools that had a response soon to a call with an empty object.
    fast_without_arguments: BTreeSet<String>,
    /// The duration of the calls of this step.
    total: Duration,
    /// The tools whose next call gets a number as its progress token.
    text_token_used: BTreeSet<String>,
    /// The tools with a call that was cancelled on purpose.
    interrupted: BTreeSet<String>,
    /// The tools whose calls requested something from the user or the model.
    asking: BTreeSet<String>,
    /// Whether a request other than the calls of `interrupted` was cancelled. The server may still work on it.
    cancelled: bool,
    /// Until when the server may send messages that it should not send.
    late_until: Option<Instant>,
    /// Whether calls without a response stay open while others are made.
    stay_open: bool,
    /// The calls that stay open.
    open: Vec<OpenCall>,
    /// The pairs of calls that stay open.
    pairs: Vec<OpenPair>,
    /// The other requests that had no response in time, by id as JSON.
    late: Mutex<BTreeMap<String, Sent>>,
}

/// A call without a response yet.
#[derive(Debug)]
struct OpenCall {
    tool: String,
    sent: Sent,
    /// When it is cancelled.
    deadline: Instant,
}

/// Two equal calls, of which the later one was sent after the cancellation of a third one.
#[derive(Debug)]
pub(crate) struct OpenPair {
    pub(crate) tool: String,
    pub(crate) kept: Sent,
    pub(crate) later: Sent,
}

impl SlowCalls {
    /// Whether no request is open but those that are probably answered.
    pub(super) fn has_none_but(&self, is_answered: impl Fn(&Sent) -> bool) -> bool {
        self.open.is_empty() && self.pairs.is_empty() && lock(&self.late).values().all(is_answered)
    }

    /// Notes that the server may send messages for so long that it should not send.
    pub(super) fn expect_late(&mut self, period: Duration) {
        self.late_until = self.late_until.max(Some(Instant::now() + period));
    }

    /// Notes whether a request had a response in time.
    pub(super) fn note(&self, sent: &Sent, is_late: bool) {
        let mut late = lock(&self.late);
        if is_late {
            late.insert(sent.id.to_string(), sent.clone());
        } else {
            late.remove(&sent.id.to_string());
        }
    }
}

impl Peer {
    /// Lets slow calls stay open until [`settle`](Self::settle), so that they do not delay others.
    pub(crate) fn keeping_slow_calls(mut self) -> Self {
        self.slow_calls.stay_open = true;
        self
    }

    /// Notes a tool if the server sent requests to the user or the model after this number of received messages. A request
    /// for the roots concerns neither, and servers send it during any call.
    pub(crate) fn note_requests(&mut self, tool: &str, received: usize) {
        let is_request =
            |message: &Value| message["method"].as_str().and_then(feature_of).is_some_and(|feature| feature != "roots");
        if self.recorder.lock().received_since(received).any(is_request) {
            self.slow_calls.asking.insert(tool.to_owned());
        }
    }

    /// Whether a call of the tool requested something from the user or the model.
    pub(crate) fn asks(&self, tool: &str) -> bool {
        self.slow_calls.asking.contains(tool)
    }

    /// Notes that a step calls tools. It has time of its own: how much earlier ones took depends on the network that tools use.
    pub(crate) fn begin_calls(&mut self) {
        self.slow_calls.total = Duration::ZERO;
    }

    /// Notes how long a call of a tool took, and whether it had a response.
    pub(crate) fn note_duration(&mut self, tool: &str, duration: Duration, is_answered: bool) {
        self.slow_calls.total += duration;
        if is_answered {
            self.slow_calls.durations.insert(tool.to_owned(), duration);
        }
    }

    /// Notes that a call of a tool with an empty object had a response soon, so that one without arguments has one, too.
    pub(crate) fn note_fast_without_arguments(&mut self, tool: &str, duration: Duration) {
        if duration < SLOW {
            self.slow_calls.fast_without_arguments.insert(tool.to_owned());
        }
    }

    /// How long the last call of a tool took.
    pub(crate) fn duration_of(&self, tool: &str) -> Option<Duration> {
        self.slow_calls.durations.get(tool).copied()
    }

    fn is_fast(&self, tool: &str) -> bool {
        self.slow_calls.fast_without_arguments.contains(tool)
    }

    /// Whether another call of the tool is worth its time: tools that use a slow network would take minutes.
    ///
    /// # Errors
    /// The reason why not.
    pub(crate) async fn has_time_for(&mut self, tool: &str) -> Result<(), &'static str> {
        self.await_open(tool, SLOW).await;
        if self.slow_calls.tools.contains(tool) {
            return Err(NO_RESPONSE);
        }
        self.has_budget_for(tool)
    }

    /// Whether the step has time for another call of the tool, which may be open.
    ///
    /// # Errors
    /// The reason why not.
    pub(crate) fn has_budget_for(&self, tool: &str) -> Result<(), &'static str> {
        let SlowCalls { durations, total, .. } = &self.slow_calls;
        if *total > ALL_CALLS && durations.get(tool).is_none_or(|last| *last > SLOW) {
            return Err("the calls of the step took over 20 s");
        }
        Ok(())
    }

    /// Whether the tool is fast enough for a call with other valid arguments.
    pub(crate) fn has_time_for_variant(&self, tool: &str) -> bool {
        let SlowCalls { durations, total, .. } = &self.slow_calls;
        *total < BEFORE_VARIANTS && durations.get(tool).is_some_and(|last| *last < UNHURRIED)
    }

    /// Whether a call of the tool was cancelled on purpose, so that the next one may be slow.
    pub(crate) fn was_interrupted(&self, tool: &str) -> bool {
        self.slow_calls.interrupted.contains(tool)
    }

    /// Whether the progress token of the next call of the tool is a string. It is a number in every second call.
    pub(crate) fn takes_text_token(&mut self, tool: &str) -> bool {
        let was_used = self.slow_calls.text_token_used.remove(tool);
        if !was_used {
            self.slow_calls.text_token_used.insert(tool.to_owned());
        }
        !was_used
    }

    /// Whether the server works on calls that are open, or may work on ones that were cancelled because they took long.
    pub(crate) fn has_slow_calls(&self) -> bool {
        let SlowCalls { open, pairs, tools, cancelled, .. } = &self.slow_calls;
        *cancelled || !open.is_empty() || !pairs.is_empty() || !tools.is_empty()
    }

    /// Whether the server may still work on calls that are open or were cancelled. A call that was cancelled is over if a later
    /// one of the same tool had its response.
    pub(crate) fn is_busy(&self) -> bool {
        let SlowCalls { interrupted, durations, .. } = &self.slow_calls;
        self.has_slow_calls() || interrupted.iter().any(|tool| !durations.contains_key(tool))
    }

    /// Waits for the response to a call, and cancels it if there is none.
    ///
    /// # Errors
    /// [`StepError`] of the kind `timed-out`, or `closed`. A call may stay open after `timed-out`.
    pub(crate) async fn call_response(
        &mut self,
        tool: &str,
        sent: &Sent,
        within: Duration,
    ) -> Result<Value, StepError> {
        let within = self.unless_in_vain(within);
        let deadline = Instant::now() + within;
        let is_nameless = self.is_only_nameless(sent);
        let brief = within.min(self.response_timeout(Some(BRIEF)));
        let first = self.response_or_nameless(sent, brief, &is_nameless).await;
        let is_late = matches!(&first, Err(error) if error.kind == "timed-out");
        // An error without an id is the response.
        if !is_late || is_nameless(&self.recorder.lock()) {
            return first;
        }
        // A server that works on one request at a time gets the others after this call. The request shows that in a repetition too.
        if self.responds(BRIEF).await && self.slow_calls.stay_open {
            self.slow_calls.note(sent, false);
            self.slow_calls.open.push(OpenCall { tool: tool.to_owned(), sent: sent.clone(), deadline });
            return Err(failure("timed-out", "the response is awaited until the end of the session"));
        }
        self.last_response(tool, sent, deadline).await
    }

    /// Whether a call of the tool had no response in time.
    fn is_slow(&self, tool: &str) -> bool {
        self.has_open(tool) || self.slow_calls.tools.contains(tool)
    }

    /// How long a call of the tool has been without a response, if there is one.
    pub(crate) fn open_time(&self, tool: &str) -> Option<Duration> {
        let state = self.recorder.lock();
        let unanswered = |call: &&OpenCall| call.tool == tool && find_response(&state, &call.sent).is_none();
        self.slow_calls.open.iter().filter(unanswered).map(|call| self.since(&call.sent)).max()
    }

    /// Whether a call of the tool is open.
    pub(crate) fn has_open(&self, tool: &str) -> bool {
        self.slow_calls.open.iter().any(|call| call.tool == tool)
    }

    /// Waits for the responses to a pair of calls. If the tool is slow, and the server goes on with other requests, the pair stays
    /// open while they are made.
    pub(crate) async fn await_pair(&mut self, pair: OpenPair) {
        if self.slow_calls.stay_open && self.is_slow(&pair.tool) && self.responds(BRIEF).await {
            self.slow_calls.pairs.push(pair);
        } else {
            self.end_pair(pair).await;
        }
    }

    /// Ends the pairs of calls of tools that turned out to take long.
    pub(crate) async fn end_long_pairs(&mut self) {
        let pairs = std::mem::take(&mut self.slow_calls.pairs);
        let (long, others) = pairs.into_iter().partition(|pair| self.is_long_tool(&pair.tool));
        self.slow_calls.pairs = others;
        for pair in long {
            self.end_pair(pair).await;
        }
    }

    /// Waits for the response to the later call of a pair, which shows how long the other one may take: the earlier cancellation
    /// may have ended that too. If the tool takes long, both are cancelled at once.
    async fn end_pair(&mut self, OpenPair { tool, kept, later }: OpenPair) {
        self.await_open(&tool, SOON).await;
        let left = CALL.saturating_sub(self.since(&later));
        if !self.is_long_tool(&tool) && self.response(&later, left).await.is_ok() {
            let took = self.since(&later);
            drop(self.response(&kept, took + self.response_timeout(None)).await);
        } else {
            self.cancel_call(&tool, &kept).await;
            self.cancel_call(&tool, &later).await;
        }
    }

    /// Whether a call of the tool took too long, or has been open for so long that a later one is not worth its time.
    fn is_long_tool(&self, tool: &str) -> bool {
        self.slow_calls.long.contains(tool) || self.open_time(tool).is_some_and(|open| open >= SOON)
    }

    /// The time since a request was sent.
    fn since(&self, sent: &Sent) -> Duration {
        Duration::from_micros(self.now_us() - sent.at_us)
    }

    /// Waits for the responses to the open calls of a tool, each so long since it was sent. A busy machine delays those of fast
    /// tools too.
    async fn await_open(&mut self, tool: &str, within: Duration) {
        let open = std::mem::take(&mut self.slow_calls.open);
        let (of_tool, others) = open.into_iter().partition(|call| call.tool == tool);
        self.slow_calls.open = others;
        for call in of_tool {
            let since = self.since(&call.sent);
            let found = |state: &State| find_response(state, &call.sent).map(|_| ());
            if self.recorder.wait(within.saturating_sub(since), found).await.is_none() {
                self.slow_calls.tools.insert(tool.to_owned());
                self.slow_calls.open.push(call);
            }
        }
    }

    /// Cancels the open calls that had progress, which shows that they work, unless they are short or the tool is fast.
    pub(crate) async fn cancel_working(&mut self) {
        let open = std::mem::take(&mut self.slow_calls.open);
        let works = |call: &OpenCall| !self.is_fast(&call.tool) && self.is_long(&self.recorder.lock(), &call.sent);
        let (working, others) = open.into_iter().partition(works);
        self.slow_calls.open = others;
        for OpenCall { tool, sent, .. } in working {
            self.cancel_slow(&tool, &sent).await;
        }
    }

    /// Cancels an open call, and notes that its tool is slow.
    async fn cancel_slow(&mut self, tool: &str, sent: &Sent) {
        self.slow_calls.tools.insert(tool.to_owned());
        self.slow_calls.long.insert(tool.to_owned());
        self.cancel_because(sent, Some(TOO_SLOW)).await;
    }

    /// Waits for the response to a slow call until its deadline, and cancels it if there is none.
    async fn last_response(&mut self, tool: &str, sent: &Sent, deadline: Instant) -> Result<Value, StepError> {
        let last = self.response_or_progress(tool, sent, deadline).await;
        if matches!(&last, Err(error) if error.kind == "timed-out") {
            self.cancel_slow(tool, sent).await;
        }
        last
    }

    /// Whether a call had progress that shows that it takes long.
    fn is_long(&self, state: &State, sent: &Sent) -> bool {
        let Some(params) = progress_of(state, sent).last() else { return false };
        let elapsed = self.since(sent);
        let number = |name: &str| params.get(name)?.as_f64().filter(|number| *number > 0.0);
        match number("progress").zip(number("total")) {
            Some((progress, total)) => elapsed.as_secs_f64() * (total / progress).max(1.0) > SHORT.as_secs_f64(),
            None => elapsed > SHORT_WITHOUT_TOTAL,
        }
    }

    /// Waits for the response. Progress shows that the tool works, so a long call needs no more time, unless the tool is fast.
    async fn response_or_progress(&self, tool: &str, sent: &Sent, deadline: Instant) -> Result<Value, StepError> {
        let (is_fast, began_us) = (self.is_fast(tool), self.now_us());
        let found = |state: &State| {
            let works = !is_fast && self.is_long(state, sent);
            (find_response(state, sent).is_some() || works).then_some(())
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let found = self.while_working(left, None, self.recorder.search(found)).await;
        self.note_wait(sent, began_us, found.is_some());
        self.response(sent, Duration::ZERO).await
    }

    /// Waits for the response to a call that is to be cancelled. If a process of the server works after this time, it would read
    /// a cancellation late, so the call is given time until it waits for something else.
    pub(crate) async fn response_before_cancel(&self, sent: &Sent, within: Duration) -> Result<Value, StepError> {
        let before = self.work().await;
        let found = |state: &State| find_response(state, sent).map(|_| ());
        self.while_working(within, before, self.recorder.search(found)).await;
        self.response(sent, Duration::ZERO).await
    }

    /// Cancels a call of a tool on purpose, and waits for a response that it should not have.
    pub(crate) async fn interrupt(&mut self, tool: &str, sent: &Sent) -> Result<Value, StepError> {
        self.cancel_call(tool, sent).await;
        if sent.progress_token.is_some() {
            let since = self.since(sent);
            let until = FIRST_PROGRESS + self.slowest_response();
            self.slow_calls.expect_late(until.saturating_sub(since));
        }
        self.await_cancellation().await;
        let within = if self.slow_calls.stay_open { Duration::ZERO } else { AFTER_CANCEL };
        let response = self.response(sent, within).await;
        // It is not late.
        self.slow_calls.note(sent, false);
        response
    }

    /// Waits for the response to a ping, which proves that the server read a cancellation.
    pub(crate) async fn await_cancellation(&mut self) {
        let ping = Outgoing { method: "ping".to_owned(), ..Outgoing::default() };
        drop(self.request(ping, AFTER_CANCEL).await);
    }

    /// Answers the requests of the server after this number of received messages, and waits for a response to a cancelled call
    /// that it should not have.
    pub(crate) async fn answer_late(&mut self, received: usize, sent: &Sent) -> Result<Value, StepError> {
        for request in self.recorder.received_since(received) {
            if let Some(reply) = self.recorder.late_answer_to(&request) {
                self.raw(reply.to_string().as_bytes(), 1, Duration::ZERO).await?;
            }
        }
        self.response(sent, AFTER_CANCEL).await
    }

    /// Cancels an open call of a tool on purpose.
    pub(crate) async fn cancel_call(&mut self, tool: &str, sent: &Sent) {
        self.slow_calls.interrupted.insert(tool.to_owned());
        self.slow_calls.expect_late(AFTER_CANCEL);
        self.cancel_because(sent, None).await;
    }

    /// Cancels an open request as its revision and transport define (2026-07-28, basic/patterns/cancellation).
    pub(crate) async fn cancel(&mut self, sent: &Sent) {
        self.slow_calls.cancelled = true;
        self.slow_calls.expect_late(AFTER_CANCEL);
        self.cancel_because(sent, None).await;
    }

    async fn cancel_because(&mut self, sent: &Sent, reason: Option<&str>) {
        self.slow_calls.note(sent, false);
        if self.revision.is_modern() {
            self.end_request(sent, reason).await;
        } else {
            self.notify_cancelled(sent, reason).await;
        }
    }

    /// Waits for the responses to the calls that are open, cancels those without one, waits for other late responses, and
    /// gives the server time for a response to a cancelled call, for its progress, and for an update after a subscription,
    /// which checks report.
    pub(crate) async fn settle(&mut self) {
        let late_until = self.slow_calls.late_until;
        for pair in std::mem::take(&mut self.slow_calls.pairs) {
            self.end_pair(pair).await;
        }
        for OpenCall { tool, sent, deadline } in std::mem::take(&mut self.slow_calls.open) {
            drop(self.last_response(&tool, &sent, deadline).await);
        }
        // A busy machine delays responses.
        let timeout = self.response_timeout(None);
        let late = std::mem::take(&mut *lock(&self.slow_calls.late));
        for sent in late.into_values() {
            let since = self.since(&sent);
            let found = |state: &State| {
                (find_response(state, &sent).is_some() || has_nameless_error(state, &sent)).then_some(())
            };
            self.while_working(timeout.saturating_sub(since), None, self.recorder.search(found)).await;
        }
        if let Some(until) = late_until {
            sleep_until(until).await;
        }
    }
}
