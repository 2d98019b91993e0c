//! `judge` of a recording: the checks that need nothing but frames, on both sides, as a report.

use std::path::Path;

use reports::{
    Run,
    model::{FORMAT, PassPolicy, RunHeader, RunKind},
};
use scenarios::{
    judge::recorded::judge_recording,
    recording::{Header, Recording},
};

use crate::{
    error::{CommandError, CommandResult, exit_code},
    output::OutputArgs,
    print,
};

/// Judges a recording, and prints a report or writes reports.
pub(crate) fn run(directory: &Path, output: &OutputArgs) -> CommandResult {
    let recording = Recording::read(directory).map_err(CommandError::input)?;
    if recording.omitted > 0 {
        print::note(&format!("{} frames were omitted, because the recording is too long", recording.omitted));
    }
    let recorded = recording.header.clone();
    let cases = judge_recording(recording).to_vec();
    let elapsed_ms = cases.iter().map(|case| case.elapsed_ms).max().unwrap_or_default();
    let run = Run {
        format: FORMAT,
        header: header(directory, &recorded, cases.len()),
        cases,
        loads: Vec::new(),
        baseline: None,
        tool_calls: Vec::new(),
        portability: Vec::new(),
        complete: true,
        elapsed_ms,
    };
    if let Some(directory) = &output.output {
        std::fs::create_dir_all(directory).map_err(CommandError::environment)?;
    }
    output.show(&run, output.output.as_deref())?;
    Ok(exit_code(run.passed()))
}

fn header(directory: &Path, recorded: &Header, planned: usize) -> RunHeader {
    RunHeader {
        run_id: directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        kind: RunKind::Conformance,
        workbench: env!("CARGO_PKG_VERSION").to_owned(),
        started: String::new(),
        subject: format!("the recording of {}", recorded.target),
        seed: 0,
        planned,
        policy: PassPolicy::default(),
        profile: None,
        call_tools: Vec::new(),
    }
}
