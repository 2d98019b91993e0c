//! The authorization code flow (OAuth 2.1, section 4.1) up to the code: the request with PKCE, `state` and `resource`,
//! and validation of the response (2026-07-28, authorization, "Authorization Response Validation").

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use sha2::{Digest, Sha256};
use url::Url;

use super::{
    credentials::Secret,
    error::{AuthFailure, quoted},
    random,
    server::ServerMetadata,
};

/// State of a request until its response.
#[derive(Debug)]
pub(super) struct Pending {
    state: String,
    verifier: Secret,
    issuer: String,
    sends_iss: bool,
    redirect_uri: String,
}

/// A code, and what is needed to exchange it.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) code: Secret,
    pub(super) verifier: Secret,
    pub(super) redirect_uri: String,
}

/// Builds an authorization request.
///
/// # Errors
/// If the server lacks a required feature: "If `code_challenge_methods_supported` is absent, […] MCP clients MUST
/// refuse to proceed" (2026-07-28, security considerations, "Authorization Code Protection").
pub(super) fn request(
    server: &ServerMetadata,
    client_id: &str,
    redirect_uri: &str,
    scopes: &[String],
    resource: &str,
) -> Result<(Url, Pending), AuthFailure> {
    let unsupported = |what: &str| AuthFailure::Unsupported { issuer: server.issuer.clone(), what: what.to_owned() };
    let mut url = server.authorization_endpoint.clone().ok_or_else(|| unsupported("the authorization code flow"))?;
    if !server.has_s256 {
        return Err(unsupported("PKCE with S256"));
    }
    let (state, verifier) = (random::text(), Secret::new(random::text()));
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", client_id)
        .append_pair("redirect_uri", redirect_uri)
        .append_pair("state", &state)
        .append_pair("code_challenge", &BASE64.encode(Sha256::digest(verifier.expose())))
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", resource);
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.join(" "));
    }
    // OpenID providers ignore `offline_access` without consent (OpenID Connect Core, section 11).
    if scopes.iter().any(|scope| scope == "offline_access") {
        query.append_pair("prompt", "consent");
    }
    drop(query);
    let (issuer, redirect_uri) = (server.issuer.clone(), redirect_uri.to_owned());
    Ok((url, Pending { state, verifier, issuer, sends_iss: server.sends_iss, redirect_uri }))
}

impl Pending {
    /// Validates a response, and returns the code or the reported error.
    ///
    /// # Errors
    /// If the response does not belong to this request or comes from another server. Its content is not reported then.
    pub(super) fn redeem(self, response: &Url) -> Result<Code, AuthFailure> {
        let distrust = |problem: &str| AuthFailure::Response { problem: problem.to_owned() };
        if !is_at(response, &self.redirect_uri) {
            return Err(distrust("it was not sent to the redirect URI"));
        }
        let params = once(response).ok_or_else(|| distrust("a parameter occurs twice"))?;
        let param = |name: &str| params.get(name).map(String::as_str);
        match param("state") {
            Some(state) if state == self.state => {}
            Some(_) => return Err(distrust("`state` belongs to another request")),
            None => return Err(distrust("`state` is missing")),
        }
        // Simple string comparison. 2026-07-28 requires validation of `iss` whenever it is present.
        match param("iss") {
            Some(issuer) if issuer == self.issuer => {}
            Some(_) => return Err(distrust("`iss` names another authorization server")),
            None if self.sends_iss => return Err(distrust("`iss` is missing")),
            None => {}
        }
        match (param("code"), param("error")) {
            (Some(_), Some(_)) => Err(distrust("it has both `code` and `error`")),
            (None, Some(error)) => {
                let description = param("error_description").map(quoted);
                Err(AuthFailure::Denied { error: quoted(error), description })
            }
            (Some(code), None) if !code.is_empty() => {
                Ok(Code { code: Secret::new(code), verifier: self.verifier, redirect_uri: self.redirect_uri })
            }
            _ => Err(distrust("it has no code")),
        }
    }
}

/// Whether a URL is the redirect URI with additional query parameters.
fn is_at(url: &Url, redirect_uri: &str) -> bool {
    let Ok(expected) = Url::parse(redirect_uri) else { return false };
    let location =
        |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port(), url.path().to_owned());
    location(url) == location(&expected)
}

