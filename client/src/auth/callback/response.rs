//! Authorization responses (RFC 6749, sections 4.1.2 and 4.1.2.1; RFC 9207).

use std::collections::HashMap;

use url::{Url, form_urlencoded};

use crate::auth::credentials::Secret;

/// Maximum length of a redirect URL.
const MAX_LEN: usize = 64 * 1024;

/// A successful authorization response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationResponse {
    /// The authorization code.
    pub code: Secret,
    /// The issuer (RFC 9207).
    pub iss: Option<String>,
}

/// The outcome of an authorization request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A code.
    Granted(AuthorizationResponse),
    /// An error.
    Denied {
        /// The error code, for example `access_denied`.
        error: String,
        /// The description of the server, which is untrusted.
        description: Option<String>,
        /// The issuer.
        iss: Option<String>,
    },
}

/// The reason why a URL is not a valid response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCallback {
    /// The state is missing or different.
    #[error("`state` is missing or belongs to another login")]
    State,
    /// A parameter is repeated.
    #[error("a parameter is repeated")]
    Twice,
    /// There is neither a code nor an error.
    #[error("neither `code` nor `error` is present")]
    Empty,
    /// There are both a code and an error.
    #[error("both `code` and `error` are present")]
    Both,
    /// It is not the redirect URI.
    #[error("this is not the URL that the browser was redirected to")]
    NoAddress,
    /// It exceeds the maximum length.
    #[error("the URL is too long")]
    TooLong,
}

impl Outcome {
    /// Parses the query of a redirect.
    pub(super) fn read(query: &str, state: &str) -> Result<Self, InvalidCallback> {
        if query.len() > MAX_LEN {
            return Err(InvalidCallback::TooLong);
        }
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            // Repeated parameters are forbidden (RFC 6749, section 3.1), because two parsers might use different
            // values.
            if parameters.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(InvalidCallback::Twice);
            }
        }
        let mut take = |name: &str| parameters.remove(name).filter(|value| !value.is_empty());
        // Errors need the state too. Otherwise any web page could abort the login.
        if !take("state").is_some_and(|given| same(&given, state)) {
            return Err(InvalidCallback::State);
        }
        let iss = take("iss");
        match (take("code"), take("error")) {
            (Some(code), None) => Ok(Self::Granted(AuthorizationResponse { code: code.into(), iss })),
            (None, Some(error)) => Ok(Self::Denied { error, description: take("error_description"), iss }),
            (None, None) => Err(InvalidCallback::Empty),
            (Some(_), Some(_)) => Err(InvalidCallback::Both),
        }
    }

    /// Parses the text that the user pasted: the complete URL, or its query.
    ///
    /// # Errors
    ///
    /// If it is not a valid response. The user may try again.
    pub fn read_pasted(text: &str, redirect_uri: &Url, state: &str) -> Result<Self, InvalidCallback> {
        let text = text.trim().trim_matches(['"', '\'', '<', '>']).trim();
        if text.len() > MAX_LEN {
            return Err(InvalidCallback::TooLong);
        }
        if !text.contains("://") {
            let query = text.trim_start_matches('?');
            return if query.contains('=') { Self::read(query, state) } else { Err(InvalidCallback::NoAddress) };
        }
        let url = Url::parse(text).map_err(|_| InvalidCallback::NoAddress)?;
        let same_place = url.origin() == redirect_uri.origin() && url.path() == redirect_uri.path();
        if same_place { Self::read(url.query().unwrap_or_default(), state) } else { Err(InvalidCallback::NoAddress) }
    }
}

/// Compares in constant time.
fn same(given: &str, expected: &str) -> bool {
    given.len() == expected.len()
        && given.bytes().zip(expected.bytes()).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}
