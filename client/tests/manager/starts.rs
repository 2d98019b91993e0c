//! Starts: in parallel, shared, and independent of each other.

use std::time::Duration;

use futures::{FutureExt as _, future::join_all};
use mcp_workbench_client::{
    NameLimit, Status,
    manager::{ManagedServer, ServerError, StartError},
};
use tokio::time::Instant;

use crate::cast::{Cast, crashing, good, lazy, next_status, program, silent, until_status};

#[tokio::test(start_paused = true)]
async fn concurrent_callers_share_one_start() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    let mut events = manager.events();
    manager.apply(vec![lazy(program("a"))]).await.unwrap();
    assert!(cast.starts("a").is_empty());
    let outcomes = join_all((0..20).map(|_| manager.connection("a"))).await;
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(cast.starts("a").len(), 1);
    assert_eq!(next_status(&mut events, "a").await, "disconnected");
    assert_eq!(next_status(&mut events, "a").await, "connecting");
    assert_eq!(next_status(&mut events, "a").await, "connected");
}

#[tokio::test(start_paused = true)]
async fn a_start_continues_if_its_caller_is_dropped() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![lazy(program("a"))]).await.unwrap();
    assert!(manager.connection("a").now_or_never().is_none());
    manager.connection("a").await.unwrap();
    assert_eq!(cast.starts("a").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_or_panicking_start_affects_only_its_server() {
    let cast = Cast::default().with("hangs", silent).with("crashes", crashing).with("works", good);
    let cast = cast.with("panics", |_| panic!("a connector of a host may do that"));
    let manager = cast.manager();
    let mut events = manager.events();
    let begun = Instant::now();
    manager.apply(["hangs", "crashes", "panics", "works"].map(program).into()).await.unwrap();
    let result = manager.call("works", "echo", serde_json::json!({}), Default::default()).await.unwrap();
    assert_eq!((result.text().as_str(), begun.elapsed()), ("done", Duration::ZERO));
    until_status(&mut events, "hangs", "failed").await;
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
    let statuses = manager.statuses();
    assert_eq!(statuses["works"], Status::Connected);
    let reason = |name: &str| match &statuses[name] {
        Status::Failed { reason } => reason.clone(),
        other => panic!("{other}"),
    };
    assert!(reason("hangs").contains("not ready within 10s"), "{}", reason("hangs"));
    assert!(reason("crashes").contains("closed the connection"), "{}", reason("crashes"));
    assert!(reason("panics").contains("panicked"), "{}", reason("panics"));
    let (catalog, missing) = manager.catalog(NameLimit::Chars64).await;
    assert!(catalog.resolve("mcp__works__echo").is_some());
    assert_eq!(missing.keys().collect::<Vec<_>>(), ["crashes", "hangs", "panics"]);
}

#[tokio::test(start_paused = true)]
async fn apply_fails_without_a_required_server_and_names_it() {
    let cast = Cast::default().with("hangs", silent).with("crashes", crashing).with("works", good);
    let required = |name| lazy(ManagedServer { required: true, ..program(name) });
    let manager = cast.manager();
    let failure = manager.apply(vec![required("hangs"), program("crashes"), required("works")]).await.unwrap_err();
    let StartError::Required(required) = &failure else { panic!("{failure}") };
    assert_eq!(required.failures.iter().map(ServerError::kind).collect::<Vec<_>>(), ["startup-timeout"]);
    assert!(failure.to_string().contains("`hangs`"), "{failure}");
    assert_eq!(manager.status("works"), Some(Status::Connected));
}

#[tokio::test(start_paused = true)]
async fn a_disabled_server_is_never_started() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![ManagedServer { enabled: false, required: true, ..program("a") }]).await.unwrap();
    assert_eq!(manager.connection("a").await.unwrap_err().kind(), "disabled");
    assert_eq!(manager.connect("a").await.unwrap_err().kind(), "disabled");
    manager.disconnect("a").await.unwrap();
    assert_eq!(manager.status("a"), Some(Status::Disabled));
    assert_eq!(manager.connection("b").await.unwrap_err().kind(), "unknown-server");
    assert!(cast.starts("a").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stopped_start_fails_for_all_callers() {
    let cast = Cast::default().with("a", silent);
    let manager = cast.manager();
    manager.apply(vec![lazy(program("a"))]).await.unwrap();
    let begun = Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        manager.disconnect("a").await
    };
    let (one, other, stopped) = tokio::join!(manager.connection("a"), manager.connection("a"), stop);
    stopped.unwrap();
    assert_eq!([one.unwrap_err().kind(), other.unwrap_err().kind()], ["stopped"; 2]);
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    assert_eq!(manager.status("a"), Some(Status::Disconnected));
}

#[tokio::test(start_paused = true)]
async fn dropping_a_manager_closes_all_connections() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    let connection = manager.connection("a").await.unwrap();
    let ended = connection.events();
    drop((manager, connection));
    let mut ended = ended;
    let last = async { while ended.recv().await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), last).await.expect("the connection is closed");
    assert_eq!(std::sync::Arc::strong_count(&cast.transcript("a")), 2, "the server's task has ended");
}
