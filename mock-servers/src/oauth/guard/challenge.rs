//! The challenge of the resource: status, `WWW-Authenticate`, and a body.

use serde_json::json;

use crate::{
    oauth::script::{Dpop, DpopMode},
    oauth_messages::{CHALLENGE_HEADER, Challenge, METADATA_PARAMETER},
};

/// The content of a challenge.
#[derive(Debug, Default)]
pub(super) struct ChallengeContent {
    status: u16,
    error: Option<&'static str>,
    description: &'static str,
    nonce: Option<String>,
    /// Whether it concerns DPoP, so that only the scheme `DPoP` is offered.
    is_dpop: bool,
    /// The required scopes, if they are the reason.
    pub(super) scopes: Option<Vec<String>>,
    /// Whether the client has sent no valid token, so that the challenge names the initial scopes.
    pub(super) is_first: bool,
}

impl ChallengeContent {
    /// A request without a token gets no error code (RFC 6750 section 3.1).
    pub(super) fn first() -> Self {
        Self { status: 401, is_first: true, ..Self::default() }
    }

    pub(super) fn invalid_token(description: &'static str) -> Self {
        Self { status: 401, error: Some("invalid_token"), description, is_first: true, ..Self::default() }
    }

    pub(super) fn bad_request(description: &'static str) -> Self {
        Self { status: 400, error: Some("invalid_request"), description, ..Self::default() }
    }

    pub(super) fn invalid_proof(description: &'static str) -> Self {
        Self { status: 401, error: Some("invalid_dpop_proof"), description, is_dpop: true, ..Self::default() }
    }

    pub(super) fn nonce(nonce: String) -> Self {
        Self {
            status: 401,
            error: Some("use_dpop_nonce"),
            description: "the proof has to carry a nonce of this resource",
            nonce: Some(nonce),
            is_dpop: true,
            ..Self::default()
        }
    }

    pub(super) fn insufficient_scope(scopes: Vec<String>) -> Self {
        Self {
            status: 403,
            error: Some("insufficient_scope"),
            description: "the access token has too few scopes",
            scopes: Some(scopes),
            ..Self::default()
        }
    }
}

impl Challenge {
    pub(super) fn new(content: &ChallengeContent, scopes: &[String], metadata: Option<&str>, dpop: &Dpop) -> Self {
        let mut params = Vec::new();
        if let Some(error) = content.error {
            params.push(format!("error=\"{error}\""));
            params.push(format!("error_description=\"{}\"", content.description));
        }
        if !scopes.is_empty() {
            params.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        params.extend(metadata.map(|url| format!("{METADATA_PARAMETER}{url}\"")));
        let schemes: &[&str] = match dpop.mode {
            DpopMode::Required => &["DPoP"],
            _ if content.is_dpop => &["DPoP"],
            DpopMode::Optional => &["DPoP", "Bearer"],
            DpopMode::Off => &["Bearer"],
        };
        let algs = (dpop.mode != DpopMode::Off).then(|| format!("algs=\"{}\"", dpop.algs.join(" ")));
        let mut headers: Vec<_> = schemes
            .iter()
            .map(|scheme| {
                let extra = algs.iter().filter(|_| *scheme == "DPoP").cloned();
                let all: Vec<_> = params.iter().cloned().chain(extra).collect();
                (CHALLENGE_HEADER.to_owned(), format!("{scheme} {}", all.join(", ")).trim_end().to_owned())
            })
            .collect();
        headers.extend(content.nonce.iter().map(|nonce| ("dpop-nonce".to_owned(), nonce.clone())));
        let body = json!({
            "error": content.error.unwrap_or("unauthorized"),
            "error_description": if content.description.is_empty() { "a token is needed" } else { content.description },
        });
        Self { status: content.status, headers, body }
    }
}
