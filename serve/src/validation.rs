//! Validations of servers: the plan of a run, for the tool `validate_server` and for the management API.

use std::{collections::BTreeSet, num::NonZeroUsize, sync::Arc, time::Duration};

use mock_servers::HumanDuration;
use reports::model::PassPolicy;
use scenarios::{
    Scenario,
    model::{Revision, Subject, Transport},
    peer::ServerTarget,
    plan::Plan,
    run::{ToolPolicy, ValidatePlan, fresh_seed},
    select::{CheckSelection, Selection},
};

use crate::{error::ToolError, portability, workbench::Workbench};

/// Default timeout of the server's first response.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// Options of a validation.
#[derive(Debug, Default)]
pub(crate) struct ValidationOptions {
    /// Globs for scenario ids. Default: all that apply.
    pub(crate) scenarios: Vec<String>,
    /// Globs for ids of checks, scenarios or cases: only these.
    pub(crate) only: Vec<String>,
    /// The same: all but these.
    pub(crate) skip: Vec<String>,
    /// Areas of checks: only these.
    pub(crate) areas: Vec<String>,
    /// Protocol revisions. Default: all that the server supports.
    pub(crate) revisions: Vec<Revision>,
    /// Whether to test only the newest revision of each era. Excludes `revisions`.
    pub(crate) quick: bool,
    /// Transport of a URL. Default: determined by a probe.
    pub(crate) transport: Option<Transport>,
    /// Tools to call in addition to those annotated as read-only.
    pub(crate) call_tools: Vec<String>,
    /// Random seed.
    pub(crate) seed: Option<u64>,
    /// The verdicts that fail the run.
    pub(crate) policy: PassPolicy,
    /// Timeout of the server's first response.
    pub(crate) startup_timeout: Option<HumanDuration>,
    /// Number of cases to run in parallel.
    pub(crate) jobs: Option<NonZeroUsize>,
}

impl ValidationOptions {
    /// The plan of a run within the limits of the workbench. Reports name the server by `subject`.
    pub(crate) fn plan(
        self,
        workbench: &Workbench,
        target: ServerTarget,
        subject: String,
    ) -> Result<ValidatePlan, ToolError> {
        let limits = *workbench.limits();
        let startup = self.startup_timeout.map_or(STARTUP_TIMEOUT, |HumanDuration(startup)| startup);
        if startup > limits.startup {
            let (value, limit) = (HumanDuration(startup), HumanDuration(limits.startup));
            return Err(ToolError::over_limit("a startup timeout", value, limit));
        }
        let (revisions, transport) = (self.revisions()?, self.transport(&target)?);
        let scenarios = select(workbench, &self.scenarios)?;
        let selection = CheckSelection::new(&self.only, &self.skip, &self.areas, scenarios.iter().map(AsRef::as_ref))?;
        let call_tools = ToolPolicy::parse(&self.call_tools)
            .map_err(|cause| ToolError::arguments(format!("`callTools`: {cause}")))?;
        Ok(ValidatePlan {
            revisions,
            target,
            subject,
            transport,
            scenarios,
            selection,
            baseline: None,
            seed: self.seed.unwrap_or_else(fresh_seed),
            startup,
            jobs: self.jobs.unwrap_or_else(ValidatePlan::default_jobs).min(limits.jobs),
            policy: self.policy,
            portability: Some(portability::portability),
            call_tools,
        })
    }

    fn revisions(&self) -> Result<Vec<Revision>, ToolError> {
        match (self.quick, self.revisions.is_empty()) {
            (true, false) => Err(ToolError::arguments("`quick` and `revisions` exclude each other")),
            (true, true) => Ok(vec![Revision::NEWEST_LEGACY, Revision::NEWEST_MODERN]),
            (false, _) => Ok(self.revisions.clone()),
        }
    }

    fn transport(&self, target: &ServerTarget) -> Result<Option<Transport>, ToolError> {
        match (self.transport, target) {
            (Some(Transport::Stdio), ServerTarget::Url(_)) => {
                Err(ToolError::arguments("the transport `stdio` needs a `command`"))
            }
            (Some(Transport::StreamableHttp | Transport::HttpSse), ServerTarget::Command(_)) => {
                Err(ToolError::arguments("this transport needs a `url`"))
            }
            (transport, _) => Ok(transport),
        }
    }
}

/// The selected scenarios for servers.
fn select(workbench: &Workbench, names: &[String]) -> Result<Vec<Arc<Scenario>>, ToolError> {
    let all: Vec<_> = workbench.catalog().scenarios().filter(|scenario| scenario.subject == Subject::Server).collect();
    if names.is_empty() {
        return Ok(all);
    }
    let selection = Selection { names: names.to_vec(), ..Selection::default() };
    let plan = Plan::new(all.iter().cloned(), &selection, 0)?;
    let selected: BTreeSet<&str> = plan.cases.iter().map(|case| case.scenario.scenario.as_str()).collect();
    Ok(all.into_iter().filter(|scenario| selected.contains(scenario.scenario.as_str())).collect())
}
