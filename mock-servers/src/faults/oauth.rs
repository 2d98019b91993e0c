//! The faults of an authorization server and of the resource that it protects.
//!
//! A fault changes a value before it is sent (a document, a redirect, a token, a challenge), replaces a response, or
//! makes the server deviate from a decision. Faults make no other decision, so any number can be combined.

mod authorization;
pub(super) mod deviation;
mod documents;
mod registration;
mod resource;
mod token;

use std::sync::atomic::{AtomicU32, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    OAuthStage::{Authorization, Discovery, Registration, Resource, Token},
    authorization::{ErrorResponse, RepeatedParameter, WrongIss, WrongRedirectTarget},
    deviation::EndlessNonce,
    documents::{
        BrokenJson, DocumentStatus, IssuerMismatch, OversizedDocument, RedirectedDocument, SlowDocument,
        UntrustedEndpoint, WrongAuthorizationServers, WrongContentType, WrongResource,
    },
    registration::{ChangedRegistration, RegistrationRefused},
    resource::{MalformedChallenge, UntrustedMetadataUrl},
    token::{
        ExtraScope, RedirectedToken, ReducedScope, SlowToken, TokenRefused, WrongAudience, WrongExpiresIn,
        WrongIssuedTokenType, WrongTokenType,
    },
};
use super::{FaultHooks, set::any};
use crate::oauth_messages::GrantType;

fault_set! {
    /// A deviation of an authorization server or of the resource that it protects.
    OAuthFault: OAuthStage {
        documents::WrongAuthorizationServers(WrongAuthorizationServers, any) => Discovery;
        documents::WrongResource(WrongResource, any)                     => Discovery;
        documents::BrokenJson(BrokenJson, any)                           => Discovery;
        token::BrokenTokenResponse                                       => Token;
        registration::ChangedRegistration(ChangedRegistration, any)      => Registration;
        deviation::CodeAcceptedTwice                                     => Token;
        authorization::CodeAndError                                      => Authorization;
        deviation::InvalidRefreshToken                                   => Token;
        documents::DocumentStatus(DocumentStatus, any)                   => Discovery;
        deviation::EndlessNonce(EndlessNonce, any)                       => Token;
        documents::UntrustedEndpoint(UntrustedEndpoint, any)             => Discovery;
        authorization::ErrorResponse(ErrorResponse, any)                 => Authorization;
        token::WrongExpiresIn(WrongExpiresIn, any)                       => Token;
        token::WrongAudience(WrongAudience, any)                         => Token;
        documents::OversizedDocument(OversizedDocument, any)             => Discovery;
        deviation::PkceNotVerified                                       => Token;
        documents::IssuerMismatch(IssuerMismatch, any)                   => Discovery;
        resource::MalformedChallenge(MalformedChallenge, any)            => Resource;
        resource::UntrustedMetadataUrl(UntrustedMetadataUrl, any)        => Resource;
        resource::MissingChallenge                                       => Resource;
        authorization::MissingIss                                        => Authorization;
        authorization::MissingState                                      => Authorization;
        token::ReducedScope(ReducedScope, any)                           => Token;
        token::NoExpiresIn                                               => Token;
        documents::PkceNotAdvertised                                     => Discovery;
        documents::PlainPkce                                             => Discovery;
        authorization::WrongRedirectTarget(WrongRedirectTarget, any)     => Authorization;
        documents::RedirectedDocument(RedirectedDocument, any)           => Discovery;
        token::RedirectedToken(RedirectedToken, any)                     => Token;
        registration::RegistrationRefused(RegistrationRefused, any)      => Registration;
        registration::RegistrationWithoutId                              => Registration;
        authorization::RepeatedParameter(RepeatedParameter, any)         => Authorization;
        deviation::DuplicateCode                                         => Authorization;
        documents::SlowDocument(SlowDocument, any)                       => Discovery;
        token::SlowToken(SlowToken, any)                                 => Token;
        token::TokenRefused(TokenRefused, any)                           => Token;
        deviation::TokensRejected                                        => Resource;
        deviation::DpopNotBound                                          => Token;
        deviation::InvalidTokenSignature                                 => Token;
        token::ExtraScope(ExtraScope, any)                               => Token;
        documents::WrongContentType(WrongContentType, any)               => Discovery;
        authorization::WrongIss(WrongIss, any)                           => Authorization;
        token::WrongIssuedTokenType(WrongIssuedTokenType, any)           => Token;
        authorization::WrongState                                        => Authorization;
        token::WrongTokenType(WrongTokenType, any)                       => Token;
    }
}

