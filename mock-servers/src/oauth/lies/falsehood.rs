//! The lies by name, as a script says them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Deception, another_authorization_server::AnotherAuthorizationServer, another_resource::AnotherResource,
    broken_json::BrokenJson, broken_token_response::BrokenTokenResponse, changed_registration::ChangedRegistration,
    code_accepted_twice::CodeAcceptedTwice, code_and_error::CodeAndError, dead_refresh_token::DeadRefreshToken,
    document_status::DocumentStatus, endless_nonce::EndlessNonce, endpoint_elsewhere::EndpointElsewhere,
    error_response::ErrorResponse, expiry_misstated::ExpiryMisstated, foreign_audience::ForeignAudience,
    huge_document::HugeDocument, ignored_verifier::IgnoredVerifier, issuer_mismatch::IssuerMismatch,
    malformed_challenge::MalformedChallenge, metadata_url_elsewhere::MetadataUrlElsewhere,
    missing_challenge::MissingChallenge, missing_iss::MissingIss, missing_state::MissingState,
    narrower_scope::NarrowerScope, no_expires_in::NoExpiresIn, pkce_not_advertised::PkceNotAdvertised,
    plain_pkce::PlainPkce, redirect_elsewhere::RedirectElsewhere, redirected_document::RedirectedDocument,
    redirected_token::RedirectedToken, registration_refused::RegistrationRefused,
    registration_without_id::RegistrationWithoutId, repeated_parameter::RepeatedParameter, same_code::SameCode,
    slow_document::SlowDocument, slow_token::SlowToken, token_refused::TokenRefused, tokens_rejected::TokensRejected,
    unbound_token::UnboundToken, unverifiable_token::UnverifiableToken, wider_scope::WiderScope,
    wrong_content_type::WrongContentType, wrong_iss::WrongIss, wrong_issued_token_type::WrongIssuedTokenType,
    wrong_state::WrongState, wrong_token_type::WrongTokenType,
};

/// Something that a good authorization server, or a good resource, would not say or do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Falsehood {
    /// The metadata of the resource names other authorization servers, or none.
    AnotherAuthorizationServer(AnotherAuthorizationServer),
    /// The metadata of the resource is that of another one, which clients must refuse (RFC 9728 section 3.3).
    AnotherResource(AnotherResource),
    /// A document ends in the middle, though its length is right.
    BrokenJson(BrokenJson),
    /// The token response is no JSON, though its status and its type say so.
    BrokenTokenResponse,
    /// Registration says that something else was registered than was asked for.
    ChangedRegistration(ChangedRegistration),
    /// A code can be used again, which it must not be (RFC 6749 section 4.1.2).
    CodeAcceptedTwice,
    /// The authorization response is a success and an error at once.
    CodeAndError,
    /// The refresh token that is issued is good for nothing.
    DeadRefreshToken,
    /// A document is answered with an error.
    DocumentStatus(DocumentStatus),
    /// Whatever nonce a DPoP proof carries, another one is asked for.
    EndlessNonce(EndlessNonce),
    /// The metadata points to an endpoint at another place: another origin, a private address, another scheme.
    EndpointElsewhere(EndpointElsewhere),
    /// The authorization response is this error, whatever the user decided.
    ErrorResponse(ErrorResponse),
    /// The token response says another lifetime than the token has.
    ExpiryMisstated(ExpiryMisstated),
    /// The token is meant for another resource than the client asked for.
    ForeignAudience(ForeignAudience),
    /// A document is of any size: its JSON is followed by blanks, which JSON allows.
    HugeDocument(HugeDocument),
    /// Any code verifier is accepted, also none: whoever steals a code can use it.
    IgnoredVerifier,
    /// The metadata names another issuer than the one that it was asked for, which clients must refuse (RFC 8414
    /// section 3.3).
    IssuerMismatch(IssuerMismatch),
    /// `WWW-Authenticate` is not what its grammar allows.
    MalformedChallenge(MalformedChallenge),
    /// The challenge points to metadata at another place: another origin, a private address, another scheme.
    MetadataUrlElsewhere(MetadataUrlElsewhere),
    /// A refusal comes without `WWW-Authenticate`, so clients have to find the metadata themselves.
    MissingChallenge,
    /// The authorization response carries no `iss` though the metadata promises it.
    MissingIss,
    /// The authorization response carries no `state` though the request did.
    MissingState,
    /// The token has fewer scopes than the response says.
    NarrowerScope(NarrowerScope),
    /// The token response does not say when the token expires.
    NoExpiresIn,
    /// The metadata says nothing of PKCE, upon which clients must refuse to go on (2025-11-25 and later,
    /// authorization code protection).
    PkceNotAdvertised,
    /// `plain` is the only PKCE method, advertised and accepted: a downgrade (RFC 9700 section 4.8).
    PlainPkce,
    /// The browser is sent to another origin with the code.
    RedirectElsewhere(RedirectElsewhere),
    /// A document is said to be elsewhere: an open redirect that leads a client to where it must not ask.
    RedirectedDocument(RedirectedDocument),
    /// The token endpoint sends the client, with its code and its secret, to another place.
    RedirectedToken(RedirectedToken),
    /// Registration fails.
    RegistrationRefused(RegistrationRefused),
    /// Registration succeeds, and says no `client_id`.
    RegistrationWithoutId,
    /// The authorization response carries a parameter twice, the second time with another value.
    RepeatedParameter(RepeatedParameter),
    /// Two authorization responses carry the same code.
    SameCode,
    /// A document comes late, or byte by byte.
    SlowDocument(SlowDocument),
    /// The token response comes late.
    SlowToken(SlowToken),
    /// The token endpoint fails: with an error of OAuth, or with a status and nothing else.
    TokenRefused(TokenRefused),
    /// The resource refuses good tokens as invalid.
    TokensRejected,
    /// A token is bound to nothing though the client proved its key (RFC 9449 section 5).
    UnboundToken,
    /// The token is signed by a key that nobody knows, so the resource refuses it.
    UnverifiableToken,
    /// The token response says more scopes than were asked for.
    WiderScope(WiderScope),
    /// A document is served as something else than JSON.
    WrongContentType(WrongContentType),
    /// The authorization response carries the issuer of another server: a mix-up (RFC 9207 section 4).
    WrongIss(WrongIss),
    /// The identity provider exchanges the ID token for something else than a grant (RFC 8693 section 2.2.1).
    WrongIssuedTokenType(WrongIssuedTokenType),
    /// The authorization response carries another `state` than the request: a forged response (RFC 6749 section
    /// 10.12).
    WrongState,
    /// The token is of a type that nobody knows, which clients must not use (RFC 6749 section 7.1).
    WrongTokenType(WrongTokenType),
}

