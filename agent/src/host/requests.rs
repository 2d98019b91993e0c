//! Requests of servers to the user. Rules of the form `Elicit(<server>)` apply to elicitations.
//!
//! An elicitation is a question to the user. So `ask` and `allow` both show it, and only `deny` declines it.

use std::sync::Arc;

use client::{HostRequest, HostRequestKind, HostRequests};
use tokio::sync::{broadcast, mpsc};

use super::HostEvent;
use crate::permissions::{Gate, PermissionDecision, PermissionTarget};

/// Passes on the requests that the rules allow, and declines the others.
pub(super) async fn pass_on(
    mut incoming: HostRequests,
    gate: Arc<Gate>,
    outgoing: mpsc::Sender<HostRequest>,
    events: broadcast::Sender<HostEvent>,
) {
    while let Some(request) = incoming.next().await {
        if let HostRequestKind::Form { .. } | HostRequestKind::Url { .. } = request.kind() {
            let explanation = gate.explain(&PermissionTarget::Elicitation { server: request.server() });
            if explanation.decision == PermissionDecision::Deny {
                let server = request.server().to_owned();
                // An error means that all receivers were dropped.
                let _ = events.send(HostEvent::ElicitationDenied { server, reason: explanation.reason });
                request.decline();
                continue;
            }
        }
        let event = HostEvent::UserRequest { server: request.server().to_owned(), id: request.number() };
        match outgoing.try_send(request) {
            Ok(()) => drop(events.send(event)),
            Err(error) => error.into_inner().decline(),
        }
    }
}
