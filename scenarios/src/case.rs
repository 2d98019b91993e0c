//! One case of a plan: a scenario over one transport in one revision.

use std::{sync::Arc, time::Duration};

use mock_servers::HumanDuration;
use sha2::{Digest, Sha256};

use crate::model::{ClientStep, Revision, Scenario, Transport};

/// Default timeout of a case.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(10);

/// The timeout of the cases of a scenario.
#[must_use]
pub fn limit_of(scenario: &Scenario) -> Duration {
    scenario.limit.map_or(DEFAULT_LIMIT, |HumanDuration(limit)| limit)
}

/// Factor of the time limits of cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeFactor(f64);

impl TimeFactor {
    /// A factor from 0.1 to 100; `None` for others.
    #[must_use]
    pub fn new(factor: f64) -> Option<Self> {
        (0.1..=100.0).contains(&factor).then_some(Self(factor))
    }

    /// The limit multiplied by the factor.
    #[must_use]
    pub fn scale(self, limit: Duration) -> Duration {
        limit.mul_f64(self.0)
    }
}

impl Default for TimeFactor {
    fn default() -> Self {
        Self(1.0)
    }
}

/// One scenario, over one transport, in one revision.
#[derive(Debug, Clone)]
pub struct Case {
    /// Position in the plan, counted from 0.
    pub index: usize,
    /// `<scenario>@<transport>@<revision>`, independent of the plan.
    pub id: String,
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// The transport.
    pub transport: Transport,
    /// The revision.
    pub revision: Revision,
    /// The seed of its random values.
    pub seed: u64,
}

impl Case {
    /// The timeout.
    #[must_use]
    pub fn limit(&self) -> Duration {
        limit_of(&self.scenario)
    }
}

impl Case {
    /// The longest duration in its scenario, as an estimate of its running time. Long cases start first, so that the others
    /// run meanwhile.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        let of_steps = self.scenario.steps.client().iter().filter_map(|step| match step {
            ClientStep::Call(call) | ClientStep::Start(call) => call.timeout,
            ClientStep::Connect(connect) => connect.timeout,
            _ => None,
        });
        let of_client = [self.scenario.client.startup_timeout, self.scenario.client.call_timeout];
        of_steps.chain(of_client.into_iter().flatten()).map(|HumanDuration(limit)| limit).max().unwrap_or_default()
    }
}

/// The id of a case.
#[must_use]
pub fn case_id(scenario: &str, transport: Transport, revision: Revision) -> String {
    format!("{scenario}@{transport}@{revision}")
}

/// The seed of a case. It depends only on the seed of the run and on the id, so a case can be repeated alone.
#[must_use]
pub fn seed_of(run: u64, case: &str) -> u64 {
    let digest = Sha256::new().chain_update(run.to_be_bytes()).chain_update(case.as_bytes()).finalize();
    digest.iter().take(8).fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}
