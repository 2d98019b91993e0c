//! Resumption: a server may close the stream of a request before the response, and the client reconnects for the rest
//! (2025-11-25, basic/transports, sending messages and resumability).

use std::{sync::atomic::Ordering, time::Duration};

use reqwest::Method;
use serde_json::Value;

use super::{BodyEnd, Headers, SESSION, Shared, envelope, is_stream};
use crate::peer::transcript::same_id;

/// How often a stream is resumed.
const MAX_POLLS: usize = 20;
/// Wait before reconnecting if the server sends no `retry`.
const USUAL_RETRY: Duration = Duration::from_millis(500);

impl Shared {
    /// Resumes the stream of a request until it contains the response, or the server does not resume it. `before` is the
    /// number of messages that were received before the request. Returns the end of the last body.
    pub(super) async fn poll(&self, text: &str, session: Option<String>, before: usize, first: BodyEnd) -> BodyEnd {
        let mut end = first;
        // Streams of the modern era cannot be resumed (2026-07-28, basic/transports/streamable-http).
        if !self.answers || end.last_event.is_none() {
            return end;
        }
        let id =
            serde_json::from_str::<Value>(text).ok().and_then(|mut message| message.get_mut("id").map(Value::take));
        let Some(id) = id else { return end };
        for _ in 0..MAX_POLLS {
            let Some(last) = end.last_event.clone() else { break };
            if self.has_response(&id, before) || self.ended.load(Ordering::Relaxed) {
                break;
            }
            // The client MUST respect `retry`.
            tokio::time::sleep(end.retry.unwrap_or(USUAL_RETRY)).await;
            let mut headers = Headers::from([("last-event-id".to_owned(), last)]);
            headers.extend(session.clone().map(|session| (SESSION.to_owned(), session)));
            let number = self.next();
            let (request, sent) = self.request(&Method::GET, headers, None);
            self.record_request(number, sent, None);
            let response = match request.send().await {
                Ok(response) => response,
                Err(cause) => {
                    end.error = Some(self.fail(number, &cause));
                    break;
                }
            };
            let http = envelope(&response);
            let is_resumed = response.status().is_success() && is_stream(&http);
            if is_resumed {
                self.record_stream(number, &http);
            }
            let next = self.read(number, response, http).await;
            if !is_resumed {
                break;
            }
            end = BodyEnd {
                last_event: next.last_event.or(end.last_event),
                retry: next.retry.or(end.retry),
                error: next.error,
            };
        }
        end
    }

    fn has_response(&self, id: &Value, before: usize) -> bool {
        let received = self.recorder.received_since(before);
        received
            .iter()
            .any(|message| message.get("method").is_none() && message.get("id").is_some_and(|one| same_id(one, id)))
    }
}
