//! The fake authorization server over HTTP: what a good one does, what each lie makes of it, and what its log says.

#[path = "oauth/authorization.rs"]
mod authorization;
#[path = "oauth/discovery.rs"]
mod discovery;
#[path = "oauth/peer.rs"]
mod peer;
#[path = "oauth/registration.rs"]
mod registration;
