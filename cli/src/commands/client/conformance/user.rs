//! A user who answers the suite's questions: agrees to everything, and changes nothing that a form suggests.

use client::{CallOptions, Connection, HostLink, HostRequest, HostRequestKind, HostSupport};
use serde_json::{Map, Value, json};

/// What the suite may ask of this client. It keeps silent on the rest: what is declared must be meant.
const SUPPORT: HostSupport = HostSupport { forms: true, urls: true, sampling: true, roots: true, ..HostSupport::NONE };
/// Belongs to no other call: it must carry nothing of one that waits for its answer.
const UNRELATED: &str = "test_mrtr_unrelated";

/// The link over which servers ask.
pub(super) fn link() -> HostLink {
    HostLink::new(SUPPORT)
}

/// Answers requests until the connection closes.
pub(super) async fn answer(link: &HostLink, connection: &Connection) {
    let mut requests = link.subscribe();
    while let Some(request) = requests.next().await {
        let offers_unrelated = connection.known_tools().is_some_and(|tools| tools.get(UNRELATED).is_some());
        if offers_unrelated && let Err(error) = connection.call(UNRELATED, json!({}), CallOptions::default()).await {
            tracing::debug!(%error, "the call in between failed");
        }
        respond(request);
    }
}

fn respond(mut request: HostRequest) {
    let answered = match request.kind().clone() {
        HostRequestKind::Form { form, .. } => {
            // What has a default is left to it; a switch without one is on.
            let switches = form.fields().iter().filter(|field| field.default.is_none());
            let switches = switches.filter(|field| field.schema.get("type").is_some_and(|kind| kind == "boolean"));
            let content: Map<String, Value> = switches.map(|field| (field.name.clone(), json!(true))).collect();
            request.accept(content)
        }
        HostRequestKind::Url { .. } => request.consent(),
        HostRequestKind::Sampling { .. } => request.sampled(said()),
        _ => return request.decline(),
    };
    if let Err(error) = answered {
        tracing::debug!(%error, "the answer was not taken");
    }
}

fn said() -> Map<String, Value> {
    let mut result = Map::new();
    result.insert("role".into(), json!("assistant"));
    result.insert("content".into(), json!({ "type": "text", "text": "Certainly." }));
    result.insert("model".into(), json!("none"));
    result.insert("stopReason".into(), json!("endTurn"));
    result
}
