//! `list_scenarios`: lists the scenarios.

use std::fmt::Write as _;

use scenarios::{
    model::{Revision, Subject, Transport},
    plan::{Listed, Plan},
    select::Selection,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Output};
use crate::{error::ToolError, workbench::Workbench};

pub(super) const METADATA: (&str, &str, &str) = (
    "list_scenarios",
    "List the scenarios",
    "Lists the scenarios of the catalog with id, title, requirement, transports and revisions. Those for servers are run by `validate_server`, those for clients by `run_scenarios`.",
);

/// Which scenarios.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Those that judge a `client`, or those that judge a `server`; absent: both.
    #[serde(default)]
    subject: Option<Subject>,
    /// Globs on ids (`pagination/*`); absent: all.
    #[serde(default)]
    scenarios: Vec<String>,
    /// Areas: the first part of the ids; absent: all.
    #[serde(default)]
    areas: Vec<String>,
}

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ScenarioList {
    /// The scenarios, by id.
    scenarios: Vec<ScenarioSummary>,
}

/// A scenario.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScenarioSummary {
    /// Its id.
    pub(super) id: String,
    /// What it shows.
    title: String,
    /// Who is judged.
    subject: Subject,
    /// Id of its requirement.
    pub(super) requirement: String,
    /// The transports that it runs over.
    transports: Vec<Transport>,
    /// The revisions that it runs in.
    revisions: Vec<Revision>,
}

impl From<Listed> for ScenarioSummary {
    fn from(listed: Listed) -> Self {
        let Listed { scenario, title, subject, requirement, transports, revisions, .. } = listed;
        Self { id: scenario, title, subject, requirement, transports, revisions }
    }
}

pub(super) async fn list_scenarios(call: Call, arguments: Arguments) -> Result<ScenarioList, ToolError> {
    let selection = Selection {
        names: arguments.scenarios,
        areas: arguments.areas,
        subjects: arguments.subject.into_iter().collect(),
        ..Selection::default()
    };
    let plan = Plan::new(call.workbench.catalog().scenarios(), &selection, 0)?;
    Ok(ScenarioList { scenarios: plan.listing().into_iter().map(ScenarioSummary::from).collect() })
}

/// All scenarios.
pub(crate) fn all(workbench: &Workbench) -> Vec<ScenarioSummary> {
    // Nothing is selected by, so nothing can be selected in vain.
    let plan = Plan::new(workbench.catalog().scenarios(), &Selection::default(), 0).unwrap_or_default();
    plan.listing().into_iter().map(ScenarioSummary::from).collect()
}

impl Output for ScenarioList {
    fn text(&self) -> String {
        let mut text = format!("{} scenarios\n", self.scenarios.len());
        for ScenarioSummary { id, title, .. } in &self.scenarios {
            // A string takes everything that is written to it.
            let _ = writeln!(text, "{id}: {title}");
        }
        text.trim_end().to_owned()
    }
}
