//! The fake authorization server over HTTP: conforming behavior, each fault, and the audit log.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "oauth/authorization.rs"]
mod authorization;
#[path = "oauth/bounds.rs"]
mod bounds;
#[path = "oauth/clients.rs"]
mod clients;
#[path = "oauth/clock.rs"]
mod clock;
#[path = "oauth/discovery.rs"]
mod discovery;
#[path = "oauth/documents.rs"]
mod documents;
#[path = "oauth/dpop.rs"]
mod dpop;
#[path = "oauth/faults.rs"]
mod faults;
#[path = "oauth/federation.rs"]
mod federation;
#[path = "oauth/front.rs"]
mod front;
#[path = "oauth/guard.rs"]
mod guard;
#[path = "oauth/peer.rs"]
mod peer;
#[path = "oauth/registration.rs"]
mod registration;
#[path = "oauth/tokens.rs"]
mod tokens;
