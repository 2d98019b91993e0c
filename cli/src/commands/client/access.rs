//! Stored credentials: the store of the user, and the authorizers that use it.

use std::{process::ExitCode, sync::Arc};

use client::auth::{
    AuthSettings, Authorizer, Browser,
    credentials::CredentialKey,
    store::{CredentialStore, Listing, open_default},
};
use url::Url;

use super::error::ClientCommandError;
use crate::error::ENVIRONMENT;

/// The credential store of the user.
pub(super) fn store() -> Result<Arc<dyn CredentialStore>, ClientCommandError> {
    Ok(open_default()?)
}

/// The authorizer of a server, which is identified by its URL.
pub(super) fn authorizer(
    url: &Url,
    key: CredentialKey,
    settings: AuthSettings,
    store: Arc<dyn CredentialStore>,
    browser: Option<Arc<dyn Browser>>,
) -> Authorizer {
    Authorizer::new(key.url.clone(), key, url, settings, store, browser)
}

/// Errors of unreadable entries.
pub(super) fn broken(listing: &Listing) -> Vec<String> {
    listing.broken.iter().map(ToString::to_string).collect()
}

/// The result of a command about all entries: unreadable entries fail it after all others are done.
pub(super) fn broken_entries_result(listing: Listing, json: bool) -> Result<ExitCode, ClientCommandError> {
    match listing.broken.into_iter().next() {
        // The JSON output contains them.
        Some(_) if json => Ok(ExitCode::from(ENVIRONMENT)),
        Some(broken) => Err(broken.into()),
        None => Ok(ExitCode::SUCCESS),
    }
}
