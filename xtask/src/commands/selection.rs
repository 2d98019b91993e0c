//! Which scenarios: the arguments that several commands share, and the way from them to a plan.

use std::{path::PathBuf, sync::Arc};

use scenarios::{
    Scenario,
    catalogue::Catalogue,
    load::Vocabulary,
    model::{Revision, Subject, Transport},
    plan::Plan,
    select::Selection,
};

use crate::failure::Failure;

/// Which scenarios, and which cases of them.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SelectionArgs {
    /// Only scenarios or cases whose id matches (`pagination/*`, `*@stdio@2025-11-25`); several widen the choice.
    #[arg(value_name = "GLOB")]
    pub(crate) names: Vec<String>,
    /// Only scenarios of this area (`handshake`, `orphans`).
    #[arg(long)]
    area: Vec<String>,
    /// Only scenarios with this tag.
    #[arg(long)]
    tag: Vec<String>,
    /// Only cases in this revision (`2025-11-25`).
    #[arg(long)]
    revision: Vec<Revision>,
    /// Only cases over this transport (`stdio`, `sse`, `streamable-http`).
    #[arg(long)]
    transport: Vec<Transport>,
    /// Scenario files, or folders of them, instead of the built-in catalogue.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
}

impl SelectionArgs {
    /// The scenarios to choose from.
    pub(crate) fn load(&self) -> Result<Vec<Arc<Scenario>>, Failure> {
        let catalogue = if self.scenarios.is_empty() {
            Catalogue::built_in()
        } else {
            Catalogue::load(&self.scenarios, Vocabulary::built_in())
        };
        Ok(catalogue.map_err(Failure::input)?.scenarios().collect())
    }

    /// The cases of these scenarios that are chosen.
    pub(crate) fn plan(
        &self,
        scenarios: impl IntoIterator<Item = Arc<Scenario>>,
        subject: Option<Subject>,
        seed: u64,
    ) -> Result<Plan, Failure> {
        let selection = Selection {
            names: self.names.clone(),
            areas: self.area.clone(),
            tags: self.tag.clone(),
            revisions: self.revision.clone(),
            transports: self.transport.clone(),
            subjects: subject.into_iter().collect(),
        };
        Plan::new(scenarios, &selection, seed).map_err(Failure::input)
    }
}
