//! The token endpoint: client authentication, grants, and the issued tokens.

mod assertion;
mod code;
mod credentials;
mod exchange;
mod refresh;

use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::{
    audit::{AuditEvent, TokenRequested, bare, few},
    authorize::resources,
    client_auth::{self, Claim},
    dpop::{self, Checker, Expected, ProofError},
    error::OAuthError,
    params::Params,
    sanitize::sanitized,
    script::{AuthMethod, DpopMode, GrantType, RefreshIssue},
    server::{Access, Server},
    state::{Client, Consent, RefreshToken, State},
};
use crate::{
    faults::{Deviation, TokenRequest},
    oauth_messages::OAuthResponse,
};

pub(crate) use self::exchange::exchange;

/// The parts of a token request that all grants need.
pub(crate) struct Request<'a> {
    pub(crate) server: &'a Server,
    pub(crate) params: &'a Params,
    pub(crate) client: Client,
    /// The method of client authentication.
    pub(crate) method: AuthMethod,
    /// The thumbprint of the key that the client proved.
    pub(crate) jkt: Option<String>,
}

/// The result of a grant.
pub(crate) struct Grant {
    pub(crate) consent: Consent,
    /// The scopes of the access token, which may be fewer than those of the consent.
    pub(crate) scopes: Vec<String>,
    pub(crate) refresh: NextRefresh,
}

/// The refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NextRefresh {
    /// None.
    Never,
    /// A new one, if the client can have one.
    New,
    /// A new one that replaces the used one.
    Rotated,
}

/// Handles a token request.
pub(crate) fn token(server: &Server, headers: &HeaderMap, params: &Params) -> OAuthResponse {
    let claim = client_auth::claim(headers, params);
    let mut noted = noted(headers, params, claim.as_ref().ok());
    let client = claim.as_ref().ok().map(|claim| claim.id.clone()).or_else(|| params.get("client_id").map(sanitized));
    let scopes = params.scopes();
    let facts = TokenRequest { grant: params.get("grant_type").unwrap_or_default(), scopes: &scopes };
    let answer = match server.faults.replacement(|fault| fault.reject_token(&facts)) {
        Some(answer) => {
            noted.error = Some(format!("status {}", answer.status));
            answer
        }
        None => match claim.and_then(|claim| issue(server, headers, params, &claim)) {
            Ok((body, granted)) => {
                noted.granted_scope = Some(granted);
                let answer = finish(server, body);
                server.token_issued();
                answer
            }
            Err(refusal) => {
                noted.error = Some(refusal.error.clone());
                refusal.response()
            }
        },
    };
    server.note(client.as_deref(), AuditEvent::TokenRequested(noted));
    answer
}

fn finish(server: &Server, mut body: Map<String, Value>) -> OAuthResponse {
    server.faults.apply(&mut body, |fault, body| fault.token_response(body));
    let mut answer = OAuthResponse::json(200, &Value::Object(body)).uncached();
    server.faults.apply(&mut answer, |fault, answer| fault.token_http_response(answer));
    answer
}

/// The body of a success, and the granted scopes.
fn issue(
    server: &Server,
    headers: &HeaderMap,
    params: &Params,
    claim: &Claim,
) -> Result<(Map<String, Value>, String), OAuthError> {
    params.refuse_repeated()?;
    let name = params.required("grant_type")?;
    let unsupported = || OAuthError::new("unsupported_grant_type", "the grant is not supported");
    let grant =
        GrantType::named(name).filter(|grant| server.script.grants().contains(grant)).ok_or_else(unsupported)?;
    let client = client_auth::authenticate(server, claim, params)?;
    if !client.grants.contains(&grant) {
        return Err(OAuthError::new("unauthorized_client", "the client may not use this grant"));
    }
    let jkt = prove(server, headers, &client)?;
    let request = Request { server, params, client, method: claim.method, jkt };
    let granted = match grant {
        GrantType::AuthorizationCode => code::redeem(&request)?,
        GrantType::RefreshToken => refresh::redeem(&request)?,
        GrantType::ClientCredentials => credentials::redeem(&request)?,
        GrantType::JwtBearer => assertion::redeem(&request)?,
        // Tokens are exchanged at the endpoint of the identity provider.
        GrantType::TokenExchange => return Err(unsupported()),
    };
    let audience = audience(&request, &granted.consent)?;
    let scope = granted.scopes.join(" ");
    Ok((body(&request, &granted, &audience), scope))
}

