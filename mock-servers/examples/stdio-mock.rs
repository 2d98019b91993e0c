//! A stdio mock as a program of its own, for the tests of the front: `stdio-mock <script> <revision> [record] [runs]`,
//! where the script is JSON and the seed the environment's `MOCK_SEED`; `stdio-mock child <script>` is a child of it.

use std::{path::Path, process::ExitCode};

use mcp_workbench_mock_servers::{
    Recorder,
    stdio::{self, StdioMock},
};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    if argument(0) == Some("child") {
        return Ok(stdio::run_child(&serde_json::from_str(argument(1).unwrap_or_default())?)?);
    }
    let recorder = argument(2).map(|path| Recorder::to_file("mock", Path::new(path))).transpose()?;
    Ok(stdio::run(StdioMock {
        script: serde_json::from_str(argument(0).unwrap_or("{}"))?,
        revision: argument(1).unwrap_or("2025-11-25").to_owned(),
        calendar: false,
        seed: std::env::var("MOCK_SEED").map_or(Ok(1), |seed| seed.parse())?,
        recorder: recorder.unwrap_or_default(),
        run_file: argument(3).map(Into::into),
        child_arguments: vec!["child".into()],
    })?)
}
