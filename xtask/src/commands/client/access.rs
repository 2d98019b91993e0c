//! What the client is allowed at servers: the store that the environment chooses, and who renews what is in it.

use std::{process::ExitCode, sync::Arc};

use client::auth::{
    AuthError, AuthSettings, Authorize, Authorizer, Browser,
    credentials::CredentialKey,
    store::{CredentialStore, Listing, StoreError, open_default},
};
use url::Url;

use super::trouble::Trouble;
use crate::failure::ENVIRONMENT;

/// The store of this user.
pub(super) fn store() -> Result<Arc<dyn CredentialStore>, Trouble> {
    Ok(open_default()?)
}

/// What authorizes requests to this server. It is known by its URL, which is therefore what `client login` is to be given.
pub(super) fn authorizer(
    url: &Url,
    key: CredentialKey,
    settings: AuthSettings,
    store: Arc<dyn CredentialStore>,
    browser: Option<Arc<dyn Browser>>,
) -> Result<Authorizer, AuthError> {
    Authorizer::new(key.url.clone(), key, url, settings, store, browser)
}

/// What authorizes a connection to this URL with what is kept. It opens no browser: a command that is not about logging in
/// does not turn into one.
pub(super) fn kept(url: &str, settings: AuthSettings) -> Result<Option<Arc<dyn Authorize>>, Trouble> {
    // A URL that is none is told by the client, and a socket has no place to log in.
    let Ok(url) = Url::parse(url) else { return Ok(None) };
    if !matches!(url.scheme(), "http" | "https") {
        return Ok(None);
    }
    let store = match open_default() {
        // Nothing can have been kept: that is no trouble for a server that asks for nothing.
        Err(StoreError::NoFolder) => return Ok(None),
        store => store?,
    };
    Ok(Some(Arc::new(authorizer(&url, CredentialKey::of_url(&url), settings, store, None)?)))
}

/// What is wrong with entries that cannot be read, for programs.
pub(super) fn broken(listing: &Listing) -> Vec<String> {
    listing.broken.iter().map(ToString::to_string).collect()
}

/// Ends a command that was about all entries: those that cannot be read make it fail, when all others are done with.
pub(super) fn told_of(listing: Listing, json: bool) -> Result<ExitCode, Trouble> {
    match listing.broken.into_iter().next() {
        // They were told with the others.
        Some(_) if json => Ok(ExitCode::from(ENVIRONMENT)),
        Some(broken) => Err(broken.into()),
        None => Ok(ExitCode::SUCCESS),
    }
}
