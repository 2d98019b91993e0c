//! The authorization endpoint, and the simulated user.

use url::Url;

use super::{
    audit::{AuditEvent, Authorized, Outcome, bare, few},
    error::OAuthError,
    params::Params,
    register::is_loopback,
    sanitize::sanitized,
    script::{GrantType, MissingResource, PkceMethod, UnknownScopes, User},
    server::Server,
    state::{Client, Code, Consent},
};
use crate::{
    faults::Deviation,
    oauth_messages::{AuthorizationRedirect, OAuthResponse},
};

/// Handles an authorization request. Responds with a page without a trusted redirect or a decision of the user,
/// otherwise with a redirect and a code or an error (RFC 6749 section 4.1.2).
pub(crate) fn authorize(server: &Server, method: &str, params: &Params) -> OAuthResponse {
    let (outcome, answer) = match target(server, params) {
        Err(refusal) => {
            (Outcome::Refused(refusal.error.clone()), page(400, &format!("{}: {}", refusal.error, refusal.description)))
        }
        Ok((client, uri)) => respond(server, method, params, &client, &uri),
    };
    let text = |name: &str| params.get(name).map(sanitized);
    let authorized = Authorized {
        method: method.to_owned(),
        response_type: text("response_type"),
        redirect_uri: params.get("redirect_uri").map(bare),
        challenge: params.has("code_challenge"),
        challenge_method: text("code_challenge_method"),
        state: params.has("state"),
        resource: few(&params.all("resource")),
        scope: text("scope"),
        dpop_jkt: params.has("dpop_jkt"),
        outcome,
    };
    server.note(params.get("client_id"), AuditEvent::Authorized(authorized));
    answer
}

/// The client and its registered redirect URI (RFC 6749 section 4.1.2.1).
fn target(server: &Server, params: &Params) -> Result<(Client, String), OAuthError> {
    let id = params.required("client_id")?;
    let client = server
        .state()
        .clients
        .get(id)
        .cloned()
        .ok_or_else(|| OAuthError::new("invalid_client", "the client is not known"))?;
    let uri = match (params.get("redirect_uri"), client.redirect_uris.as_slice()) {
        (Some(uri), _) if client.any_redirect && Url::parse(uri).is_ok() => uri.to_owned(),
        (Some(uri), registered) if registered.iter().any(|known| matches(known, uri)) => uri.to_owned(),
        (Some(_), _) => return Err(OAuthError::new("invalid_request", "the redirect URI is not registered")),
        (None, [only]) => only.clone(),
        (None, _) => return Err(OAuthError::new("invalid_request", "redirect_uri is missing")),
    };
    Ok((client, uri))
}

/// Compares redirect URIs exactly, except for the port of a loopback address (RFC 8252 section 7.3).
fn matches(registered: &str, given: &str) -> bool {
    if registered == given {
        return true;
    }
    let (Ok(mut registered), Ok(mut given)) = (Url::parse(registered), Url::parse(given)) else { return false };
    if registered.scheme() != "http" || !is_loopback(&registered) || !given.username().is_empty() {
        return false;
    }
    registered.set_port(None).is_ok() && given.set_port(None).is_ok() && registered == given
}

fn respond(server: &Server, method: &str, params: &Params, client: &Client, uri: &str) -> (Outcome, OAuthResponse) {
    let mut redirect =
        AuthorizationRedirect { target: uri.to_owned(), params: Vec::new(), issuer: server.issuer.clone() };
    let outcome = match decide(server, params, client) {
        Ok(Some(code)) => {
            redirect.set("code", code);
            Outcome::Granted
        }
        Ok(None) => {
            return (Outcome::Unanswered, page(200, "the user does not decide on this page"));
        }
        Err(refusal) => {
            redirect.set("error", &refusal.error);
            redirect.set("error_description", &refusal.description);
            Outcome::Refused(refusal.error)
        }
    };
    if let Some(state) = params.get("state") {
        redirect.set("state", state);
    }
    // Also in error responses (RFC 9207 section 2).
    if server.script.iss_parameter {
        redirect.set("iss", &server.issuer);
    }
    server.faults.apply(&mut redirect, |fault, redirect| fault.redirect(redirect));
    // A posted form must not be posted to the redirect target (RFC 9700 section 4.12).
    let status = if method == "POST" { 303 } else { 302 };
    (outcome, OAuthResponse::redirect(status, &location(&redirect)))
}

fn location(redirect: &AuthorizationRedirect) -> String {
    match Url::parse(&redirect.target) {
        Ok(mut url) => {
            url.query_pairs_mut().extend_pairs(&redirect.params);
            url.into()
        }
        // Only a fault sets a target that is not a URL.
        Err(_) => redirect.target.clone(),
    }
}

/// The code for a valid request with the consent of the user; `None` if the user does not respond.
fn decide(server: &Server, params: &Params, client: &Client) -> Result<Option<String>, OAuthError> {
    params.refuse_repeated()?;
    match params.required("response_type")? {
        "code" => {}
        _ => return Err(OAuthError::new("unsupported_response_type", "only `code` is supported")),
    }
    if !client.grants.contains(&GrantType::AuthorizationCode) {
        return Err(OAuthError::new("unauthorized_client", "the client may not use the authorization code grant"));
    }
    let challenge = challenge(server, params)?;
    resources(server, params.all("resource"))?;
    let asked = scopes(server, client, params.scopes())?;
    let scopes = match ask(server) {
        User::Consents => asked,
        User::Denies => return Err(OAuthError::new("access_denied", "the user denied the request")),
        User::NeverAnswers => return Ok(None),
        User::ConsentsTo(some) => asked.into_iter().filter(|scope| some.contains(scope)).collect(),
    };
    Ok(Some(issue(server, params, client, challenge, scopes)))
}

