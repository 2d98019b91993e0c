//! Mock servers in tests.

use mock_servers::{HttpMock, Recorder, Script};
use serde_json::Value;

/// Starts a Streamable HTTP mock server with this script on a free port, and the recorder of its frames.
///
/// # Panics
///
/// If the script is invalid, or no port is free.
pub async fn start_mock(script: Value, revision: &str) -> (HttpMock, Recorder) {
    let script: Script = serde_json::from_value(script).expect("a valid script");
    let recorder = Recorder::in_memory("mock");
    let mock = HttpMock::start(script, revision, 7, recorder.clone()).await.expect("a free port");
    (mock, recorder)
}
