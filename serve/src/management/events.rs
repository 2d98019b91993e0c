//! Events of the host as server-sent events: the status of all servers, then each change.

use std::{collections::VecDeque, convert::Infallible};

use agent::host::HostEvent;
use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use client::ClientEventKind;
use futures::{Stream, StreamExt as _, stream};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use utoipa::ToSchema;

use super::{Management, lock, status::StatusView};

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
pub(super) async fn statuses(
    State(management): State<Management>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    stream_of(management, Management::status_event)
}

/// Streams the status of all servers, then all events: `status`, `server` (progress, log messages, changed lists, …),
/// `call`, `user-request`, `elicitation-denied` and `loaded`.
#[utoipa::path(get, path = "/events", responses(
    (status = 200, description = "Events; `status` has a `StatusChange`, the data of the others is an object",
        body = StatusChange, content_type = "text/event-stream")))]
pub(super) async fn all(State(management): State<Management>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    stream_of(management, |management, event| management.status_event(event).or_else(|| management.host_event(event)))
}

fn stream_of(
    management: Management,
    select: fn(&Management, &HostEvent) -> Option<Event>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let closing = management.0.closing.clone();
    // Subscribed before the statuses are read, so that no change is missed.
    let events = management.host().events();
    let pending = snapshot(&management);
    let changes =
        stream::unfold((management, events, pending), move |(management, mut events, mut pending)| async move {
            loop {
                if let Some(event) = pending.pop_front() {
                    return Some((Ok(event), (management, events, pending)));
                }
                match events.recv().await {
                    Ok(received) => pending.extend(select(&management, &received)),
                    // Missed changes of statuses are contained in the current ones.
                    Err(RecvError::Lagged(_)) => pending = snapshot(&management),
                    Err(RecvError::Closed) => return None,
                }
            }
        });
    Sse::new(changes.take_until(closing.cancelled_owned())).keep_alive(KeepAlive::default())
}

fn snapshot(management: &Management) -> VecDeque<Event> {
    management.statuses().into_iter().map(|(server, view)| named("status", &StatusChange { server, view })).collect()
}

impl Management {
    fn status_event(&self, event: &HostEvent) -> Option<Event> {
        let HostEvent::Server(event) = event else { return None };
        let ClientEventKind::Status { status } = &event.kind else { return None };
        let view = self.view(&event.server, status);
        Some(named("status", &StatusChange { server: event.server.clone(), view }))
    }

    /// Any other event, without the secrets of its server.
    fn host_event(&self, event: &HostEvent) -> Option<Event> {
        // `{"call": {…}}`: the name of the variant is the name of the event.
        let Ok(Value::Object(variant)) = serde_json::to_value(event) else { return None };
        let (name, mut data) = variant.into_iter().next()?;
        let server = data.get("server").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(secrets) = lock(&self.0.secrets).get(&server) {
            secrets.redact_value(&mut data);
        }
        Some(named(&name, &data))
    }
}

pub(super) fn named(name: &str, data: &impl Serialize) -> Event {
    // Serialization of these values cannot fail.
    Event::default().event(name).json_data(data).unwrap_or_default()
}
