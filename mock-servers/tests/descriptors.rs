//! A server without free descriptors. The limit applies to a process, so this test has its own.

use std::{net::TcpStream, time::Duration};

use mcp_workbench_mock_servers::{HttpMock, Recorder, Script, listen::raise_descriptor_limit};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn serves_again_once_there_are_descriptors() {
    let mock = HttpMock::start(Script::default(), "2025-11-25", 7, Recorder::disabled()).await.unwrap();
    let address = mock.address().tcp().unwrap();
    let client = test_support::http_client_builder().no_proxy().timeout(BOUND).build().unwrap();
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: before.maximum }).unwrap();
    // Each connection takes a descriptor at either end, so with the last one there is none left to accept with.
    let crowd: Vec<TcpStream> = std::iter::from_fn(|| TcpStream::connect(address).ok()).take(1_000).collect();
    assert!(crowd.len() < 64, "there were descriptors for {}", crowd.len());
    drop(crowd);
    assert_eq!(client.get(mock.url()).send().await.unwrap().status(), 406);
    assert_eq!(raise_descriptor_limit().unwrap(), before.maximum);
    assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);
}
