//! The HTTP exchanges of authorization: requests for metadata, registration, authorization and tokens, and the requests to
//! the protected server.

use evidence::{Body, Frame};
use serde_json::{Map, Value};
use url::{Url, form_urlencoded};

use super::{
    ConnectionFrames, Transcript,
    http::{header, method, path, status},
};
use crate::{
    evidence::{AUTHORIZATION_PREFIX, REJECTED_ACCESS, is_authorization},
    model::MOCK_SERVER,
};

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::judge) enum AuthorizationRequest {
    /// Metadata of the protected resource, or another document of its origin.
    ResourceMetadata,
    /// Metadata of an authorization server, or another document of its origin.
    ServerMetadata,
    /// A dynamic registration.
    Registration,
    /// The consent of the user.
    Authorization,
    /// A token.
    Token,
    /// An MCP message or stream.
    Access,
    /// The same, to a server that needs no authorization.
    OtherServer,
}

/// One request with its response.
#[derive(Debug, Clone)]
pub(in crate::judge) struct AuthorizationExchange<'a> {
    pub(in crate::judge) kind: AuthorizationRequest,
    pub(in crate::judge) request: &'a Frame,
    pub(in crate::judge) response: Option<&'a Frame>,
    /// The parameters of the query and of a form.
    parameters: Vec<(String, String)>,
}

/// All exchanges, in the order of their requests.
#[derive(Debug)]
pub(in crate::judge) struct AuthorizationExchanges<'a> {
    all: Vec<AuthorizationExchange<'a>>,
}

impl<'a> AuthorizationExchanges<'a> {
    pub(super) fn new(transcript: &Transcript<'a>) -> Self {
        // Connections of authorization are not among those of MCP.
        let mut connections: Vec<ConnectionFrames<'a>> = Vec::new();
        let mut positions = std::collections::HashMap::new();
        for frame in transcript.evidence.frames.iter().filter(|frame| is_authorization(frame)) {
            let position = *positions.entry((frame.server.as_str(), frame.connection)).or_insert_with(|| {
                connections.push(ConnectionFrames { server: &frame.server, frames: vec![] });
                connections.len() - 1
            });
            connections[position].frames.push(frame);
        }
        let mut all: Vec<_> = connections.iter().filter_map(AuthorizationExchange::new).collect();
        if !all.is_empty() {
            all.extend(transcript.connections().iter().filter_map(AuthorizationExchange::new));
        }
        all.sort_by_key(AuthorizationExchange::seq);
        Self { all }
    }

    /// The requests of this kind.
    pub(in crate::judge) fn with_kind(
        &self,
        kind: AuthorizationRequest,
    ) -> impl Iterator<Item = &AuthorizationExchange<'a>> + Clone {
        self.all.iter().filter(move |one| one.kind == kind)
    }

    /// The requests other than those to MCP servers.
    pub(in crate::judge) fn apart_from_access(&self) -> impl Iterator<Item = &AuthorizationExchange<'a>> {
        let is_mcp = |kind| matches!(kind, AuthorizationRequest::Access | AuthorizationRequest::OtherServer);
        self.all.iter().filter(move |one| !is_mcp(one.kind))
    }

    /// The requests by which a client goes on after discovery: registration, authorization and tokens.
    pub(in crate::judge) fn after_discovery(&self) -> impl Iterator<Item = &AuthorizationExchange<'a>> {
        use AuthorizationRequest::{Authorization, Registration, Token};
        self.all.iter().filter(|one| matches!(one.kind, Registration | Authorization | Token))
    }

    /// The URL of the protected server.
    pub(in crate::judge) fn resource(&self) -> Option<Url> {
        let mut url = self.with_kind(AuthorizationRequest::Access).find_map(AuthorizationExchange::url)?;
        url.set_query(None);
        Some(url)
    }

    /// The token requests with this grant.
    pub(in crate::judge) fn with_grant<'t>(
        &'t self,
        grant: &'t str,
    ) -> impl Iterator<Item = &'t AuthorizationExchange<'a>> {
        self.with_kind(AuthorizationRequest::Token).filter(move |one| one.parameter("grant_type") == Some(grant))
    }
}

