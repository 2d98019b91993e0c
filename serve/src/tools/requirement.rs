//! `explain_requirement`: a rule that a verdict cites.

use scenarios::{model::Revision, requirements::Register};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mock_servers::reading::nearest;

use super::{
    Call, Output,
    report::{Rule, level},
    scenarios::all,
};
use crate::{trouble::Trouble, workbench::Workbench};

pub(super) const WORDS: (&str, &str, &str) = (
    "explain_requirement",
    "Explain a requirement",
    "Says of a requirement that a verdict cites how strong it is, what it says, where the specification says so, and which scenarios \
     stand for it. Takes the id in the verdict, `tools/names-are-unique` for instance.",
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
pub(crate) struct Explained {
    /// The rule.
    requirement: Rule,
    /// The ids of the scenarios that stand for it. Checks of other scenarios may cite it too.
    scenarios: Vec<String>,
}

pub(super) async fn explain_requirement(call: Call, arguments: Arguments) -> Result<Explained, Trouble> {
    explain(&call.workbench, &arguments.id, arguments.revision)
}

/// What there is to know of a requirement.
///
/// # Errors
/// If there is none of this id.
pub(crate) fn explain(workbench: &Workbench, id: &str, revision: Option<Revision>) -> Result<Explained, Trouble> {
    let register = Register::built_in();
    let requirement = register.get(id, revision.unwrap_or(Revision::V2026_07_28)).ok_or_else(|| {
        let known: Vec<&str> = register.ids().collect();
        Trouble::arguments(format!("there is no requirement `{id}`")).advise(nearest::advice(id, known))
    })?;
    let stand = all(workbench).into_iter().filter(|told| told.requirement == id).map(|told| told.id);
    Ok(Explained { scenarios: stand.collect(), requirement: requirement.into() })
}

impl Output for Explained {
    fn text(&self) -> String {
        let Rule { id, level: strength, text, url } = &self.requirement;
        let mut words = format!("{id}: {} {text}\n{url}", level(*strength));
        if !self.scenarios.is_empty() {
            words.push_str("\nshown by ");
            words.push_str(&self.scenarios.join(", "));
        }
        words
    }
}
