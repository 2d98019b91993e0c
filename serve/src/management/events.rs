//! Changes of statuses, as server-sent events: first how all are doing, then each change.

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

/// A server is doing otherwise than before.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Changed {
    /// The server.
    server: String,
    /// How it is doing.
    #[serde(flatten)]
    view: StatusView,
}

/// Streams the status of all servers, then each change, as `status` events with a `Changed` each.
#[utoipa::path(get, path = "/mcp/events", responses(
    (status = 200, description = "Events", body = Changed, content_type = "text/event-stream")))]
pub(super) async fn stream(State(management): State<Management>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let over = management.0.over.clone();
    // Listened to before the first statuses are read, so that no change falls in between.
    let heard = management.manager().events();
    let known = snapshot(&management);
    let changes = stream::unfold((management, heard, known), |(management, mut heard, mut waiting)| async move {
        loop {
            if let Some(changed) = waiting.pop_front() {
                return Some((Ok(event(&changed)), (management, heard, waiting)));
            }
            match heard.recv().await {
                Ok(told) => {
                    if let ClientEventKind::Status { status } = &told.kind {
                        let view = management.view(&told.server, status);
                        waiting.push_back(Changed { server: told.server, view });
                    }
                }
                // Some were missed: how all are doing says what they said.
                Err(RecvError::Lagged(_)) => waiting = snapshot(&management),
                Err(RecvError::Closed) => return None,
            }
        }
    });
    Sse::new(changes.take_until(over.cancelled_owned())).keep_alive(KeepAlive::default())
}

fn snapshot(management: &Management) -> VecDeque<Changed> {
    management.statuses().into_iter().map(|(server, view)| Changed { server, view }).collect()
}

fn event(changed: &Changed) -> Event {
    // Two texts and a name can always be written.
    Event::default().event("status").json_data(changed).unwrap_or_default()
}
