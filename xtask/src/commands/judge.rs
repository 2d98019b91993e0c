//! `judge`: the evidence in a journal, judged once more. Whoever is sent a journal can see for himself.

use std::{
    collections::HashMap,
    io::{BufRead as _, Write as _},
    path::PathBuf,
    sync::Arc,
};

use reports::journal::Line;
use scenarios::{Evidence, Scenario, catalogue::Catalogue, judge, load::Vocabulary};

use super::report::open;
use crate::failure::{CommandResult, Failure, held};

/// The arguments of `judge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The journal, or the folder of the run.
    journal: PathBuf,
    /// Scenario files, or folders of them, instead of the built-in catalogue.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
}

/// Judges every case of a journal again, and says where the verdict is another one.
pub(crate) fn run(args: &Args) -> CommandResult {
    let known = scenarios_by_id(&args.scenarios)?;
    let (mut same, mut other) = (0_usize, 0_usize);
    let mut out = std::io::stdout().lock();
    for (number, line) in open(&args.journal)?.lines().enumerate() {
        let line = line.map_err(Failure::environment)?;
        // A torn last line is what an interrupted run leaves.
        let Ok(Line::Case { result, evidence, .. }) = serde_json::from_str(&line) else { continue };
        let evidence: Evidence = serde_json::from_value(evidence).map_err(|cause| {
            Failure::input(anyhow::anyhow!("line {}: the evidence is of another format: {cause}", number + 1))
        })?;
        let Some(scenario) = known.get(&result.scenario) else {
            return Err(Failure::input(anyhow::anyhow!(
                "line {}: scenario `{}` is not in the catalogue; name its file with --scenarios",
                number + 1,
                result.scenario
            )));
        };
        let again = judge::judge(&result.id, scenario, &evidence);
        if again.verdict == result.verdict {
            same += 1;
        } else {
            other += 1;
            writeln!(out, "{}: was {}, is {}", result.id, result.verdict.word(), again.verdict.word())
                .map_err(Failure::environment)?;
        }
    }
    writeln!(out, "{same} verdicts are the same, {other} are not").map_err(Failure::environment)?;
    Ok(held(other == 0 && same > 0))
}

fn scenarios_by_id(paths: &[PathBuf]) -> Result<HashMap<String, Arc<Scenario>>, Failure> {
    let mut catalogue = Catalogue::built_in().map_err(Failure::input)?;
    if !paths.is_empty() {
        let theirs = Catalogue::load(paths, Vocabulary::built_in()).map_err(Failure::input)?;
        catalogue = catalogue.and(theirs).map_err(Failure::input)?;
    }
    Ok(catalogue.scenarios().map(|scenario| (scenario.scenario.clone(), scenario)).collect())
}