/// The parameters of a response; `None` if one is repeated (RFC 6749, section 3.1).
fn once(url: &Url) -> Option<BTreeMap<String, String>> {
    let mut params = BTreeMap::new();
    for (name, value) in url.query_pairs() {
        if params.insert(name.into_owned(), value.into_owned()).is_some() {
            return None;
        }
    }
    Some(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIRECT: &str = "http://127.0.0.1:7/callback";

    fn server(sends_iss: bool) -> ServerMetadata {
        let url = Url::parse("https://as.example").unwrap();
        ServerMetadata { sends_iss, ..ServerMetadata::assumed(&url) }
    }

    /// Validates a response with these parameters; `STATE` is replaced by the expected state.
    fn redeemed(sends_iss: bool, location: &str, query: &str) -> Result<Code, AuthFailure> {
        let (_, pending) = request(&server(sends_iss), "c", REDIRECT, &[], "https://rs.example").unwrap();
        let url = format!("{location}?{}", query.replace("STATE", &pending.state));
        pending.redeem(&Url::parse(&url).unwrap())
    }

    #[test]
    fn a_request_has_the_required_parameters() {
        let scopes = ["a".to_owned(), "offline_access".to_owned()];
        let (url, pending) = request(&server(true), "c", REDIRECT, &scopes, "https://rs.example/mcp").unwrap();
        let params = once(&url).unwrap();
        assert_eq!(params["code_challenge"], BASE64.encode(Sha256::digest(pending.verifier.expose())));
        assert_eq!(params["code_challenge_method"], "S256");
        assert_eq!(params["state"], pending.state);
        assert_eq!(params["resource"], "https://rs.example/mcp");
        assert_eq!((params["scope"].as_str(), params["prompt"].as_str()), ("a offline_access", "consent"));
        let (url, _) = request(&server(true), "c", REDIRECT, &[], "https://rs.example/mcp").unwrap();
        assert!(!once(&url).unwrap().contains_key("scope"));
        let without = ServerMetadata { has_s256: false, ..server(true) };
        assert!(request(&without, "c", REDIRECT, &[], "r").is_err());
    }

    #[test]
    fn only_the_response_to_this_request_is_accepted() {
        let iss = "iss=https%3A%2F%2Fas.example";
        assert!(redeemed(true, REDIRECT, &format!("code=x&state=STATE&{iss}")).is_ok());
        assert!(redeemed(false, REDIRECT, "code=x&state=STATE").is_ok());
        for (sends_iss, location, query) in [
            (true, REDIRECT, "code=x&state=STATE"),
            (false, REDIRECT, "code=x&state=STATE&iss=https%3A%2F%2Fas.example%2F"),
            (false, REDIRECT, "code=x&state=STATE&iss=https%3A%2F%2Fevil.example"),
            (false, REDIRECT, "code=x&state=other"),
            (false, REDIRECT, "code=x"),
            (false, REDIRECT, "state=STATE"),
            (false, REDIRECT, "code=&state=STATE"),
            (false, REDIRECT, "code=x&code=y&state=STATE"),
            (false, REDIRECT, "code=x&state=STATE&state=STATE"),
            (false, REDIRECT, "code=x&state=STATE&error=access_denied"),
            (false, "http://127.0.0.1:8/callback", "code=x&state=STATE"),
            (false, "https://127.0.0.1:7/callback", "code=x&state=STATE"),
            (false, "http://evil.example:7/callback", "code=x&state=STATE"),
        ] {
            let outcome = redeemed(sends_iss, location, query);
            assert!(matches!(outcome, Err(AuthFailure::Response { .. })), "{query}: {outcome:?}");
        }
    }

    #[test]
    fn an_error_is_reported_only_if_it_comes_from_the_right_server() {
        let denied = redeemed(false, REDIRECT, "error=access_denied&error_description=no%0Away&state=STATE");
        assert!(matches!(denied, Err(AuthFailure::Denied { error, .. }) if error == "access_denied"));
        let forged = redeemed(false, REDIRECT, "error=access_denied&state=STATE&iss=https%3A%2F%2Fevil.example");
        assert!(matches!(forged, Err(AuthFailure::Response { problem }) if !problem.contains("denied")));
    }
}
