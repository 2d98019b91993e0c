//! What an authorization response says (RFC 6749, sections 4.1.2 and 4.1.2.1; RFC 9207).

use std::collections::HashMap;

use url::{Url, form_urlencoded};

use crate::auth::credentials::Secret;

/// More than an address of this kind needs.
const LONGEST: usize = 64 * 1024;

/// The server granted the authorization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What a token is had for.
    pub code: Secret,
    /// Who says that it answered (RFC 9207).
    pub iss: Option<String>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A code.
    Granted(Answer),
    /// None.
    Denied {
        /// The code of the error, as `access_denied`.
        error: String,
        /// What the server says about it: hostile text.
        description: Option<String>,
        /// Who says that it answered.
        iss: Option<String>,
    },
}

/// A text is no answer to this authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The state is missing or another one.
    #[error("the `state` is not the one of this authorization")]
    State,
    /// A parameter is there twice.
    #[error("a parameter is there twice")]
    Twice,
    /// There is neither a code nor an error.
    #[error("there is neither a `code` nor an `error`")]
    Empty,
    /// There are both.
    #[error("there are a `code` and an `error`")]
    Both,
    /// It is not an address.
    #[error("this is not the address that the browser was sent to")]
    NoAddress,
    /// It is too long.
    #[error("this is too long")]
    TooLong,
}

impl Outcome {
    /// Reads the query of a redirect.
    pub(super) fn read(query: &str, state: &str) -> Result<Self, Refused> {
        if query.len() > LONGEST {
            return Err(Refused::TooLong);
        }
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            // Parameters must not be there more than once (RFC 6749, section 3.1): two readers might take different ones.
            if parameters.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(Refused::Twice);
            }
        }
        let mut take = |name: &str| parameters.remove(name).filter(|value| !value.is_empty());
        // An error needs the state too: without it any page could end this authorization.
        if !take("state").is_some_and(|given| same(&given, state)) {
            return Err(Refused::State);
        }
        let iss = take("iss");
        match (take("code"), take("error")) {
            (Some(code), None) => Ok(Self::Granted(Answer { code: code.into(), iss })),
            (None, Some(error)) => Ok(Self::Denied { error, description: take("error_description"), iss }),
            (None, None) => Err(Refused::Empty),
            (Some(_), Some(_)) => Err(Refused::Both),
        }
    }

    /// Reads what a person pasted: the whole address that the browser shows, or what follows its question mark.
    ///
    /// # Errors
    ///
    /// Fails if it is no answer to this authorization; then another try is as good.
    pub fn read_pasted(text: &str, redirect_uri: &Url, state: &str) -> Result<Self, Refused> {
        let text = text.trim().trim_matches(['"', '\'', '<', '>']).trim();
        if text.len() > LONGEST {
            return Err(Refused::TooLong);
        }
        if !text.contains("://") {
            let query = text.trim_start_matches('?');
            return if query.contains('=') { Self::read(query, state) } else { Err(Refused::NoAddress) };
        }
        let url = Url::parse(text).map_err(|_| Refused::NoAddress)?;
        let same_place = url.origin() == redirect_uri.origin() && url.path() == redirect_uri.path();
        if same_place { Self::read(url.query().unwrap_or_default(), state) } else { Err(Refused::NoAddress) }
    }
}

/// Compares without telling by its time how much was right.
fn same(given: &str, expected: &str) -> bool {
    given.len() == expected.len()
        && given.bytes().zip(expected.bytes()).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}