/// The thumbprint of the key that the client proved (RFC 9449 section 5).
fn prove(server: &Server, headers: &HeaderMap, client: &Client) -> Result<Option<String>, OAuthError> {
    let mode = server.script.dpop.mode;
    if mode == DpopMode::Off {
        return Ok(None);
    }
    let url = server.token_endpoint();
    let expected = Expected { checker: Checker::Server, method: "POST", url: &url, token: None };
    let checked = match dpop::proof(headers) {
        Ok(Some(proof)) => dpop::check(server, proof, expected).map(Some),
        Ok(None) if mode == DpopMode::Required || client.dpop_bound => Err(ProofError::Invalid("the proof is missing")),
        Ok(None) => Ok(None),
        Err(problem) => Err(problem),
    };
    let note = |problem: &str| {
        let event = AuditEvent::DpopRefused { at: Checker::Server.name().to_owned(), problem: problem.to_owned() };
        server.note(Some(&client.id), event);
    };
    match checked {
        Ok(Some(_)) if server.faults.deviates(Deviation::DpopNotBound) => Ok(None),
        Ok(jkt) => Ok(jkt),
        Err(ProofError::Invalid(problem)) => {
            note(problem);
            Err(OAuthError::new("invalid_dpop_proof", problem))
        }
        Err(ProofError::Nonce(nonce)) => {
            note("nonce");
            Err(OAuthError::new("use_dpop_nonce", "the proof has to carry a nonce of this server")
                .with("dpop-nonce", nonce))
        }
    }
}

/// The resources of the token: those of the request, which must be among those of the consent (RFC 8707 section 2.2),
/// else those of the consent.
fn audience(request: &Request<'_>, consent: &Consent) -> Result<Vec<String>, OAuthError> {
    let asked = request.params.all("resource");
    if !consent.resources.is_empty() && !asked.iter().all(|resource| consent.resources.contains(resource)) {
        return Err(OAuthError::new("invalid_target", "the consent is for other resources"));
    }
    resources(request.server, if asked.is_empty() { consent.resources.clone() } else { asked })
}

fn body(request: &Request<'_>, grant: &Grant, audience: &[String]) -> Map<String, Value> {
    let server = request.server;
    let mut state = server.state();
    let access =
        Access { consent: &grant.consent, scopes: &grant.scopes, resources: audience, jkt: request.jkt.as_deref() };
    let token = server.access_token(&mut state, &access);
    let token_type = if request.jkt.is_some() { "DPoP" } else { "Bearer" };
    let mut body = Map::new();
    for (name, value) in [
        ("access_token", json!(token)),
        ("token_type", json!(token_type)),
        ("expires_in", json!(server.script.lifetimes.access_token.0.as_secs())),
        ("scope", json!(grant.scopes.join(" "))),
    ] {
        // `scope` cannot be empty (RFC 6749 section 3.3).
        if value != json!("") {
            body.insert(name.to_owned(), value);
        }
    }
    if is_refreshable(request, grant) {
        body.insert("refresh_token".to_owned(), json!(next_refresh(request, grant, &mut state)));
    }
    body
}

fn is_refreshable(request: &Request<'_>, grant: &Grant) -> bool {
    let allowed = |grant| request.client.grants.contains(&grant) && request.server.script.grants().contains(&grant);
    let issue = match request.server.script.refresh.issue {
        RefreshIssue::Always => true,
        RefreshIssue::OfflineAccess => grant.consent.scopes.iter().any(|scope| scope == "offline_access"),
        RefreshIssue::Never => false,
    };
    match grant.refresh {
        NextRefresh::Never => false,
        NextRefresh::New => issue && allowed(GrantType::RefreshToken),
        NextRefresh::Rotated => true,
    }
}

fn next_refresh(request: &Request<'_>, grant: &Grant, state: &mut State) -> String {
    let server = request.server;
    let token = state.secret();
    if server.faults.deviates(Deviation::InvalidRefreshToken) {
        return token;
    }
    // A public client's refresh tokens are bound to its key (RFC 9449 section 5).
    let is_public = request.client.methods == [super::script::AuthMethod::None];
    let entry = RefreshToken {
        consent: grant.consent.clone(),
        jkt: request.jkt.clone().filter(|_| is_public),
        expires: server.clock.now() + server.script.lifetimes.refresh_token.0,
        used: false,
    };
    state.refresh.insert(token.clone(), entry);
    token
}

fn noted(headers: &HeaderMap, params: &Params, claim: Option<&Claim>) -> TokenRequested {
    TokenRequested {
        grant: params.get("grant_type").map(sanitized),
        auth_method: claim.map(|claim| claim.method.name().to_owned()),
        verifier: params.has("code_verifier"),
        redirect_uri: params.get("redirect_uri").map(bare),
        resource: few(&params.all("resource")),
        scope: params.get("scope").map(sanitized),
        dpop: headers.contains_key("dpop"),
        granted_scope: None,
        error: None,
    }
}