fn issue(
    server: &Server,
    params: &Params,
    client: &Client,
    challenge: Option<(String, PkceMethod)>,
    scopes: Vec<String>,
) -> String {
    let mut state = server.state();
    let consent = Consent {
        client: client.id.clone(),
        subject: server.script.subject.clone(),
        scopes,
        resources: params.all("resource"),
        family: state.family(),
    };
    let fresh = state.secret();
    let again = state.last_code.clone().filter(|_| server.faults.deviates(Deviation::DuplicateCode));
    let code = again.unwrap_or(fresh);
    let entry = Code {
        consent,
        redirect_uri: params.get("redirect_uri").map(str::to_owned),
        challenge,
        jkt: params.get("dpop_jkt").map(str::to_owned),
        expires: server.clock.now() + server.script.lifetimes.code.0,
        used: false,
    };
    state.codes.insert(code.clone(), entry);
    state.last_code = Some(code.clone());
    code
}

/// The next decision of the user.
fn ask(server: &Server) -> User {
    let mut state = server.state();
    let decisions = &server.script.user;
    let decision = decisions.get(state.looked.min(decisions.len().saturating_sub(1)));
    state.looked += 1;
    decision.cloned().unwrap_or_default()
}

/// The challenge for the code's verifier (RFC 7636 section 4.4.1).
fn challenge(server: &Server, params: &Params) -> Result<Option<(String, PkceMethod)>, OAuthError> {
    let refuse = |words: &str| Err(OAuthError::new("invalid_request", words));
    let Some(challenge) = params.get("code_challenge") else {
        return if server.script.pkce.required { refuse("code_challenge is missing") } else { Ok(None) };
    };
    let method = match params.get("code_challenge_method").unwrap_or("plain") {
        "S256" => PkceMethod::S256,
        "plain" => PkceMethod::Plain,
        _ => return refuse("the code_challenge_method is not known"),
    };
    let supported = server.script.pkce.methods.contains(&method)
        || (method == PkceMethod::Plain && server.faults.deviates(Deviation::PlainChallenge));
    if !supported {
        return refuse("the code_challenge_method is not supported");
    }
    if !is_verifier(challenge) || (method == PkceMethod::S256 && challenge.len() != 43) {
        return refuse("the code_challenge is malformed");
    }
    Ok(Some((challenge.to_owned(), method)))
}

/// 43 to 128 unreserved characters (RFC 7636 section 4.1).
pub(crate) fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
}

/// The resources of a token (RFC 8707 section 2).
pub(crate) fn resources(server: &Server, asked: Vec<String>) -> Result<Vec<String>, OAuthError> {
    let refuse = |words: &str| Err(OAuthError::new("invalid_target", words));
    for resource in &asked {
        match Url::parse(resource) {
            Ok(url) if url.fragment().is_none() => {}
            _ => return refuse("the resource is not an absolute URI without a fragment"),
        }
        if server.script.resource.known_only && !server.protects(resource) {
            return refuse("the resource is not known");
        }
    }
    if !asked.is_empty() {
        return Ok(asked);
    }
    match server.script.resource.missing {
        MissingResource::DefaultAudience => Ok(server.default_resource().into_iter().collect()),
        MissingResource::NoAudience => Ok(Vec::new()),
        MissingResource::Refuse => refuse("resource is missing"),
    }
}

/// The scopes that a request can be granted (RFC 6749 section 3.3).
pub(crate) fn scopes(server: &Server, client: &Client, asked: Vec<String>) -> Result<Vec<String>, OAuthError> {
    if asked.is_empty() {
        return Ok(server.script.default_scopes.clone());
    }
    let exists = |scope: &String| {
        server.script.scopes_supported.as_ref().is_none_or(|known| known.contains(scope))
            && client.scopes.as_ref().is_none_or(|allowed| allowed.contains(scope))
    };
    match server.script.unknown_scopes {
        UnknownScopes::Refuse if !asked.iter().all(exists) => {
            Err(OAuthError::new("invalid_scope", "not all of the scopes exist for this client"))
        }
        _ => Ok(asked.into_iter().filter(exists).collect()),
    }
}

/// A page for the user.
pub(super) fn page(status: u16, text: &str) -> OAuthResponse {
    let text = sanitized(text).replace(['<', '>', '&'], " ");
    let mut response = OAuthResponse::empty(status);
    response.body = format!("<!doctype html><title>mock authorization server</title><p>{text}</p>\n").into_bytes();
    response.with("content-type", "text/html; charset=utf-8").uncached()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uris_match_letter_by_letter_but_for_the_port_of_a_loopback_address() {
        let cases = [
            ("http://127.0.0.1/cb", "http://127.0.0.1:5000/cb", true),
            ("http://localhost:1/cb", "http://localhost:2/cb", true),
            ("http://[::1]:1/cb", "http://[::1]:2/cb", true),
            ("http://127.0.0.1:1/cb", "http://localhost:1/cb", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:1/cb/", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:1/cb?more=1", false),
            ("http://127.0.0.1:1/cb", "http://user@127.0.0.1:2/cb", false),
            ("https://app.example/cb", "https://app.example:8443/cb", false),
            ("https://app.example/cb", "https://app.example/cb", true),
        ];
        for (registered, given, expected) in cases {
            assert_eq!(matches(registered, given), expected, "{registered} {given}");
        }
    }
}
