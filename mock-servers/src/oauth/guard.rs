//! The guard of a protected resource: accepts requests with a valid token, and sends a challenge to the others
//! (2026-07-28, authorization; RFC 6750 section 3; RFC 9728 section 5; RFC 9449 section 7).

mod challenge;
mod metadata;
mod request;

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{AtomicU32, Ordering},
};

use axum::body::Body as HttpBody;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Response, Uri};
use serde_json::{Map, Value};
use url::Url;

use self::{
    challenge::ChallengeContent,
    request::{Call, Presented, calls, presented},
};
use super::{
    OAuthMock,
    access::verify,
    audit::{Accessed, AuditEvent},
    dpop::{self, Checker, Expected, ProofError},
    render::{recorded, render},
    sanitize::sanitized,
    script::{DpopMode, Resource},
    server::{Server, same_url},
};

use crate::{faults::Deviation, listen::protection::RequestGuard, oauth_messages::Challenge};
use evidence::Body;

/// The guard of one protected resource. Clones share their state.
#[derive(Debug, Clone)]
pub struct Guard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    resource: String,
    origin: String,
    path: String,
    policy: Resource,
    authority: RwLock<Arc<Server>>,
    /// The number of times that each step-up rule has insisted.
    insisted: Mutex<Vec<u32>>,
    /// The number of requests that were rejected for their scopes.
    asked_for_more: AtomicU32,
}

/// The client and user of an accepted request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted {
    /// The client; `None` if the request needs no token.
    pub client: Option<String>,
    /// The subject of the token.
    pub subject: Option<String>,
    /// The scopes of the token.
    pub scopes: Vec<String>,
}

/// A rejection: its reason for the audit log, and its challenge.
struct Rejected {
    reason: &'static str,
    content: ChallengeContent,
}

impl Guard {
    pub(super) fn new(server: &Arc<Server>, resource: &str) -> Self {
        server.protect(resource);
        let url = Url::parse(resource).ok();
        let path = url.as_ref().map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
        Self(Arc::new(Inner {
            resource: resource.to_owned(),
            origin: url.map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
            path,
            policy: server.script.resource.clone(),
            authority: RwLock::new(Arc::clone(server)),
            insisted: Mutex::new(vec![0; server.script.resource.step_up.len()]),
            asked_for_more: AtomicU32::new(0),
        }))
    }

