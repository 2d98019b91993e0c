//! Processes of managed servers.

use std::time::Duration;

use mcp_workbench_client::{
    CallOptions, ManagedServer, Manager, ServerConfig, Status,
    manager::{StartError, StartMode},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::kit::{ProcessMark, config, patient, until_none_is_left};

fn managed(name: &str, mark: &ProcessMark) -> ManagedServer {
    ManagedServer::new(ServerConfig { name: name.to_owned(), ..patient(config(mark, &[])) })
}

/// The process of a server.
fn pid(mark: &ProcessMark) -> i32 {
    let pids = mark.pids();
    assert_eq!(pids.len(), 1, "{pids:?}");
    pids[0]
}

async fn echo(manager: &Manager, name: &str) -> String {
    let result = manager.call(name, "echo", json!({"text": name}), CallOptions::default()).await.unwrap();
    result.text()
}

/// An unchanged server keeps its process, a changed one gets another, and all are stopped at the end.
pub(crate) async fn only_changed_servers_get_another_process() {
    let (same, changed, leaves, joins) =
        (ProcessMark::new(), ProcessMark::new(), ProcessMark::new(), ProcessMark::new());
    let manager = Manager::default();
    let all = [("same", &same), ("changed", &changed), ("leaves", &leaves)];
    manager.apply(all.map(|(name, mark)| managed(name, mark)).into()).await.unwrap();
    for (name, _) in all {
        assert_eq!(echo(&manager, name).await, name);
    }
    let before = (pid(&same), pid(&changed));
    let mut next = managed("changed", &changed);
    next.config.timeouts.call = Duration::from_secs(7);
    let reloaded = manager.apply(vec![managed("same", &same), next, managed("joins", &joins)]).await.unwrap();
    assert_eq!((reloaded.unchanged, reloaded.changed), (vec!["same".to_owned()], vec!["changed".to_owned()]));
    for name in ["same", "changed", "joins"] {
        assert_eq!(echo(&manager, name).await, name);
    }
    assert_eq!(pid(&same), before.0);
    assert_ne!(pid(&changed), before.1);
    until_none_is_left(&leaves).await;
    manager.close().await;
    for mark in [&same, &changed, &joins] {
        until_none_is_left(mark).await;
    }
}

/// A server that starts on first use has no process before, and gets another one after it exited.
pub(crate) async fn a_server_is_started_on_demand_and_again_after_it_exited() {
    let mark = ProcessMark::new();
    let manager = Manager::default();
    let lazy = ManagedServer { start: StartMode::OnDemand, ..managed("lazy", &mark) };
    manager.apply(vec![lazy]).await.unwrap();
    assert_eq!(manager.status("lazy"), Some(Status::Disconnected));
    assert!(mark.alive().is_empty());
    assert_eq!(echo(&manager, "lazy").await, "lazy");
    let first = pid(&mark);
    kill_process(Pid::from_raw(first).unwrap(), Signal::KILL).unwrap();
    test_support::wait_until("the processes", || manager.status("lazy") == Some(Status::Disconnected)).await;
    assert_eq!(echo(&manager, "lazy").await, "lazy");
    assert_ne!(pid(&mark), first);
    drop(manager);
    until_none_is_left(&mark).await;
}

/// Applying fails without a required server, and reports the reason; the other servers are started.
pub(crate) async fn a_missing_required_server_fails_the_start() {
    let mark = ProcessMark::new();
    let mut missing = managed("missing", &ProcessMark::new());
    if let mcp_workbench_client::Endpoint::Stdio(endpoint) = &mut missing.config.endpoint {
        "/no/such/program".clone_into(&mut endpoint.command);
    }
    let manager = Manager::default();
    let required = ManagedServer { required: true, ..missing };
    let failure = manager.apply(vec![required, managed("there", &mark)]).await.unwrap_err();
    let StartError::Required(failure) = failure else { panic!("{failure}") };
    assert!(failure.to_string().contains("file `/no/such/program` does not exist"), "{failure}");
    assert_eq!(echo(&manager, "there").await, "there");
    manager.close().await;
    until_none_is_left(&mark).await;
}
