//! What the client makes of its steps and its report: a correct client may be silent, and one that does nothing must not
//! pass.

use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{
    defect::Flaw,
    driver,
    habit::Habit,
    report::{Report, now_us},
};

/// Which steps the client executes, and which it reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientMode {
    /// It executes and reports all.
    #[default]
    Reports,
    /// It executes all and reports none.
    Silent,
    /// It connects, and executes and reports no step.
    Connects,
    /// It sends nothing, and reports all steps as skipped.
    Skips,
    /// It connects, and reports all steps as skipped.
    ConnectsAndSkips,
    /// It sends nothing, and reports that all steps succeeded.
    Claims,
    /// It sends nothing, and reports that all steps failed.
    Fails,
    /// It connects, and sends 100,000 requests without waiting for responses.
    Floods,
}

/// Acts in this mode.
pub(crate) async fn act(context: &Value, flaw: Flaw, mode: ClientMode) -> anyhow::Result<()> {
    let mut report = Report::open(Path::new(context["report"].as_str().unwrap_or_default()))?;
    report.has_events = !flaw.has(Habit::ReportsNoEvents);
    let steps = context["steps"].as_array().map_or(0, Vec::len);
    let every_step = || (0..steps).map(Some).chain([None]);
    match mode {
        ClientMode::Reports => driver::drive(context, report, flaw).await?,
        ClientMode::Silent => driver::drive(context, Report::none(), flaw).await?,
        ClientMode::Connects => driver::only_connect(context, Report::none(), flaw).await,
        ClientMode::Skips => every_step().for_each(|step| report.skipped(step)),
        ClientMode::ConnectsAndSkips => {
            driver::only_connect(context, Report::none(), flaw).await;
            every_step().for_each(|step| report.skipped(step));
        }
        ClientMode::Claims => {
            for (index, step) in context["steps"].as_array().into_iter().flatten().enumerate() {
                report.outcome(Some(index), step["server"].as_str(), now_us(), Ok(json!({ "revision": "any" })));
            }
        }
        ClientMode::Floods => driver::flood(context, flaw).await,
        ClientMode::Fails => {
            for index in 0..steps {
                let fault = super::fault::Fault::new("timed-out", "it failed");
                report.outcome(Some(index), None, now_us(), Err(fault));
            }
        }
    }
    Ok(())
}
