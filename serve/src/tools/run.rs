//! Execution of runs: progress updates and report files.

use std::{fs, path::Path};

use mock_servers::HumanDuration;
use reports::{
    model::Run,
    render::{self, FORMATS, Format, Style},
};
use scenarios::{
    model::Revision,
    run::{FinishedRun, LoadTask, RunDirectory, RunEvent, RunPlan, run},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use tokio_util::sync::CancellationToken;

use super::Call;
use crate::{error::ToolError, progress::ProgressReporter};

/// Executes a run when no other run is active, and reports its progress.
pub(super) async fn execute(call: &Call, plan: RunPlan) -> Result<FinishedRun, ToolError> {
    let directory = RunDirectory::Within(call.workbench.settings().runs.clone());
    let mut progress = RunProgress::new(&call.progress, &plan);
    call.run(async {
        let mut show = |event: RunEvent<'_>| progress.show(&event);
        // If the call is cancelled, this future is dropped, which terminates the run.
        Ok(run(plan, &directory, &mut show, CancellationToken::new()).await?)
    })
    .await
}

/// Converts events of a run to progress updates.
struct RunProgress<'a> {
    reporter: &'a ProgressReporter,
    total: f64,
    done: f64,
}

impl<'a> RunProgress<'a> {
    fn new(reporter: &'a ProgressReporter, plan: &RunPlan) -> Self {
        // The progress of a load test is measured in seconds.
        let total = match plan {
            RunPlan::Bench(plan) => plan.loads.iter().map(seconds).sum(),
            RunPlan::Conformance(_) | RunPlan::Validate(_) => 0.0,
        };
        Self { reporter, total, done: 0.0 }
    }

    fn show(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Started { probe: Some(probe), header, .. } => {
                self.total = (header.planned + 1) as f64;
                let revisions: Vec<&str> = probe.revisions().map(Revision::as_str).collect();
                let (revisions, transport) = (revisions.join(" and "), probe.transport);
                self.step(format!("server supports {revisions} over {transport}; {} cases", header.planned));
            }
            RunEvent::Started { header, jobs, .. } if self.total == 0.0 => {
                self.total = (header.planned + 1) as f64;
                self.step(format!("{} cases, {jobs} in parallel", header.planned));
            }
            RunEvent::CaseFinished { result } => self.step(format!("{} {}", result.verdict.as_str(), result.id)),
            RunEvent::LoadProgress(load) => {
                let message =
                    format!("{} calls finished, {} with errors, {} in flight", load.done, load.errors, load.in_flight);
                self.reporter.report(load.elapsed.as_secs_f64().min(self.total), Some(self.total), message);
            }
            RunEvent::JournalFailed { path, error } => {
                tracing::warn!(path = %path.display(), %error, "cannot write the journal");
            }
            RunEvent::Started { .. }
            | RunEvent::CaseStarted { .. }
            | RunEvent::LoadFinished { .. }
            | RunEvent::Finished { .. } => {}
        }
    }

    fn step(&mut self, message: String) {
        self.done += 1.0;
        self.reporter.report(self.done, Some(self.total), message);
    }
}

fn seconds(task: &LoadTask) -> f64 {
    let (LoadTask::Server(_, load) | LoadTask::Mock(_, load)) = task;
    let HumanDuration(duration) = load.duration;
    (duration + load.warmup.unwrap_or_default().0).as_secs_f64()
}

/// A report format as an argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReportFormat(&'static dyn Format);

impl<'de> Deserialize<'de> for ReportFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let names = || FORMATS.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
        render::format(&name)
            .map(Self)
            .ok_or_else(|| D::Error::custom(format!("unknown report format `{name}`, expected one of {}", names())))
    }
}

impl JsonSchema for ReportFormat {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ReportFormat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// Writes reports next to the journal and returns their paths.
pub(super) fn write_reports(
    run: &Run,
    formats: &[ReportFormat],
    journal: Option<&Path>,
) -> Result<Vec<String>, ToolError> {
    if formats.is_empty() {
        return Ok(Vec::new());
    }
    let directory = journal.and_then(Path::parent).ok_or_else(|| {
        ToolError::new("journal", "the directory for runs is not writable, so no report can be written")
            .with_help("set MCP_WORKBENCH_RUNS to a writable directory")
    })?;
    let write = |ReportFormat(format): &ReportFormat| {
        let text = format.render(run, &Style::default()).map_err(|error| ToolError::from_error("internal", &error))?;
        let path = directory.join(format.file_name());
        fs::write(&path, text).map_err(|error| ToolError::from_error("journal", &error))?;
        Ok(path.display().to_string())
    };
    formats.iter().map(write).collect()
}
