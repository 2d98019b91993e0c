//! Planning: from scenarios and a selection to cases. A case is one scenario over one transport in one revision.
//!
//! Planning is pure: the same scenarios, selection and seed give the same plan, whatever the order of the scenarios.

use std::sync::Arc;

use crate::{
    model::{Revision, Scenario, Subject, Transport},
    select::{SelectError, Selection},
};

pub use crate::case::{Case, DEFAULT_LIMIT, TimeFactor, case_id, limit_of, seed_of};

/// Default revisions of a scenario: the newest with a handshake, and the newest without one.
pub const DEFAULT_REVISIONS: [Revision; 2] = [Revision::NEWEST_LEGACY, Revision::NEWEST_MODERN];

/// The revisions of a scenario, oldest first.
#[must_use]
pub fn revisions_of(scenario: &Scenario) -> Vec<Revision> {
    let mut revisions = scenario.revisions.clone().unwrap_or_else(|| DEFAULT_REVISIONS.to_vec());
    revisions.sort_unstable();
    revisions.dedup();
    revisions
}

/// The transports of a scenario, in the order of [`Transport::ALL`]. Some revisions do not have all of them.
#[must_use]
pub fn transports_of(scenario: &Scenario) -> Vec<Transport> {
    let mut transports = scenario.transports.clone().unwrap_or_else(|| Transport::ALL.to_vec());
    transports.sort_unstable();
    transports.dedup();
    transports
}

/// The cases to run.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The cases, in the order of their scenarios' ids, then by transport and revision.
    pub cases: Vec<Case>,
}

impl Plan {
    /// Plans the cases of these scenarios that are selected. `seed` is the seed of the run.
    ///
    /// # Errors
    /// If a selector is invalid or matches nothing.
    pub fn new(
        scenarios: impl IntoIterator<Item = Arc<Scenario>>,
        selection: &Selection,
        seed: u64,
    ) -> Result<Self, SelectError> {
        let mut scenarios: Vec<Arc<Scenario>> = scenarios.into_iter().collect();
        scenarios.sort_by(|one, other| one.scenario.cmp(&other.scenario));
        let all: Vec<Case> = scenarios.iter().flat_map(|scenario| cases_of(scenario, seed)).collect();
        let mut cases = selection.pick(all)?;
        for (index, case) in cases.iter_mut().enumerate() {
            case.index = index;
        }
        Ok(Self { cases })
    }

    /// One entry per scenario for `list`, in the order of the plan.
    #[must_use]
    pub fn listing(&self) -> Vec<Listed> {
        let mut listed: Vec<Listed> = Vec::new();
        for case in &self.cases {
            match listed.last_mut().filter(|last| last.scenario == case.scenario.scenario) {
                Some(last) => last.add(case),
                None => listed.push(Listed::new(case)),
            }
        }
        listed
    }
}

/// The cases of one scenario, without their index in the plan.
fn cases_of(scenario: &Arc<Scenario>, seed: u64) -> Vec<Case> {
    let revisions = revisions_of(scenario);
    let pairs = transports_of(scenario).into_iter().flat_map(|transport| {
        revisions
            .iter()
            .filter(move |revision| transport.carries(**revision))
            .map(move |revision| (transport, *revision))
    });
    pairs
        .map(|(transport, revision)| {
            let id = case_id(&scenario.scenario, transport, revision);
            let seed = seed_of(seed, &id);
            Case { index: 0, id, scenario: Arc::clone(scenario), transport, revision, seed }
        })
        .collect()
}

/// One scenario of a plan.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// The id.
    pub scenario: String,
    /// The name of the equivalent scenario of the official suite, if there is one.
    pub official: Option<String>,
    /// The title.
    pub title: String,
    /// The subject.
    pub subject: Subject,
    /// The requirement that it tests, if it names one.
    pub requirement: Option<String>,
    /// The tags.
    pub tags: Vec<String>,
    /// The transports of its cases.
    pub transports: Vec<Transport>,
    /// The revisions of its cases.
    pub revisions: Vec<Revision>,
    /// The ids of its cases.
    pub cases: Vec<String>,
}

impl Listed {
    fn new(case: &Case) -> Self {
        let scenario = &case.scenario;
        let mut listed = Self {
            scenario: scenario.scenario.clone(),
            official: scenario.official.as_ref().map(|official| official.name.clone()),
            title: scenario.title.clone(),
            subject: scenario.subject,
            requirement: scenario.requirement.clone(),
            tags: scenario.tags.clone(),
            transports: Vec::new(),
            revisions: Vec::new(),
            cases: Vec::new(),
        };
        listed.add(case);
        listed
    }

    fn add(&mut self, case: &Case) {
        self.cases.push(case.id.clone());
        if !self.transports.contains(&case.transport) {
            self.transports.push(case.transport);
        }
        if !self.revisions.contains(&case.revision) {
            self.revisions.push(case.revision);
            self.revisions.sort_unstable();
        }
    }
}

#[cfg(test)]
mod tests;
