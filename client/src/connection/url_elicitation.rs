//! Errors that require the user to visit URLs (2025-11-25, elicitation, "URL Elicitation Required Error").

use std::sync::Arc;

use futures::future::join_all;
use serde_json::Value;

use super::{Connection, RequestTimeouts};
use crate::{error::CallError, event::CallId, tracker::RequestTracker};

/// Maximum number of URLs in one error.
const VISITS: usize = 16;

/// Open elicitations, which are no longer awaited after drop.
struct Open {
    tracker: Arc<RequestTracker>,
    ids: Vec<String>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ids.iter().for_each(|id| _ = self.tracker.elicitations.end(id));
    }
}

impl Connection {
    /// Asks the user to visit the URLs of an error's `data`, and waits until the server reports completion. Timeouts
    /// are paused until the user consents; the visits themselves count.
    pub(super) async fn open_urls(
        &self,
        data: Value,
        call: Option<CallId>,
        timeouts: &RequestTimeouts,
    ) -> Result<(), CallError> {
        let elicitations = read(data)?;
        let required = |elicitations| CallError::UrlElicitationRequired { elicitations };
        let ids: Vec<_> = elicitations.iter().filter_map(id).collect();
        // The server may report completion before all requests are shown.
        ids.iter().for_each(|id| self.inner.tracker.elicitations.begin(id));
        let open = Open { tracker: Arc::clone(&self.inner.tracker), ids };
        let requests = elicitations.iter().zip(&open.ids).map(|(elicitation, id)| {
            self.inner.dispatcher.request("elicitation/create", Some(elicitation.clone()), id.clone().into(), call)
        });
        let responses = tokio::select! {
            biased;
            () = timeouts.cancel.cancelled() => return Err(CallError::Cancelled),
            responses = join_all(requests) => responses,
        };
        if !responses.iter().all(|response| response.as_ref().is_ok_and(|response| response["action"] == "accept")) {
            return Err(required(elicitations));
        }
        tokio::select! {
            biased;
            () = open.tracker.elicitations.until_over(&open.ids) => Ok(()),
            () = timeouts.cancel.cancelled() => Err(CallError::Cancelled),
            () = self.inner.tracker.closed.cancelled() => Err(self.disconnect_error().await),
            () = tokio::time::sleep(timeouts.ceiling) => Err(required(elicitations)),
        }
    }
}

/// The elicitations of an error. "Any elicitations returned in the error MUST be URL mode elicitations and have an
/// `elicitationId` property."
fn read(mut data: Value) -> Result<Vec<Value>, CallError> {
    match data.get_mut("elicitations").map(Value::take) {
        Some(Value::Array(all)) if (1..=VISITS).contains(&all.len()) && all.iter().all(is_visit) => Ok(all),
        _ => Err(CallError::MalformedResult { detail: "error -32042 has no valid elicitations".into() }),
    }
}

fn is_visit(elicitation: &Value) -> bool {
    elicitation["mode"] == "url" && elicitation["url"].is_string() && id(elicitation).is_some()
}

fn id(elicitation: &Value) -> Option<String> {
    elicitation.get("elicitationId")?.as_str().map(str::to_owned)
}
