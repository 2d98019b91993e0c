//! A wait that differs from time to time: latency and jitter.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Turn;
use crate::period::Period;

/// A wait between two times, every length as likely as any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Latency {
    /// The shortest wait.
    pub from: Period,
    /// The longest wait; one below `from` counts as `from`.
    pub to: Period,
}

impl Latency {
    pub(super) fn turn(self, random: &mut ChaCha8Rng) -> Turn {
        Turn::Wait(self.draw(random))
    }

    fn draw(self, random: &mut ChaCha8Rng) -> Duration {
        let nanos = |period: Period| u64::try_from(period.0.as_nanos()).unwrap_or(u64::MAX);
        let (from, to) = (nanos(self.from), nanos(self.to));
        Duration::from_nanos(random.random_range(from..=to.max(from)))
    }
}
