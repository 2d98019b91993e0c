//! `judge`: re-evaluates the checks on the evidence in a journal.

use std::{io::BufRead as _, path::PathBuf};

use reports::journal::Line;
use scenarios::{Evidence, catalog::ScenarioCatalog, judge, load::Vocabulary};

use super::report::open;
use crate::{
    failure::{CommandResult, Failure, held},
    print,
};

/// The arguments of `judge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The journal, or the folder of the run.
    journal: PathBuf,
    /// Scenario files, or folders of them, instead of the built-in catalog.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
}

/// Judges every case of a journal again, and says where the verdict is another one.
pub(crate) fn run(args: &Args) -> CommandResult {
    let catalog = load_catalog(&args.scenarios)?;
    let (mut same, mut other) = (0_usize, 0_usize);
    for (number, line) in open(&args.journal)?.lines().enumerate() {
        let line = line.map_err(Failure::environment)?;
        // A torn last line is what an interrupted run leaves.
        let Ok(Line::Case { result, evidence, .. }) = serde_json::from_str(&line) else { continue };
        let evidence: Evidence = serde_json::from_value(evidence).map_err(|cause| {
            Failure::input(anyhow::anyhow!("line {}: the evidence is of another format: {cause}", number + 1))
        })?;
        let Some(scenario) = catalog.get(&result.scenario) else {
            return Err(Failure::input(anyhow::anyhow!(
                "line {}: scenario `{}` is not in the catalog; name its file with --scenarios",
                number + 1,
                result.scenario
            )));
        };
        let again = judge::judge(&result.id, scenario, &evidence);
        if again.verdict == result.verdict {
            same += 1;
        } else {
            other += 1;
            let (before, now) = (result.verdict.as_str(), again.verdict.as_str());
            print::line(&format!("{}: was {before}, is {now}", result.id))?;
        }
    }
    print::line(&format!("{same} verdicts are the same, {other} are not"))?;
    Ok(held(other == 0 && same > 0))
}

fn load_catalog(paths: &[PathBuf]) -> Result<ScenarioCatalog, Failure> {
    let mut catalog = ScenarioCatalog::built_in().map_err(Failure::input)?;
    if !paths.is_empty() {
        let theirs = ScenarioCatalog::load(paths, Vocabulary::built_in()).map_err(Failure::input)?;
        catalog = catalog.and(theirs).map_err(Failure::input)?;
    }
    Ok(catalog)
}
