//! `explain_requirement`: describes a requirement.

use scenarios::{model::Revision, requirements::Register};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Output, report::Rule, scenarios::all};
use crate::{error::ToolError, workbench::Workbench};

pub(super) const METADATA: (&str, &str, &str) = (
    "explain_requirement",
    "Explain a requirement",
    "Returns level, summary, source and scenarios of a requirement. Takes the id from a verdict, \
     `tools/names-are-unique` for example.",
);

/// Which requirement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The id of the requirement.
    id: String,
    /// The revision in which it is to be read; absent: the newest.
    #[serde(default)]
    revision: Option<Revision>,
}

/// A requirement.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RequirementDetails {
    /// The rule.
    requirement: Rule,
    /// Ids of the scenarios for it. Checks of other scenarios may cite it too.
    scenarios: Vec<String>,
}

pub(super) async fn explain_requirement(call: Call, arguments: Arguments) -> Result<RequirementDetails, ToolError> {
    explain(&call.workbench, &arguments.id, arguments.revision)
}

/// What there is to know of a requirement.
///
/// # Errors
/// If there is none of this id.
pub(crate) fn explain(
    workbench: &Workbench,
    id: &str,
    revision: Option<Revision>,
) -> Result<RequirementDetails, ToolError> {
    let explanation = Register::built_in().explain(id, revision.unwrap_or(Revision::V2026_07_28), []);
    let requirement =
        explanation.map_err(|error| ToolError::arguments(error.to_string()).advise(error.help.clone()))?.requirement;
    let stand = all(workbench).into_iter().filter(|told| told.requirement == requirement.id).map(|told| told.id);
    Ok(RequirementDetails { scenarios: stand.collect(), requirement: requirement.into() })
}

impl Output for RequirementDetails {
    fn text(&self) -> String {
        let Rule { id, level: strength, text, url } = &self.requirement;
        let mut words = format!("{id}: {} {text}\n{url}", strength.as_str());
        if !self.scenarios.is_empty() {
            words.push_str("\nshown by ");
            words.push_str(&self.scenarios.join(", "));
        }
        words
    }
}
