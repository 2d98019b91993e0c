//! The arguments that select scenarios and cases, shared by several commands.

use std::{path::PathBuf, sync::Arc};

use scenarios::{
    Scenario,
    catalog::ScenarioCatalog,
    load::Vocabulary,
    model::Revision,
    plan::Plan,
    select::{Runner, Selection},
};

use crate::{completion, error::CommandError, transport::TransportArg};

/// The built-in catalog, and the scenarios of the user. With a runner, its part of the catalog is enough, and each of the paths
/// must have a scenario of it.
pub(crate) fn catalog_with(paths: &[PathBuf], runner: Option<Runner>) -> Result<ScenarioCatalog, CommandError> {
    let catalog = match runner {
        Some(Runner::Validate) => ScenarioCatalog::built_in_for_servers(),
        _ => ScenarioCatalog::built_in(),
    };
    let catalog = catalog.map_err(CommandError::input)?;
    if paths.is_empty() {
        return Ok(catalog);
    }
    let own = ScenarioCatalog::load(paths, Vocabulary::built_in()).map_err(CommandError::input)?;
    runner.map_or(Ok(()), |runner| own.require(runner, paths)).map_err(CommandError::input)?;
    catalog.and(own).map_err(CommandError::input)
}

/// Selects scenarios and cases.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SelectionArgs {
    /// Only scenarios or cases whose id matches one of the patterns (`pagination/*`, `*@stdio@2025-11-25`), or scenarios
    /// whose name in the official conformance suite does (`tools_call`).
    #[arg(value_name = "GLOB", add = completion::scenario_ids())]
    pub(crate) names: Vec<String>,
    /// Only scenarios of this area (`handshake`, `orphans`).
    #[arg(long, add = completion::scenario_areas())]
    area: Vec<String>,
    /// Only scenarios with this tag.
    #[arg(long, add = completion::scenario_tags())]
    tag: Vec<String>,
    /// Only cases in this revision (`2025-11-25`); repeatable.
    #[arg(long, add = completion::revisions())]
    revision: Vec<Revision>,
    /// Only cases over this transport; repeatable.
    #[arg(long)]
    transport: Vec<TransportArg>,
    /// Scenario files or directories, instead of the built-in catalog.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
}

impl SelectionArgs {
    /// The files and directories of the scenarios; none for the built-in catalog.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.scenarios
    }

    /// Loads the scenarios.
    pub(crate) fn load(&self) -> Result<Vec<Arc<Scenario>>, CommandError> {
        let catalog = if self.scenarios.is_empty() {
            ScenarioCatalog::built_in()
        } else {
            ScenarioCatalog::load(&self.scenarios, Vocabulary::built_in())
        };
        Ok(catalog.map_err(CommandError::input)?.scenarios().collect())
    }

    /// Like [`Self::load`], but if only ids of built-in scenarios or of their cases select, without the other scenarios:
    /// reading them takes longer than a case.
    pub(crate) fn load_selected(&self) -> Result<Vec<Arc<Scenario>>, CommandError> {
        let Self { names, area, tag, revision, transport, scenarios } = self;
        let only_names = (area.is_empty() && tag.is_empty() && scenarios.is_empty())
            && (revision.is_empty() && transport.is_empty() && !names.is_empty());
        if only_names && let Some(catalog) = ScenarioCatalog::built_in_with_ids(names) {
            return Ok(catalog.map_err(CommandError::input)?.scenarios().collect());
        }
        self.load()
    }

    /// Plans the selected cases of these scenarios.
    pub(crate) fn plan(
        &self,
        scenarios: impl IntoIterator<Item = Arc<Scenario>>,
        runner: Option<Runner>,
        seed: u64,
    ) -> Result<Plan, CommandError> {
        let selection = Selection {
            names: self.names.clone(),
            areas: self.area.clone(),
            tags: self.tag.clone(),
            revisions: self.revision.clone(),
            transports: self.transport.iter().map(|transport| transport.0).collect(),
            runner,
            ..Selection::default()
        };
        Plan::new(scenarios, &selection, seed).map_err(CommandError::input)
    }
}
