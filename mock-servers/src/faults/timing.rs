//! Faults of time and order: responses that never come, come late, or come after others.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FaultAction, FaultContext, FaultHooks, ParameterProblem};
use crate::human_duration::HumanDuration;

/// Never responds. With `to-server`, the message is lost.
#[derive(JsonSchema)]
pub(super) struct Silence;

impl FaultHooks for Silence {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::Hold
    }
}

/// Waits, then continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delay(pub HumanDuration);

impl FaultHooks for Delay {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::Wait(self.0.0)
    }
}

/// Waits for a random time between two limits, then continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Latency {
    /// The shortest wait.
    pub from: HumanDuration,
    /// The longest wait; a value below `from` counts as `from`.
    pub to: HumanDuration,
}

impl Latency {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        let problem = || ParameterProblem::value("to", "`to` is below `from`", "write the longer of the two here");
        (self.to < self.from).then(problem).into_iter().collect()
    }

    fn draw(self, random: &mut ChaCha8Rng) -> Duration {
        let nanos = |period: HumanDuration| u64::try_from(period.0.as_nanos()).unwrap_or(u64::MAX);
        let (from, to) = (nanos(self.from), nanos(self.to));
        Duration::from_nanos(random.random_range(from..=to.max(from)))
    }
}

impl FaultHooks for Latency {
    fn action(&self, context: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::Wait(self.draw(&mut context.random))
    }
}

/// Waits, then continues, and responds even if the request is canceled in the meantime. A cancellation can cross the
/// response, so clients have to ignore the response (all revisions, cancellation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LateReply(pub HumanDuration);

impl FaultHooks for LateReply {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::WaitRegardless(self.0.0)
    }
}

/// Delays the response until others of the session have been sent. JSON-RPC allows any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Reorder {
    /// The number of responses of the same session that are sent first [default: 1].
    pub behind: u64,
    /// The longest wait for them [default: 1s].
    pub within: HumanDuration,
}

impl Default for Reorder {
    fn default() -> Self {
        Self { behind: 1, within: HumanDuration::from_millis(1_000) }
    }
}

impl FaultHooks for Reorder {
    fn reorder(&self) -> Option<Reorder> {
        (self.behind > 0).then_some(*self)
    }
}
