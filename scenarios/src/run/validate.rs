//! Judging material for a whole server: every scenario that applies to it, run side by side within bounds.

use std::{num::NonZeroUsize, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};

use crate::{
    evidence::Evidence,
    model::{Scenario, Subject},
    peer::{PeerError, ServerFacts, ServerTarget, probe},
    run::server_case::{applies, run_server_case},
};

/// How a server is validated.
#[derive(Debug, Clone)]
pub struct ValidateOptions {
    /// How long the server may take to give its first answer.
    pub startup: Duration,
    /// How many cases run at one time.
    pub jobs: NonZeroUsize,
}

impl Default for ValidateOptions {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { startup: Duration::from_secs(30), jobs }
    }
}

/// Something that happened while a server was validated.
#[derive(Debug)]
pub enum ValidateEvent<'a> {
    /// The server was found to speak this.
    Probed(&'a ServerFacts),
    /// A case is over, with this evidence: at once where the scenario does not apply.
    Finished {
        /// The scenario.
        scenario: &'a Scenario,
        /// What was recorded.
        evidence: Box<Evidence>,
    },
}

/// Probes a server and runs every scenario for servers against it, in each revision that it speaks. What happens is told
/// as it happens; judging is for whoever is told.
///
/// # Errors
/// If the server cannot be started, reached or spoken to at all: then there is nothing to judge.
pub async fn validate<'a>(
    target: &ServerTarget,
    scenarios: impl IntoIterator<Item = &'a Scenario>,
    options: &ValidateOptions,
    mut tell: impl FnMut(ValidateEvent<'_>),
) -> Result<ServerFacts, PeerError> {
    let facts = probe(target, options.startup).await?;
    tell(ValidateEvent::Probed(&facts));
    let mut cases = Vec::new();
    for scenario in scenarios.into_iter().filter(|scenario| scenario.subject == Subject::Server) {
        for revision in facts.revisions() {
            match applies(scenario, &facts, revision) {
                Ok(()) => cases.push((scenario, revision)),
                Err(reason) => {
                    let evidence = Box::new(Evidence::skipped(scenario, facts.transport, revision, reason));
                    tell(ValidateEvent::Finished { scenario, evidence });
                }
            }
        }
    }
    let (known, startup) = (&facts, options.startup);
    // Boxed one by one: a closure that gives them would keep whoever awaits this from being sent between threads.
    let mut running: Vec<BoxFuture<'_, (&Scenario, Evidence)>> = Vec::with_capacity(cases.len());
    for (scenario, revision) in cases {
        let case = async move { (scenario, run_server_case(target, scenario, known, revision, startup).await) };
        running.push(case.boxed());
    }
    let mut running = stream::iter(running).buffer_unordered(options.jobs.get());
    while let Some((scenario, evidence)) = running.next().await {
        tell(ValidateEvent::Finished { scenario, evidence: Box::new(evidence) });
    }
    drop(running);
    Ok(facts)
}
