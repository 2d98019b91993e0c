//! Authorization of clients over HTTP (2025-03-26 to 2025-11-25, basic/authorization; 2026-07-28, basic/authorization and its
//! pages). A client without authorization sends none of these requests, so the checks do not apply to it.

mod discovery;
mod registration;
mod requests;
mod scopes;
mod tokens;

use crate::judge::transcript::{AuthorizationExchange, AuthorizationRequest::ServerMetadata, Transcript};

pub(super) use self::{
    discovery::CHECKS as DISCOVERY, registration::CHECKS as REGISTRATION, requests::CHECKS as REQUESTS,
    scopes::CHECKS as SCOPES, tokens::CHECKS as TOKENS,
};

const NO_AUTHORIZATION: &str = "the client sent no authorization request";
const NO_TOKEN_REQUEST: &str = "the client sent no token request";
const CODE: &str = "authorization_code";
const REFRESH: &str = "refresh_token";
const CREDENTIALS: &str = "client_credentials";

/// The metadata of an authorization server that a client received before the request `seq`, the latest first.
fn server_metadata<'t, 'a>(
    transcript: &'t Transcript<'a>,
    origin_of: &AuthorizationExchange<'_>,
    seq: u64,
) -> Option<&'t AuthorizationExchange<'a>> {
    let same_server = |one: &&AuthorizationExchange<'a>| {
        one.request.server == origin_of.request.server
            && one.seq() < seq
            && one.document().is_some_and(|document| document.contains_key("issuer"))
    };
    transcript.authorization().with_kind(ServerMetadata).filter(same_server).last()
}

#[cfg(test)]
mod tests;
