//! Calls through a manager: timeouts, cancellation, metrics.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_workbench_client::CallOptions;
use serde_json::json;
use tokio::time::Instant;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::{
    cast::{Cast, good, program, silent},
    support::until_sent,
};

#[tokio::test(start_paused = true)]
async fn a_call_uses_its_own_timeout_or_that_of_its_server() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    let mut server = program("a");
    server.config.timeouts.call = Duration::from_secs(7);
    manager.apply(vec![server]).await.unwrap();
    manager.connection("a").await.unwrap();
    for (own, seconds) in [(None, 7), (Some(Duration::from_secs(3)), 3)] {
        let begun = Instant::now();
        let options = CallOptions { timeout: own, ..CallOptions::default() };
        let failed = manager.call("a", "stuck", json!({}), options).await.unwrap_err();
        assert_eq!((failed.kind(), begun.elapsed()), ("timed-out", Duration::from_secs(seconds)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let cast = Cast::default().with("a", good);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    manager.connection("a").await.unwrap();
    let call = manager.call("a", "stuck", json!({}), CallOptions::default());
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    let asked = until_sent(&cast.transcript("a"), "tools/call").await["id"].clone();
    assert_eq!(until_sent(&cast.transcript("a"), "notifications/cancelled").await["params"]["requestId"], asked);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_does_not_wait_for_the_start() {
    let cast = Cast::default().with("a", silent);
    let manager = cast.manager();
    manager.apply(vec![program("a")]).await.unwrap();
    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let begun = Instant::now();
    let (called, ()) = tokio::join!(manager.call("a", "echo", json!({}), options), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert_eq!((called.unwrap_err().kind(), begun.elapsed()), ("cancelled", Duration::from_secs(1)));
}

/// Counts `mcp.call` by status, like a metrics exporter.
#[derive(Clone, Default)]
struct Counter(Arc<Mutex<BTreeMap<String, u64>>>);

#[derive(Default)]
struct Fields {
    count: u64,
    status: String,
    server: String,
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "monotonic_counter.mcp.call" {
            self.count = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "status" => value.clone_into(&mut self.status),
            "server" => value.clone_into(&mut self.server),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "mcp.call"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        // Other tests send calls too.
        if !fields.server.starts_with("counted") {
            return;
        }
        *self.0.lock().unwrap().entry(fields.status).or_default() += fields.count;
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn each_call_is_counted_once_by_its_outcome() {
    let counter = Counter::default();
    // tracing caches interest for the whole process, so a subscriber of one thread might receive nothing.
    tracing::subscriber::set_global_default(counter.clone()).unwrap();
    let cast = Cast::default().with("counted", good);
    let manager = cast.manager();
    manager.apply(vec![program("counted")]).await.unwrap();
    for tool in ["echo", "stuck", "die", "echo"] {
        let _ = manager.call("counted", tool, json!({}), CallOptions::default()).await;
    }
    drop(manager.call("counted-not-there", "echo", json!({}), CallOptions::default()).await);
    let call = manager.call("counted", "stuck", json!({}), CallOptions::default());
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    let counted = counter.0.lock().unwrap().clone();
    let expected = [("cancelled", 1), ("connection-lost", 1), ("ok", 2), ("timed-out", 1), ("unknown-server", 1)];
    assert_eq!(counted, expected.map(|(status, count)| (status.to_owned(), count)).into());
}
