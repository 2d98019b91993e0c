//! Errors that ask the user to visit URLs first (2025-11-25, elicitation, "URL Elicitation Required Error").

use std::sync::Arc;

use futures::future::join_all;
use serde_json::Value;

use super::{Connection, Patience};
use crate::{error::CallError, event::CallId, ledger::Ledger};

/// How many visits one error may ask for.
const VISITS: usize = 16;

/// Visits that are open. Dropped, they are not waited for any more.
struct Open {
    ledger: Arc<Ledger>,
    ids: Vec<String>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ids.iter().for_each(|id| _ = self.ledger.elicitations.end(id));
    }
}

impl Connection {
    /// Has the user visit what the `data` of such an error names, and returns once the server has told that all visits are
    /// over. The time that the user takes to consent is nobody's; for the visits themselves there is that of the call.
    pub(super) async fn visit(&self, data: Value, call: Option<CallId>, patience: &Patience) -> Result<(), CallError> {
        let elicitations = read(data)?;
        let required = |elicitations| CallError::UrlElicitationRequired { elicitations };
        let ids: Vec<_> = elicitations.iter().filter_map(id).collect();
        // The visit may be over before all have been asked for.
        ids.iter().for_each(|id| self.inner.ledger.elicitations.begin(id));
        let open = Open { ledger: Arc::clone(&self.inner.ledger), ids };
        let asked = elicitations.iter().zip(&open.ids).map(|(elicitation, id)| {
            self.inner.desk.ask("elicitation/create", Some(elicitation.clone()), id.clone().into(), call)
        });
        let answers = tokio::select! {
            biased;
            () = patience.cancel.cancelled() => return Err(CallError::Cancelled),
            answers = join_all(asked) => answers,
        };
        if !answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer["action"] == "accept")) {
            return Err(required(elicitations));
        }
        tokio::select! {
            biased;
            () = open.ledger.elicitations.until_over(&open.ids) => Ok(()),
            () = patience.cancel.cancelled() => Err(CallError::Cancelled),
            () = self.inner.ledger.over.cancelled() => Err(self.lost().await),
            () = tokio::time::sleep(patience.ceiling) => Err(required(elicitations)),
        }
    }
}

/// The visits. "Any elicitations returned in the error MUST be URL mode elicitations and have an `elicitationId` property."
fn read(mut data: Value) -> Result<Vec<Value>, CallError> {
    match data.get_mut("elicitations").map(Value::take) {
        Some(Value::Array(all)) if (1..=VISITS).contains(&all.len()) && all.iter().all(is_visit) => Ok(all),
        _ => Err(CallError::MalformedResult { detail: "error -32042 names no visits that make sense".into() }),
    }
}

fn is_visit(elicitation: &Value) -> bool {
    elicitation["mode"] == "url" && elicitation["url"].is_string() && id(elicitation).is_some()
}

fn id(elicitation: &Value) -> Option<String> {
    elicitation.get("elicitationId")?.as_str().map(str::to_owned)
}
