//! Standing faults: those that a server has all the time, for some messages, at random, until they are switched off.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Fault;
use crate::{
    engine::{Arrived, matches},
    script::When,
};

/// A fault that a server has all the time. All that match a message act, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct FaultRule {
    /// The name to switch it on and off by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What goes wrong.
    pub fault: Fault,
    /// Which way.
    #[serde(default, skip_serializing_if = "Toward::is_client")]
    pub direction: Toward,
    /// How likely it is to act on a message that matches, from 0 (never) to 1 (always); 1 if absent.
    #[serde(default = "certain", skip_serializing_if = "is_certain")]
    pub probability: f64,
    /// For which of the client's messages, and for what is said because of them; all if absent.
    #[serde(default)]
    pub when: When,
    /// Whether it is on at the start.
    #[serde(default = "on", skip_serializing_if = "is_on")]
    pub enabled: bool,
}

/// Which way something goes wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Toward {
    /// With what the server says because of a message.
    #[default]
    ToClient,
    /// With the client's message itself, before the server has seen it.
    ToServer,
}

impl Toward {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_client(&self) -> bool {
        *self == Self::ToClient
    }
}

fn certain() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_certain(probability: &f64) -> bool {
    *probability >= 1.0
}

fn on() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_on(enabled: &bool) -> bool {
    *enabled
}

/// A standing fault at a moment of the server's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultState {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is on.
    pub enabled: bool,
    /// How many messages its fields, `nth` apart, have matched.
    pub matched: u64,
    /// On how many of them it has acted.
    pub acted: u64,
}

impl FaultState {
    fn at_first(rule: &FaultRule) -> Self {
        Self { name: rule.name.clone(), enabled: rule.enabled, matched: 0, acted: 0 }
    }
}

/// The standing faults of a server.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    rules: Vec<(FaultRule, FaultState)>,
    seed: u64,
}

impl Standing {
    pub(crate) fn new(rules: Vec<FaultRule>, seed: u64) -> Self {
        let with_state = |rule: FaultRule| {
            let state = FaultState::at_first(&rule);
            (rule, state)
        };
        Self { rules: rules.into_iter().map(with_state).collect(), seed }
    }

    /// Everything is as at the start.
    pub(crate) fn reset(&mut self) {
        for (rule, state) in &mut self.rules {
            *state = FaultState::at_first(rule);
        }
    }

    /// The faults that act on a message, each with its chance. Faults that are off count the message all the same, so
    /// that a switch does not change what is drawn later.
    pub(crate) fn strike(&mut self, toward: Toward, arrived: Arrived<'_>, run: u64) -> Vec<(Fault, ChaCha8Rng)> {
        let mut struck = Vec::new();
        for (position, (rule, state)) in self.rules.iter_mut().enumerate() {
            if rule.direction != toward || !matches(&rule.when, arrived, run) {
                continue;
            }
            state.matched += 1;
            let mut random = chance(self.seed, STANDING + position as u64, state.matched);
            let drawn = random.random_bool(rule.probability.clamp(0.0, 1.0));
            if drawn && state.enabled && rule.when.counts(state.matched) {
                state.acted += 1;
                tracing::debug!(fault = state.name.as_deref().unwrap_or_default(), "a standing fault acts");
                struck.push((rule.fault.clone(), random));
            }
        }
        struck
    }

    /// Switches the faults of this name; false if there are none.
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

/// Where the positions of standing faults begin, apart from those of rules.
const STANDING: u64 = 1 << 32;

/// Chance for the fault at this position when it has matched this often.
pub(crate) fn chance(seed: u64, position: u64, matched: u64) -> ChaCha8Rng {
    // Three numbers make one seed by drawing in between, so that near numbers lead to far seeds.
    let mixed = ChaCha8Rng::seed_from_u64(seed).next_u64() ^ position;
    let mixed = ChaCha8Rng::seed_from_u64(mixed).next_u64() ^ matched;
    ChaCha8Rng::seed_from_u64(mixed)
}
