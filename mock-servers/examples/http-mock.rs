//! A Streamable HTTP mock as a program of its own, for the tests that are after its process: `http-mock <script>
//! <revision>`, where the script is JSON. It prints its URL and serves until its standard input ends.

use std::io::{Read as _, Write as _};

use mcp_workbench_mock_servers::{HttpMock, Recorder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    let script = serde_json::from_str(argument(0).unwrap_or("{}"))?;
    let revision = argument(1).unwrap_or("2025-11-25");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mock = runtime.block_on(HttpMock::start(script, revision, 1, Recorder::disabled()))?;
    writeln!(std::io::stdout(), "{}", mock.url())?;
    std::io::stdin().lock().read_to_end(&mut Vec::new())?;
    runtime.block_on(mock.stop());
    Ok(())
}
