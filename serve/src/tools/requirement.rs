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
     `tools/unique-names` for example.",
);

/// Requirement and revision.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The id of the requirement.
    id: String,
    /// Protocol revision of the rule. Default: the newest.
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

/// Finds a requirement and its scenarios.
pub(crate) fn explain(
    workbench: &Workbench,
    id: &str,
    revision: Option<Revision>,
) -> Result<RequirementDetails, ToolError> {
    let explanation = Register::built_in().explain(id, revision.unwrap_or(Revision::NEWEST), []);
    let requirement =
        explanation.map_err(|error| ToolError::arguments(error.to_string()).with_help(error.help.clone()))?.requirement;
    let scenarios =
        all(workbench).into_iter().filter(|one| one.requirement.as_ref() == Some(&requirement.id)).map(|one| one.id);
    Ok(RequirementDetails { scenarios: scenarios.collect(), requirement: requirement.into() })
}

impl Output for RequirementDetails {
    fn text(&self) -> String {
        let Rule { id, level, text, url, advice } = &self.requirement;
        let mut summary = format!("{id}: {} {text}\n{url}", level.as_str());
        if let Some(advice) = advice {
            summary.push_str(&format!("\nadvice: {advice}"));
        }
        if !self.scenarios.is_empty() {
            summary.push_str("\nscenarios: ");
            summary.push_str(&self.scenarios.join(", "));
        }
        summary
    }
}
