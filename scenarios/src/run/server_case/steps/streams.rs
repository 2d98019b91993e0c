//! Steps for concurrent requests, streams and sessions.

use std::time::Duration;

use mock_servers::HumanDuration;
use serde_json::{Value, json};

use super::{Failure, fill};
use crate::{
    evidence::Outcome,
    model::{Listen, ListenSession, Sessions, Together, Transport},
    peer::{Outgoing, Peer},
};

/// Sends all requests and notifications before it waits for the first response.
pub(super) async fn together(peer: &mut Peer, step: &Together, values: &[Value]) -> Result<Value, Failure> {
    let within = peer.response_timeout(step.within.map(|HumanDuration(within)| within));
    let root = fill::values(values, None);
    let mut outgoing = Vec::new();
    for request in &step.requests {
        let params = request.params.as_ref().map(|params| fill::fill(params, &root));
        // A server without the value or the session gets the other requests.
        let Ok(params) = params.transpose() else { continue };
        if peer.names_unknown_session(&request.headers) {
            continue;
        }
        let (method, id, headers) = (request.method.clone(), request.id.clone(), request.headers.clone());
        outgoing.push(Outgoing { method, params, id, headers, ..Outgoing::default() });
    }
    let mut sent = Vec::new();
    for one in outgoing {
        if one.method.starts_with("notifications/") {
            peer.notify(&one).await?;
        } else {
            sent.push(peer.send(one).await?);
        }
    }
    Ok(json!({ "answers": peer.responses(&sent, within).await? }))
}

/// Opens a stream that is recorded until the end of the case.
pub(super) async fn listen(peer: &mut Peer, step: &Listen) -> Outcome {
    if peer.transport() != Transport::StreamableHttp {
        return Outcome::Skipped("the transport is not Streamable HTTP".to_owned());
    }
    peer.listen(step.session == ListenSession::New, step.resume, Duration::from_secs(2)).await
}

/// Opens and closes further sessions.
pub(super) async fn sessions(peer: &mut Peer, step: &Sessions) -> Outcome {
    if peer.transport() != Transport::StreamableHttp {
        return Outcome::Skipped("the transport is not Streamable HTTP".to_owned());
    }
    peer.open_sessions(step.count).await
}
