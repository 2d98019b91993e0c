//! `explain`: a requirement or a check, with its source in the specification.

use std::process::ExitCode;

use anyhow::anyhow;
use scenarios::{catalog::ScenarioCatalog, explanation::Explanation, model::Revision, requirements::Register};

use crate::{
    completion,
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the requirement or check, as reports show it (`tools/unique-names`).
    #[arg(add = completion::requirement_ids())]
    id: String,
    /// Revision of the specification [default: the newest].
    #[arg(long, add = completion::revisions())]
    revision: Option<Revision>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Explains a requirement or a check.
pub(crate) fn run(args: &Args) -> CommandResult {
    let catalog = ScenarioCatalog::built_in().map_err(CommandError::internal)?;
    let scenarios: Vec<_> = catalog.scenarios().collect();
    let revision = args.revision.unwrap_or(Revision::NEWEST);
    let explanation = Register::built_in().explain(&args.id, revision, scenarios.iter().map(AsRef::as_ref));
    let explanation = explanation.map_err(|error| {
        let help = error.help.clone();
        CommandError::input(anyhow!(error)).with_help(help)
    })?;
    if args.json {
        print::pretty_json(&explanation)?;
    } else {
        print::raw(&text(&explanation))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(explanation: &Explanation) -> String {
    let Explanation { requirement, profiles, checks, scenarios } = explanation;
    let mut text =
        format!("{}: {} {}\n{}\n", requirement.id, requirement.level.as_str(), requirement.text, requirement.url);
    if let Some(advice) = &requirement.advice {
        text.push_str(&format!("advice: {advice}\n"));
    }
    if let [only] = profiles.as_slice() {
        text.push_str(&format!("profile {}\n", only.as_str()));
    }
    for check in checks {
        text.push_str(&format!("\ncheck {}\n    {}\n", check.id, check.expected));
    }
    if !scenarios.is_empty() {
        text.push_str(&format!("\ntested by {}\n", scenarios.join(", ")));
    }
    text
}
