//! Status changes as server-sent events: first the status of all servers, then each change.

use std::{collections::VecDeque, convert::Infallible};

use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use client::ClientEventKind;
use futures::{Stream, StreamExt as _, stream};
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use utoipa::ToSchema;

use super::{Management, status::StatusView};

/// The new status of a server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct StatusChange {
    /// The server.
    server: String,
    /// Its status.
    #[serde(flatten)]
    view: StatusView,
}

/// Streams the status of all servers, then each change, as `status` events with a `StatusChange` each.
#[utoipa::path(get, path = "/mcp/events", responses(
    (status = 200, description = "Events", body = StatusChange, content_type = "text/event-stream")))]
pub(super) async fn stream(State(management): State<Management>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let closing = management.0.closing.clone();
    // Subscribed before the statuses are read, so that no change is missed.
    let events = management.manager().events();
    let pending = snapshot(&management);
    let changes = stream::unfold((management, events, pending), |(management, mut events, mut pending)| async move {
        loop {
            if let Some(changed) = pending.pop_front() {
                return Some((Ok(event(&changed)), (management, events, pending)));
            }
            match events.recv().await {
                Ok(received) => {
                    if let ClientEventKind::Status { status } = &received.kind {
                        let view = management.view(&received.server, status);
                        pending.push_back(StatusChange { server: received.server, view });
                    }
                }
                // Missed changes are contained in the current statuses.
                Err(RecvError::Lagged(_)) => pending = snapshot(&management),
                Err(RecvError::Closed) => return None,
            }
        }
    });
    Sse::new(changes.take_until(closing.cancelled_owned())).keep_alive(KeepAlive::default())
}

fn snapshot(management: &Management) -> VecDeque<StatusChange> {
    management.statuses().into_iter().map(|(server, view)| StatusChange { server, view }).collect()
}

fn event(changed: &StatusChange) -> Event {
    // Serialization of strings cannot fail.
    Event::default().event("status").json_data(changed).unwrap_or_default()
}