    /// The resource that it guards.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.0.resource
    }

    /// Accepts only tokens of this server from now on, and names it in the metadata: the resource moves to another
    /// authorization server.
    pub fn move_to(&self, mock: &OAuthMock) {
        self.hand_over(Arc::clone(mock.server()));
    }

    fn hand_over(&self, server: Arc<Server>) {
        server.protect(&self.0.resource);
        *self.0.authority.write().unwrap_or_else(PoisonError::into_inner) = server;
    }

    /// Checks a request by its head and its JSON-RPC body, if it has one.
    ///
    /// # Errors
    /// The challenge to answer with instead.
    pub fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: Option<&Value>,
    ) -> Result<Granted, Challenge> {
        let server = self.authority();
        let calls = calls(body);
        let presented = presented(uri, headers);
        let mut claims = Map::new();
        let judged = self.judge(&server, (method, uri, headers), &calls, &presented, &mut claims);
        let answered = match &judged {
            Ok(granted) => Ok(granted.clone()),
            Err(rejected) => Err(self.challenge(&server, &rejected.content)),
        };
        let attempt = judged.as_ref().err().filter(|rejected| rejected.content.scopes.is_some());
        let attempt = attempt.map(|_| self.0.asked_for_more.fetch_add(1, Ordering::Relaxed) + 1);
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(sanitized);
        let first = calls.first();
        let accessed = Accessed {
            resource: sanitized(&self.0.resource),
            method: method.to_string(),
            rpc_method: first.map(|call| sanitized(call.method)),
            tool: first.and_then(|call| call.tool).map(sanitized),
            scheme: presented.scheme.as_deref().map(sanitized),
            token_in_query: presented.in_query,
            scope: text("scope"),
            status: answered.as_ref().err().map_or(200, |challenge| challenge.status),
            reason: judged.as_ref().err().map(|rejected| rejected.reason.to_owned()),
            attempt,
        };
        server.note(text("client_id").as_deref(), AuditEvent::Accessed(accessed));
        if judged.is_ok() && !claims.is_empty() {
            let passed = server.request_passed();
            if let Some(successor) = server.successor_after(passed) {
                self.hand_over(successor);
            }
        }
        answered
    }

    fn judge(
        &self,
        server: &Server,
        (method, uri, headers): (&Method, &Uri, &HeaderMap),
        calls: &[Call<'_>],
        presented: &Presented,
        claims: &mut Map<String, Value>,
    ) -> Result<Granted, Rejected> {
        if presented.in_query {
            // Tokens must not be in the query (2026-07-28, token requirements).
            return Err(rejected("query-token", ChallengeContent::bad_request("the access token is in the query")));
        }
        if !calls.is_empty() && calls.iter().all(|call| call.is_open(&self.0.policy.open_methods)) {
            return Ok(Granted::default());
        }
        if presented.repeated {
            return Err(rejected(
                "malformed",
                ChallengeContent::bad_request("there is more than one Authorization header"),
            ));
        }
        let Some(scheme) = presented.scheme.as_deref() else {
            return Err(rejected("no-token", ChallengeContent::first()));
        };
        if !matches!(scheme, "bearer" | "dpop") {
            return Err(rejected("scheme", ChallengeContent::first()));
        }
        *claims = verify(server, &presented.token).map_err(|error| {
            rejected(error.name(), ChallengeContent::invalid_token("the access token is not valid"))
        })?;
        if !self.is_audience(server, claims.get("aud")) {
            return Err(rejected(
                "wrong-audience",
                ChallengeContent::invalid_token("the access token is for another resource"),
            ));
        }
        self.check_binding(server, (method, uri, headers), presented, claims)?;
        if server.faults.deviates(Deviation::RejectToken) {
            return Err(rejected("not-ours", ChallengeContent::invalid_token("the access token is not valid")));
        }
        let scopes = scopes(claims);
        self.check_scopes(calls, &scopes)?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(Granted { client: text("client_id"), subject: text("sub"), scopes })
    }

    fn is_audience(&self, server: &Server, audience: Option<&Value>) -> bool {
        let is_of_origin = self.is_of_origin(server);
        let is_ours = |text: &str| {
            text == self.0.resource
                || (self.0.policy.lenient_audience && same_url(text, &self.0.resource))
                || (is_of_origin && same_url(text, &self.0.origin))
        };
        match audience {
            Some(Value::String(one)) => is_ours(one),
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).any(is_ours),
            _ => false,
        }
    }

    /// Whether the request proves the key that the token is bound to (RFC 9449 section 7.1).
    fn check_binding(
        &self,
        server: &Server,
        (method, uri, headers): (&Method, &Uri, &HeaderMap),
        presented: &Presented,
        claims: &Map<String, Value>,
    ) -> Result<(), Rejected> {
        let bound = claims.get("cnf").and_then(|cnf| cnf.get("jkt")).and_then(Value::as_str);
        let is_dpop = presented.scheme.as_deref() == Some("dpop");
        match bound {
            None if server.script.dpop.mode == DpopMode::Required => {
                return Err(rejected("dpop", ChallengeContent::invalid_token("the access token is bound to no key")));
            }
            // A bound token must not be used as a bearer token (RFC 9449 section 7.2).
            Some(_) if !is_dpop => {
                return Err(rejected("scheme", ChallengeContent::invalid_token("the access token is bound to a key")));
            }
            None if is_dpop => {
                return Err(rejected("scheme", ChallengeContent::invalid_token("the access token is a bearer token")));
            }
            None => return Ok(()),
            Some(_) => {}
        }
        let url = format!("{}{}", self.0.origin, uri.path());
        let expected =
            Expected { checker: Checker::Resource, method: method.as_str(), url: &url, token: Some(&presented.token) };
        let checked = match dpop::proof(headers) {
            Ok(Some(proof)) => dpop::check(server, proof, expected),
            Ok(None) => Err(ProofError::Invalid("the proof is missing")),
            Err(problem) => Err(problem),
        };
        let problem = match checked {
            Ok(key) if Some(key.as_str()) == bound => return Ok(()),
            Ok(_) => ProofError::Invalid("the proof is by another key than the token is bound to"),
            Err(problem) => problem,
        };
        let (reason, words, content) = match problem {
            ProofError::Invalid(words) => ("dpop", words, ChallengeContent::invalid_proof(words)),
            ProofError::Nonce(nonce) => ("nonce", "nonce", ChallengeContent::nonce(nonce)),
        };
        let event = AuditEvent::DpopRefused { at: Checker::Resource.name().to_owned(), problem: words.to_owned() };
        server.note(claims.get("client_id").and_then(Value::as_str), event);
        Err(rejected(reason, content))
    }

    /// Whether a token has the required scopes, and whether the script accepts it.
    fn check_scopes(&self, calls: &[Call<'_>], scopes: &[String]) -> Result<(), Rejected> {
        let policy = &self.0.policy;
        let mut needed = policy.required_scopes.clone();
        let rules = policy.step_up.iter().enumerate();
        let matching: Vec<_> = rules.filter(|(_, rule)| calls.iter().any(|call| call.matches(rule))).collect();
        needed.extend(matching.iter().flat_map(|(_, rule)| rule.scopes.clone()));
        let mut seen = std::collections::HashSet::new();
        needed.retain(|scope| seen.insert(scope.clone()));
        let missing: Vec<String> = needed.iter().filter(|scope| !scopes.contains(scope)).cloned().collect();
        if !missing.is_empty() {
            let named = if policy.challenge_missing_only { missing } else { needed };
            return Err(rejected("insufficient-scope", ChallengeContent::insufficient_scope(named)));
        }
        let mut insisted = self.0.insisted.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, rule) in matching {
            if let Some(count) = insisted.get_mut(index).filter(|count| rule.always_insists || **count < rule.insists) {
                *count = count.saturating_add(1);
                return Err(rejected("insists", ChallengeContent::insufficient_scope(rule.scopes.clone())));
            }
        }
        Ok(())
    }

    fn challenge(&self, server: &Server, content: &ChallengeContent) -> Challenge {
        let policy = &self.0.policy;
        let metadata = self.metadata_url(server).filter(|_| policy.challenge_with_metadata);
        let scopes = match &content.scopes {
            Some(scopes) => scopes.clone(),
            None if content.is_first => policy.challenge_scopes.clone().unwrap_or(policy.required_scopes.clone()),
            None => Vec::new(),
        };
        let scopes = if policy.challenge_with_scope { scopes } else { Vec::new() };
        let mut challenge = Challenge::new(content, &scopes, metadata.as_deref(), &server.script.dpop);
        if policy.lower_case_scheme {
            challenge.write_schemes_in_lower_case();
        }
        challenge.precede_with(&policy.other_challenges);
        server.faults.apply(&mut challenge, |fault, challenge| fault.challenge(challenge));
        challenge
    }

    fn authority(&self) -> Arc<Server> {
        Arc::clone(&self.0.authority.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RequestGuard for Guard {
    fn reject(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        message: Option<&Value>,
    ) -> Option<Response<HttpBody>> {
        self.check(method, uri, headers, message).err().map(Challenge::into_response)
    }

    fn metadata_response<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Option<(Response<HttpBody>, Body)>> {
        Box::pin(async move {
            let answer = self.metadata(path)?;
            let body = recorded(&answer.body);
            Some((render(answer).await, body))
        })
    }
}

fn rejected(reason: &'static str, content: ChallengeContent) -> Rejected {
    Rejected { reason, content }
}

fn scopes(claims: &Map<String, Value>) -> Vec<String> {
    let text = claims.get("scope").and_then(Value::as_str).unwrap_or_default();
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