impl Falsehood {
    /// Where the lie is told, and how.
    pub(super) fn deception(&self) -> &dyn Deception {
        match self {
            Self::AnotherAuthorizationServer(lie) => lie,
            Self::AnotherResource(lie) => lie,
            Self::BrokenJson(lie) => lie,
            Self::BrokenTokenResponse => &BrokenTokenResponse,
            Self::ChangedRegistration(lie) => lie,
            Self::CodeAcceptedTwice => &CodeAcceptedTwice,
            Self::CodeAndError => &CodeAndError,
            Self::DeadRefreshToken => &DeadRefreshToken,
            Self::DocumentStatus(lie) => lie,
            Self::EndlessNonce(lie) => lie,
            Self::EndpointElsewhere(lie) => lie,
            Self::ErrorResponse(lie) => lie,
            Self::ExpiryMisstated(lie) => lie,
            Self::ForeignAudience(lie) => lie,
            Self::HugeDocument(lie) => lie,
            Self::IgnoredVerifier => &IgnoredVerifier,
            Self::IssuerMismatch(lie) => lie,
            Self::MalformedChallenge(lie) => lie,
            Self::MetadataUrlElsewhere(lie) => lie,
            Self::MissingChallenge => &MissingChallenge,
            Self::MissingIss => &MissingIss,
            Self::MissingState => &MissingState,
            Self::NarrowerScope(lie) => lie,
            Self::NoExpiresIn => &NoExpiresIn,
            Self::PkceNotAdvertised => &PkceNotAdvertised,
            Self::PlainPkce => &PlainPkce,
            Self::RedirectElsewhere(lie) => lie,
            Self::RedirectedDocument(lie) => lie,
            Self::RedirectedToken(lie) => lie,
            Self::RegistrationRefused(lie) => lie,
            Self::RegistrationWithoutId => &RegistrationWithoutId,
            Self::RepeatedParameter(lie) => lie,
            Self::SameCode => &SameCode,
            Self::SlowDocument(lie) => lie,
            Self::SlowToken(lie) => lie,
            Self::TokenRefused(lie) => lie,
            Self::TokensRejected => &TokensRejected,
            Self::UnboundToken => &UnboundToken,
            Self::UnverifiableToken => &UnverifiableToken,
            Self::WiderScope(lie) => lie,
            Self::WrongContentType(lie) => lie,
            Self::WrongIss(lie) => lie,
            Self::WrongIssuedTokenType(lie) => lie,
            Self::WrongState => &WrongState,
            Self::WrongTokenType(lie) => lie,
        }
    }
}
