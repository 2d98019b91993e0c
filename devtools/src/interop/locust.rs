//! Workers of `bench worker` against a Locust master. The program in Python counts the calls itself.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::{
    child::{self, Output},
    outcome::Row,
    tools::Tools,
};

/// Timeout of all its tests, which take about 50 s.
const TIMEOUT: Duration = Duration::from_secs(240);

/// Number of its tests.
const TESTS: usize = 6;

/// A line of its output.
#[derive(Debug, Deserialize)]
struct Line {
    name: String,
    passed: bool,
    details: String,
}

/// Runs the tests.
pub(super) async fn run(tools: &Tools, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let mut command = child::command(tools.python())?;
    command.arg(tools.python_program("locust_check.py")).arg(&tools.workbench).arg(directory);
    let output = Output::in_directory(directory, "locust");
    let code = child::run(command, &output, TIMEOUT).await?;
    if code != 0 {
        bail!("exit code {code}: {}", output.last_lines());
    }
    let rows = rows(&fs::read_to_string(&output.stdout)?)?;
    if rows.len() != TESTS {
        bail!("{} of {TESTS} tests finished", rows.len());
    }
    Ok(rows)
}

fn rows(output: &str) -> anyhow::Result<Vec<Row>> {
    let row = |line: &str| {
        let line: Line = serde_json::from_str(line).with_context(|| format!("not a result: {line}"))?;
        Ok(Row::new(&line.name, (!line.passed).then_some(line.details)))
    };
    output.lines().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_is_a_failed_row_with_its_reason() {
        let output = "{\"name\":\"a\",\"passed\":true,\"details\":\"7\",\"seconds\":1}\n\
                      {\"name\":\"b\",\"passed\":false,\"details\":\"lost\",\"seconds\":1}\n";
        let rows = rows(output).unwrap();
        assert_eq!((rows[0].passed, rows[1].failed, rows[1].reason.as_deref()), (1, 1, Some("lost")));
        assert!(super::rows("Traceback").is_err());
    }
}
