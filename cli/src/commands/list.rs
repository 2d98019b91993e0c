//! `list`: scenarios, their cases, and requirements.

use std::process::ExitCode;

use evidence::Revision;
use scenarios::requirements::Register;

use super::selection::SelectionArgs;
use crate::{error::CommandResult, print};

/// The arguments of `list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Also print the cases of each scenario.
    #[arg(long)]
    cases: bool,
    /// List the requirements that verdicts cite instead of scenarios.
    #[arg(long, conflicts_with = "cases")]
    requirements: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Lists scenarios.
pub(crate) fn run(args: Args) -> CommandResult {
    if args.requirements {
        return list_requirements(args.json);
    }
    let plan = args.selection.plan(args.selection.load()?, None, 0)?;
    let listing = plan.listing();
    if args.json {
        print::pretty_json(&listing)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for listed in listing {
        let official = listed.official.map(|name| format!(", official name {name}")).unwrap_or_default();
        text.push_str(&format!(
            "{}  ({} cases{official})\n    {}\n",
            listed.scenario,
            listed.cases.len(),
            listed.title
        ));
        if args.cases {
            text.extend(listed.cases.iter().map(|case| format!("    - {case}\n")));
        }
    }
    print::raw(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list_requirements(json: bool) -> CommandResult {
    let register = Register::built_in();
    let requirements: Vec<_> = register.ids().filter_map(|id| register.get(id, Revision::NEWEST)).collect();
    if json {
        print::pretty_json(&requirements)?;
    } else {
        let lines = requirements.iter().map(|one| format!("{}\n    {} {}\n", one.id, one.level.as_str(), one.text));
        print::raw(&lines.collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}