impl<'a> AuthorizationExchange<'a> {
    fn new(connection: &ConnectionFrames<'a>) -> Option<Self> {
        let request = connection.request()?;
        let response = connection.frames.iter().copied().find(|frame| !frame.from_client());
        let mut parameters = Vec::new();
        let full = request.http.as_ref()?.path.as_deref()?;
        let query = full.split_once('?').map_or("", |(_, query)| query);
        parameters.extend(form_urlencoded::parse(query.as_bytes()).into_owned());
        if let Body::Text(form) = &request.body {
            parameters.extend(form_urlencoded::parse(form.as_bytes()).into_owned());
        }
        let has = |name: &str| parameters.iter().any(|(key, _)| key == name);
        let is_get = method(request) == Some("GET");
        let kind = match connection.server.strip_prefix(AUTHORIZATION_PREFIX) {
            None if connection.server == MOCK_SERVER => AuthorizationRequest::Access,
            None => AuthorizationRequest::OtherServer,
            Some(_) if connection.server == REJECTED_ACCESS => AuthorizationRequest::Access,
            Some("mock") => AuthorizationRequest::ResourceMetadata,
            // One origin may have both servers.
            Some(_) if path(request)?.starts_with("/.well-known/oauth-protected-resource") => {
                AuthorizationRequest::ResourceMetadata
            }
            Some(_) if has("grant_type") => AuthorizationRequest::Token,
            Some(_) if has("client_id") || has("response_type") => AuthorizationRequest::Authorization,
            Some(_) if is_get => AuthorizationRequest::ServerMetadata,
            Some(_) if request.json().is_some() => AuthorizationRequest::Registration,
            Some(_) => AuthorizationRequest::Token,
        };
        Some(Self { kind, request, response, parameters })
    }

    /// The number of the request.
    pub(in crate::judge) fn seq(&self) -> u64 {
        self.request.seq
    }

    /// The numbers of request and response.
    pub(in crate::judge) fn frames(&self) -> Vec<u64> {
        [Some(self.request.seq), self.response.map(|frame| frame.seq)].into_iter().flatten().collect()
    }

    /// The parameter with this name.
    pub(in crate::judge) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Every parameter with this name.
    pub(in crate::judge) fn all_parameters(&self, name: &str) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The requested scopes; empty without any.
    pub(in crate::judge) fn scopes(&self) -> Vec<&str> {
        self.parameter("scope").unwrap_or_default().split_whitespace().collect()
    }

    /// Whether the request has a message: it neither opens a stream nor ends a session.
    pub(in crate::judge) fn has_message(&self) -> bool {
        self.request.json().is_some()
    }

    /// The status of the response.
    pub(in crate::judge) fn status(&self) -> Option<u16> {
        status(self.response?)
    }

    /// Whether the response has a status of success.
    pub(in crate::judge) fn is_accepted(&self) -> bool {
        self.status().is_some_and(|status| (200..300).contains(&status))
    }

    /// The JSON object of a successful response.
    pub(in crate::judge) fn document(&self) -> Option<&'a Map<String, Value>> {
        self.response.filter(|_| self.is_accepted())?.json()?.as_object()
    }

    /// A parameter of the challenge in the response.
    pub(in crate::judge) fn challenge(&self, name: &str) -> Option<&'a str> {
        let challenge = header(self.response?, "www-authenticate")?;
        let start = challenge.match_indices(name).find_map(|(at, _)| {
            let is_whole = challenge[..at].chars().next_back().is_none_or(|ch| ch == ' ' || ch == ',');
            challenge[at + name.len()..].strip_prefix("=\"").filter(|_| is_whole)
        })?;
        start.split('"').next()
    }

    /// A header of the request.
    pub(in crate::judge) fn header(&self, name: &str) -> Option<&'a str> {
        header(self.request, name)
    }

    /// The URL of the request.
    pub(in crate::judge) fn url(&self) -> Option<Url> {
        let host = self.header("host")?;
        Url::parse(&format!("http://{host}{}", self.request.http.as_ref()?.path.as_deref()?)).ok()
    }

    /// The URL of the request without its query.
    pub(in crate::judge) fn location(&self) -> Option<String> {
        let host = self.header("host")?;
        Some(format!("http://{host}{}", path(self.request)?))
    }

    /// A parameter of the redirect in the response.
    pub(in crate::judge) fn redirected(&self, name: &str) -> Option<String> {
        let target = Url::parse(header(self.response?, "location")?).ok()?;
        target.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}
