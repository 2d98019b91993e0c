//! `list_scenarios`: what can be run.

use std::fmt::Write as _;

use scenarios::{
    model::{Revision, Subject, Transport},
    plan::{Listed, Plan},
    select::Selection,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Output};
use crate::{trouble::Trouble, workbench::Workbench};

pub(super) const WORDS: (&str, &str, &str) = (
    "list_scenarios",
    "List the scenarios",
    "Lists the scenarios of the catalogue: their ids, what each shows, the requirement that it stands for, and over which transports \
     and in which revisions it runs. Those for servers are run by `validate_server`, those for clients by `run_scenarios`.",
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
pub(super) struct Found {
    /// The scenarios, by id.
    scenarios: Vec<Told>,
}

/// A scenario.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    /// Its id.
    pub(super) id: String,
    /// What it shows.
    title: String,
    /// Who is judged.
    subject: Subject,
    /// The id of the requirement that it stands for.
    pub(super) requirement: String,
    /// The transports that it runs over.
    transports: Vec<Transport>,
    /// The revisions that it runs in.
    revisions: Vec<Revision>,
}

impl From<Listed> for Told {
    fn from(listed: Listed) -> Self {
        let Listed { scenario, title, subject, requirement, transports, revisions, .. } = listed;
        Self { id: scenario, title, subject, requirement, transports, revisions }
    }
}

pub(super) async fn list_scenarios(call: Call, arguments: Arguments) -> Result<Found, Trouble> {
    let selection = Selection {
        names: arguments.scenarios,
        areas: arguments.areas,
        subjects: arguments.subject.into_iter().collect(),
        ..Selection::default()
    };
    let plan = Plan::new(call.workbench.catalogue().scenarios(), &selection, 0)?;
    Ok(Found { scenarios: plan.listing().into_iter().map(Told::from).collect() })
}

/// All scenarios.
pub(crate) fn all(workbench: &Workbench) -> Vec<Told> {
    // Nothing is selected by, so nothing can be selected in vain.
    let plan = Plan::new(workbench.catalogue().scenarios(), &Selection::default(), 0).unwrap_or_default();
    plan.listing().into_iter().map(Told::from).collect()
}

impl Output for Found {
    fn text(&self) -> String {
        let mut text = format!("{} scenarios\n", self.scenarios.len());
        for Told { id, title, .. } in &self.scenarios {
            // A string takes everything that is written to it.
            let _ = writeln!(text, "{id}: {title}");
        }
        text.trim_end().to_owned()
    }
}
