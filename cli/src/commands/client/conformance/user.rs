//! The simulated user of the suite, who accepts all requests and the defaults of forms.

use client::{CallOptions, Connection, HostLink, HostRequest, HostRequestKind, HostSupport};
use serde_json::{Map, Value, json};

/// The client features that the scenarios use. Other capabilities are not declared.
const SUPPORT: HostSupport = HostSupport { forms: true, urls: true, sampling: true, roots: true, ..HostSupport::NONE };
/// A call that is independent of pending calls.
const UNRELATED: &str = "test_mrtr_unrelated";

/// The client features for servers.
pub(super) fn link() -> HostLink {
    HostLink::new(SUPPORT)
}

/// Responds to requests until the connection closes.
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
            // Fields keep their defaults; a boolean without a default is true.
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
