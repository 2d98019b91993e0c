//! Faults that change a decision of the authorization server or of the resource.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::faults::FaultHooks;

/// A deviation from a decision of a conforming server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deviation {
    /// A code can be used again.
    UsedCode,
    /// The code that was issued last is issued again.
    DuplicateCode,
    /// The verifier is not compared with the challenge.
    PkceNotVerified,
    /// `plain` is a method.
    PlainChallenge,
    /// A new refresh token is invalid.
    InvalidRefreshToken,
    /// A valid proof does not bind the token.
    DpopNotBound,
    /// The token is signed with another key.
    InvalidTokenSignature,
    /// The token endpoint requires another nonce than the presented one.
    EndlessServerNonce,
    /// The resource requires another nonce than the presented one.
    EndlessResourceNonce,
    /// The resource rejects a valid token.
    RejectToken,
}

/// Declares faults without parameters that consist of one deviation.
macro_rules! deviations {
    ($($(#[doc = $doc:literal])* $Fault:ident => $deviation:ident;)*) => {
        $(
            $(#[doc = $doc])*
            #[derive(JsonSchema)]
            pub(super) struct $Fault;

            impl FaultHooks for $Fault {
                fn deviates(&self, deviation: Deviation) -> bool {
                    deviation == Deviation::$deviation
                }
            }
        )*
    };
}

deviations! {
    /// Accepts a code twice, which is forbidden (RFC 6749 section 4.1.2).
    CodeAcceptedTwice => UsedCode;
    /// Sends the same code in two authorization responses.
    DuplicateCode => DuplicateCode;
    /// Accepts any code verifier, or none, so that a stolen code can be used.
    PkceNotVerified => PkceNotVerified;
    /// Issues an invalid refresh token.
    InvalidRefreshToken => InvalidRefreshToken;
    /// Issues a token without binding it to the key that the client proved (RFC 9449 section 5).
    DpopNotBound => DpopNotBound;
    /// Signs the token with an unknown key, so that the resource rejects it.
    InvalidTokenSignature => InvalidTokenSignature;
    /// Rejects valid tokens at the resource.
    TokensRejected => RejectToken;
}

/// Requires another nonce, whatever nonce a DPoP proof contains.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct EndlessNonce {
    /// Whether the resource requires it, and not the token endpoint.
    #[serde(default)]
    pub at_resource: bool,
}

impl FaultHooks for EndlessNonce {
    fn deviates(&self, deviation: Deviation) -> bool {
        deviation == if self.at_resource { Deviation::EndlessResourceNonce } else { Deviation::EndlessServerNonce }
    }
}
