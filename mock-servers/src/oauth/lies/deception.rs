//! Where a lie can be told.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::oauth::{answer::Answer, guard::Challenge};

/// A lie, in the places where it makes a difference. The default is the truth.
pub(crate) trait Deception: fmt::Debug {
    /// Changes the metadata of an authorization server, whose issuer is given.
    fn metadata(&self, _issuer: &str, _document: &mut Map<String, Value>) {}
    /// Changes the metadata of a protected resource.
    fn resource_metadata(&self, _document: &mut Map<String, Value>) {}
    /// Changes how a document is answered.
    fn document(&self, _which: Document, _answer: &mut Answer) {}
    /// Answers a registration instead of the server.
    fn refuse_registration(&self) -> Option<Answer> {
        None
    }
    /// Changes the answer to a registration.
    fn registration(&self, _body: &mut Map<String, Value>) {}
    /// Changes an authorization response.
    fn redirect(&self, _redirect: &mut Redirect) {}
    /// Answers a token request instead of the server.
    fn refuse_token(&self, _facts: &TokenFacts<'_>) -> Option<Answer> {
        None
    }
    /// Changes the claims of an access token.
    fn claims(&self, _claims: &mut Map<String, Value>) {}
    /// Changes the body of a token response.
    fn token_response(&self, _body: &mut Map<String, Value>) {}
    /// Changes what the identity provider answers for an ID token.
    fn exchange_response(&self, _body: &mut Map<String, Value>) {}
    /// Changes how a token response is answered.
    fn token_answer(&self, _answer: &mut Answer) {}
    /// Changes a challenge of the resource.
    fn challenge(&self, _challenge: &mut Challenge) {}
    /// Permits what a good server would refuse, or does not do what it would.
    fn permits(&self, _what: Permit) -> bool {
        false
    }
}

/// What is permitted, or left undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    /// A code may be used again.
    UsedCode,
    /// The code that was issued last is issued again.
    SameCode,
    /// The verifier is not compared with the challenge.
    AnyVerifier,
    /// `plain` is a method, and advertised as the only one.
    PlainChallenge,
    /// A refresh token that is issued is dead at once.
    DeadRefresh,
    /// A proof is checked, and the token bound to nothing.
    UnboundToken,
    /// The token is signed by somebody else.
    ForeignSignature,
    /// The token endpoint asks for another nonce, whichever is presented.
    EndlessServerNonce,
    /// The resource does.
    EndlessResourceNonce,
    /// The resource refuses a good token.
    RejectToken,
}

/// A document that can be lied about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Document {
    /// The metadata of the authorization server (RFC 8414), and of an OpenID provider.
    #[default]
    AuthorizationServer,
    /// The metadata of the protected resource (RFC 9728).
    ProtectedResource,
    /// The public keys.
    Jwks,
}

/// How a false issuer differs from the true one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forgery {
    /// Another server altogether.
    #[default]
    Stranger,
    /// The same with a slash at its end: equal if normalised, but it must not be (RFC 9207 section 2.4).
    TrailingSlash,
    /// The same in upper case, as far as the scheme: equal if normalised.
    UpperCase,
    /// Another tenant of the same origin.
    Neighbour,
    /// Exactly this text.
    Text(String),
}

impl Forgery {
    pub(crate) fn of(&self, issuer: &str) -> String {
        match self {
            Self::Stranger => "https://evil.example.com".to_owned(),
            Self::TrailingSlash => format!("{issuer}/"),
            Self::UpperCase => issuer.replacen("http", "HTTP", 1),
            Self::Neighbour => format!("{issuer}/other-tenant"),
            Self::Text(text) => text.clone(),
        }
    }
}

/// What a lie about a token response may depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenFacts<'a> {
    pub(crate) grant: &'a str,
    pub(crate) scopes: &'a [String],
}

/// An authorization response on its way to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) target: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) issuer: String,
}

impl Redirect {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.remove(name);
        self.params.push((name.to_owned(), value.into()));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.params.retain(|(key, _)| key != name);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.params.iter().any(|(key, _)| key == name)
    }
}
