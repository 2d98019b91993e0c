//! Persistent faults: faults that act on every message that matches, until they are disabled.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::rules::{MatchInput, matches};
use crate::{
    faults::{Fault, FaultDirection, FaultState},
    script::FaultRule,
};

fn initial(rule: &FaultRule) -> FaultState {
    FaultState { name: rule.name.clone(), enabled: rule.enabled, matched: 0, acted: 0 }
}

/// The persistent faults of a server, each with its state.
#[derive(Debug, Clone)]
pub(crate) struct PersistentFaults {
    rules: Vec<(FaultRule, FaultState)>,
    seed: u64,
}

impl PersistentFaults {
    pub(crate) fn new(rules: Vec<FaultRule>, seed: u64) -> Self {
        let with_state = |rule: FaultRule| {
            let state = initial(&rule);
            (rule, state)
        };
        Self { rules: rules.into_iter().map(with_state).collect(), seed }
    }

    /// Restores the initial state.
    pub(crate) fn reset(&mut self) {
        for (rule, state) in &mut self.rules {
            *state = initial(rule);
        }
    }

    /// The faults that act on a message, each with its random values. Disabled faults count the message too, so that
    /// enabling one does not change later random values.
    pub(crate) fn apply_faults(
        &mut self,
        direction: FaultDirection,
        input: MatchInput<'_>,
        run: u64,
    ) -> Vec<(Fault, ChaCha8Rng)> {
        let mut applied = Vec::new();
        for (position, (rule, state)) in self.rules.iter_mut().enumerate() {
            if rule.direction != direction || !matches(&rule.when, input, run) {
                continue;
            }
            state.matched += 1;
            let mut random = fault_random(self.seed, PERSISTENT + position as u64, state.matched);
            let drawn = random.random_bool(rule.probability.clamp(0.0, 1.0));
            if drawn && state.enabled && rule.when.counts(state.matched) {
                state.acted += 1;
                tracing::debug!(fault = state.name.as_deref().unwrap_or_default(), "persistent fault acts");
                applied.push((rule.fault.clone(), random));
            }
        }
        applied
    }

    /// Enables or disables the faults of this name; returns whether there are any.
    pub(crate) fn switch(&mut self, name: &str, enabled: bool) -> bool {
        let mut found = false;
        for (_, state) in self.rules.iter_mut().filter(|(rule, _)| rule.name.as_deref() == Some(name)) {
            state.enabled = enabled;
            found = true;
        }
        found
    }

    pub(crate) fn states(&self) -> Vec<FaultState> {
        self.rules.iter().map(|(_, state)| state.clone()).collect()
    }
}

/// The first position of persistent faults, outside of the range of rules.
const PERSISTENT: u64 = 1 << 32;

/// The random values of the fault at this position for its n-th match.
pub(crate) fn fault_random(seed: u64, position: u64, matched: u64) -> ChaCha8Rng {
    // A value is drawn between the numbers, so that similar numbers result in unrelated seeds.
    let mixed = ChaCha8Rng::seed_from_u64(seed).next_u64() ^ position;
    let mixed = ChaCha8Rng::seed_from_u64(mixed).next_u64() ^ matched;
    ChaCha8Rng::seed_from_u64(mixed)
}
