//! Changes of the configuration while servers are running.

use std::time::Duration;

use mcp_workbench_client::{
    ManagedServer, Status,
    manager::{DuplicateName, Reloaded, StartError},
};
use serde_json::json;

use crate::cast::{Cast, good, program};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn only_changed_servers_are_restarted() {
    let cast =
        ["same", "changed", "leaves", "joins"].into_iter().fold(Cast::default(), |cast, name| cast.with(name, good));
    let manager = cast.manager();
    manager.apply(["same", "changed", "leaves"].map(program).into()).await.unwrap();
    let kept = manager.connection("same").await.unwrap();
    let (changed, leaves) = (manager.connection("changed").await.unwrap(), manager.connection("leaves").await.unwrap());
    let call = manager.call("same", "stuck", json!({}), Default::default());
    let mut next = program("changed");
    next.config.timeouts.call = Duration::from_secs(5);
    // Settings that do not affect the connection do not close it.
    let same = ManagedServer { required: true, ..program("same") };
    let apply = async {
        let done = manager.apply(vec![same, next, program("joins")]).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        done
    };
    tokio::select! {
        ended = call => panic!("a call of an unchanged server ended: {ended:?}"),
        reloaded = apply => {
            let expected = Reloaded {
                added: names(&["joins"]),
                changed: names(&["changed"]),
                removed: names(&["leaves"]),
                unchanged: names(&["same"]),
            };
            assert_eq!(reloaded.unwrap(), expected);
        }
    }
    assert!(!kept.is_closed() && changed.is_closed() && leaves.is_closed());
    assert_eq!([cast.starts("same").len(), cast.starts("changed").len(), cast.starts("joins").len()], [1, 2, 1]);
    assert_eq!(manager.statuses().into_keys().collect::<Vec<_>>(), ["changed", "joins", "same"]);
    let timed_out = manager.call("changed", "stuck", json!({}), Default::default()).await.unwrap_err();
    assert!(timed_out.to_string().contains("5s"), "{timed_out}");
}

#[tokio::test(start_paused = true)]
async fn a_disabled_server_stops_and_starts_again_when_enabled() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    let connection = manager.connection("a").await.unwrap();
    manager.apply(vec![ManagedServer { enabled: false, ..program("a") }]).await.unwrap();
    assert!(connection.is_closed());
    assert_eq!(manager.status("a"), Some(Status::Disabled));
    manager.apply(vec![program("a")]).await.unwrap();
    manager.connection("a").await.unwrap();
    assert_eq!(cast.starts("a").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn duplicate_names_change_nothing() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    let refused = manager.apply(vec![program("b"), program("b")]).await.unwrap_err();
    let StartError::Duplicate(duplicate) = refused else { panic!("{refused}") };
    assert_eq!(duplicate, DuplicateName { name: "b".into() });
    assert_eq!(manager.statuses().into_keys().collect::<Vec<_>>(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn closing_a_manager_closes_all_connections() {
    let cast = Cast::default().with("a", good).with("b", good);
    let manager = cast.manager();
    manager.apply(["a", "b"].map(program).into()).await.unwrap();
    let connections = [manager.connection("a").await.unwrap(), manager.connection("b").await.unwrap()];
    manager.close().await;
    assert!(connections.iter().all(mcp_workbench_client::Connection::is_closed));
    assert_eq!(manager.connection("a").await.unwrap_err().kind(), "unknown-server");
}
