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
    "Lists the scenarios of the catalog with id, title, requirement, transports and revisions. `validate_server` runs scenarios for servers, `run_scenarios` those for clients.",
);

/// Selection of scenarios.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Scenarios for a `client` or a `server`. Default: both.
    #[serde(default)]
    subject: Option<Subject>,
    /// Globs for ids (`pagination/*`). Default: all.
    #[serde(default)]
    scenarios: Vec<String>,
    /// Areas: the first part of ids. Default: all.
    #[serde(default)]
    areas: Vec<String>,
}

/// The scenarios.
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
    /// Title.
    title: String,
    /// Whether it tests clients or servers.
    subject: Subject,
    /// Id of its requirement, if it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requirement: Option<String>,
    /// Supported transports.
    transports: Vec<Transport>,
    /// Supported revisions.
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
    // An empty selection cannot fail.
    let plan = Plan::new(workbench.catalog().scenarios(), &Selection::default(), 0).unwrap_or_default();
    plan.listing().into_iter().map(ScenarioSummary::from).collect()
}

impl Output for ScenarioList {
    fn text(&self) -> String {
        let mut text = format!("{} scenarios\n", self.scenarios.len());
        for ScenarioSummary { id, title, .. } in &self.scenarios {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{id}: {title}");
        }
        text.trim_end().to_owned()
    }
}
