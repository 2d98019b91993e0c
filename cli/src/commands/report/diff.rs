//! `report diff`: compares two runs.

use std::path::PathBuf;

use mock_servers::HumanDuration;
use reports::{
    comparison::{Comparison, Tolerance},
    render::{Verbosity, comparison},
};

use super::read;
use crate::{
    error::{CommandError, CommandResult, exit_code},
    output::style,
    print,
};

/// The arguments of `report diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Journal or directory of the earlier run.
    old: PathBuf,
    /// Journal or directory of the later run.
    new: PathBuf,
    /// Format of the comparison.
    #[arg(long, value_enum, default_value = "terminal", conflicts_with = "json")]
    format: DiffFormat,
    /// Print JSON: the same as `--format json`.
    #[arg(long)]
    json: bool,
    /// Changes that fail the command.
    #[arg(long, value_enum, value_name = "CHANGES", default_value = "broken")]
    fail_on: FailOn,
    /// Relative limit for slower cases, latencies and rates. The absolute limits must be exceeded too.
    #[arg(long, value_name = "PERCENT", default_value = "20%", value_parser = percent)]
    slower_than: f64,
    /// Absolute limit for slower cases.
    #[arg(long, value_name = "DURATION", default_value = "250ms")]
    case_floor: HumanDuration,
    /// Absolute limit for latencies of load tests.
    #[arg(long, value_name = "DURATION", default_value = "1ms")]
    latency_floor: HumanDuration,
    /// List all changes.
    #[arg(long, short)]
    verbose: bool,
}

/// Formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DiffFormat {
    /// Text for a terminal or a log.
    Terminal,
    /// JSON; `mcp-workbench schema comparison` prints its JSON Schema.
    Json,
    /// Comment for a pull request.
    Markdown,
}

/// Changes that fail the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// A check fails now, or is flaky in a run that flaky checks fail.
    Broken,
    /// The same, or something is slower.
    Slower,
    /// No change.
    Never,
}

/// Compares two runs.
pub(crate) fn run(args: &Args) -> CommandResult {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let tolerance = Tolerance {
        percent: args.slower_than,
        case_ms: whole(args.case_floor.0.as_millis()),
        latency_us: whole(args.latency_floor.0.as_micros()),
    };
    let found = Comparison::between(&old, &new, tolerance);
    match if args.json { DiffFormat::Json } else { args.format } {
        DiffFormat::Terminal => {
            let verbosity = if args.verbose { Verbosity::Verbose } else { Verbosity::Normal };
            print::raw(&comparison::terminal(&found, &style(verbosity)))?;
        }
        DiffFormat::Json => {
            print::json(&serde_json::to_value(&found).map_err(CommandError::internal)?)?;
        }
        DiffFormat::Markdown => print::raw(&comparison::markdown(&found))?,
    }
    Ok(exit_code(!match args.fail_on {
        FailOn::Broken => found.is_broken(),
        FailOn::Slower => found.is_slower_or_broken(),
        FailOn::Never => false,
    }))
}

fn whole(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Parses a percentage, with or without its sign.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}` is not a percentage; write for example `20%`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_positive_number() {
        assert_eq!(percent("20%"), Ok(20.0));
        assert_eq!(percent("7.5"), Ok(7.5));
        for wrong in ["-1%", "nan", "inf%", "", "%", "fast"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
