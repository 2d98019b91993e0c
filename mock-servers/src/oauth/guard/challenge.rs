//! How a refusal is told: status, `WWW-Authenticate`, and a body for those who look there.

use axum::body::Body as HttpBody;
use http::Response;
use serde_json::{Value, json};

use crate::oauth::{
    answer::Answer,
    script::{Dpop, DpopMode},
};

const HEADER: &str = "www-authenticate";
const METADATA: &str = "resource_metadata=\"";

/// The answer to a request that may not pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Challenge {
    /// The HTTP status: 400, 401 or 403.
    pub status: u16,
    /// The headers, `www-authenticate` among them, in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, which is JSON.
    pub body: Value,
}

/// What a challenge has to say.
#[derive(Debug, Default)]
pub(super) struct Wording {
    status: u16,
    error: Option<&'static str>,
    description: &'static str,
    nonce: Option<String>,
    /// Whether it is about DPoP, and nothing else will do.
    is_dpop: bool,
    /// The scopes that are needed, where that is the matter.
    pub(super) scopes: Option<Vec<String>>,
    /// Whether the client showed nothing yet, so that it is told where to begin.
    pub(super) is_first: bool,
}

impl Wording {
    /// Without a token there is no error to tell (RFC 6750 section 3.1).
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
    pub(super) fn new(wording: &Wording, scopes: &[String], metadata: Option<&str>, dpop: &Dpop) -> Self {
        let mut params = Vec::new();
        if let Some(error) = wording.error {
            params.push(format!("error=\"{error}\""));
            params.push(format!("error_description=\"{}\"", wording.description));
        }
        if !scopes.is_empty() {
            params.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        params.extend(metadata.map(|url| format!("{METADATA}{url}\"")));
        let schemes: &[&str] = match dpop.mode {
            DpopMode::Required => &["DPoP"],
            _ if wording.is_dpop => &["DPoP"],
            DpopMode::Optional => &["DPoP", "Bearer"],
            DpopMode::Off => &["Bearer"],
        };
        let algs = (dpop.mode != DpopMode::Off).then(|| format!("algs=\"{}\"", dpop.algs.join(" ")));
        let mut headers: Vec<_> = schemes
            .iter()
            .map(|scheme| {
                let extra = algs.iter().filter(|_| *scheme == "DPoP").cloned();
                let all: Vec<_> = params.iter().cloned().chain(extra).collect();
                (HEADER.to_owned(), format!("{scheme} {}", all.join(", ")).trim_end().to_owned())
            })
            .collect();
        headers.extend(wording.nonce.iter().map(|nonce| ("dpop-nonce".to_owned(), nonce.clone())));
        let body = json!({
            "error": wording.error.unwrap_or("unauthorized"),
            "error_description": if wording.description.is_empty() { "a token is needed" } else { wording.description },
        });
        Self { status: wording.status, headers, body }
    }

    /// Lets the challenge point to metadata at another place.
    pub(crate) fn point_to(&mut self, url: &str) {
        for (name, value) in &mut self.headers {
            if name == HEADER
                && let Some((before, after)) = value.split_once(METADATA)
            {
                let rest = after.split_once('"').map_or("", |(_, rest)| rest);
                *value = format!("{before}{METADATA}{url}\"{rest}");
            }
        }
    }

    /// Lets the challenge say something else, or nothing.
    pub(crate) fn replace(&mut self, value: Option<&str>) {
        self.headers.retain(|(name, _)| name != HEADER);
        self.headers.extend(value.map(|value| (HEADER.to_owned(), value.to_owned())));
    }

    /// The challenge as an HTTP response.
    #[must_use]
    pub fn into_response(self) -> Response<HttpBody> {
        let answer = self.answer();
        let body = HttpBody::from(answer.body.clone());
        answer.head(body)
    }

    pub(crate) fn answer(self) -> Answer {
        let mut answer = Answer::json(self.status, &self.body).with("cache-control", "no-store");
        answer.headers.extend(self.headers);
        answer
    }
}