/// The classification of an OAuth fault: the part of the flow that it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthStage {
    /// The documents that describe the server, the resource and the keys.
    Discovery,
    /// The registration of a client.
    Registration,
    /// The authorization response.
    Authorization,
    /// The token, and the response of the token endpoint.
    Token,
    /// The resource's decision about a request, and its challenge.
    Resource,
}

/// The parts of a token request that a fault can depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenRequest<'a> {
    pub(crate) grant: &'a str,
    pub(crate) scopes: &'a [String],
}

/// A fault and how often it is injected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct OAuthFaultRule {
    /// The fault.
    pub fault: OAuthFault,
    /// The number of injections [default: unlimited].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The number of opportunities to skip before the first injection.
    #[serde(default)]
    pub after: u32,
}

impl From<OAuthFault> for OAuthFaultRule {
    fn from(fault: OAuthFault) -> Self {
        Self { fault, times: None, after: 0 }
    }
}

/// The fault rules of a script, each with the number of its opportunities so far.
#[derive(Debug)]
pub(crate) struct OAuthFaults(Vec<(OAuthFaultRule, AtomicU32)>);

impl OAuthFaults {
    pub(crate) fn new(rules: &[OAuthFaultRule]) -> Self {
        Self(rules.iter().map(|rule| (rule.clone(), AtomicU32::new(0))).collect())
    }

    /// Applies every fault to a value. An opportunity is a value that the fault changes.
    pub(crate) fn apply<T: Clone + PartialEq>(&self, value: &mut T, apply: impl Fn(&dyn FaultHooks, &mut T)) {
        for (rule, opportunities) in &self.0 {
            let mut changed = value.clone();
            apply(rule.fault.hooks(), &mut changed);
            if changed != *value && is_due(rule, opportunities) {
                *value = changed;
            }
        }
    }

    /// The response of the first fault that replaces the server's.
    pub(crate) fn replacement<T>(&self, respond: impl Fn(&dyn FaultHooks) -> Option<T>) -> Option<T> {
        let due = |(rule, opportunities): &(OAuthFaultRule, AtomicU32)| {
            respond(rule.fault.hooks()).filter(|_| is_due(rule, opportunities))
        };
        self.0.iter().find_map(due)
    }

    /// Whether a fault makes the server deviate in this way.
    pub(crate) fn deviates(&self, deviation: deviation::Deviation) -> bool {
        self.0.iter().any(|(rule, opportunities)| rule.fault.hooks().deviates(deviation) && is_due(rule, opportunities))
    }
}

fn is_due(rule: &OAuthFaultRule, opportunities: &AtomicU32) -> bool {
    let before = opportunities.fetch_add(1, Ordering::SeqCst);
    before >= rule.after && rule.times.is_none_or(|times| before - rule.after < times)
}

/// The issuer of a faulty document or response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WrongIssuer {
    /// Another server.
    #[default]
    Stranger,
    /// The issuer with a slash at its end: equal only after normalization, which is forbidden (RFC 9207 section 2.4).
    TrailingSlash,
    /// The issuer with its scheme in upper case: equal only after normalization.
    UpperCase,
    /// The issuer with the first dot of its host as an escape: equal only after normalization.
    Escaped,
    /// Another tenant of the same origin.
    Neighbour,
    /// Exactly this text.
    Text(String),
}

impl WrongIssuer {
    fn for_issuer(&self, issuer: &str) -> String {
        match self {
            Self::Stranger => "https://evil.example.com".to_owned(),
            Self::TrailingSlash => format!("{issuer}/"),
            Self::UpperCase => issuer.replacen("http", "HTTP", 1),
            Self::Escaped => issuer.replacen('.', "%2E", 1),
            Self::Neighbour => format!("{issuer}/other-tenant"),
            Self::Text(text) => text.clone(),
        }
    }
}
