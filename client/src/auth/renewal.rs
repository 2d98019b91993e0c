//! Token renewal: one request, even if many tasks and processes need the new token at the same time.
//!
//! A task with an expired token locks its key, reads the store again, and renews only if necessary. The new refresh
//! token is stored before the lock is released: authorization servers treat a second use of a rotated refresh token as
//! theft and revoke the grant (OAuth 2.1, section 4.3.1).

use std::{future::Future, sync::Arc, time::Duration};

pub use super::renewal_failure::{PERMANENT_FAILURE_LIFETIME, RenewalFailure, TEMPORARY_FAILURE_LIFETIME};
use super::{
    credentials::{CredentialKey, Credentials},
    renewal_failure::{SharedFailure, fingerprint},
    store::{CredentialStore, StoreError},
};

/// Timeout of a renewal with all its requests. It is shorter than that of a lock.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The reason for a missing token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenewalError {
    /// There are no credentials for this server.
    #[error("not logged in to {url}: run `mcp-workbench client login {url}`")]
    NotLoggedIn {
        /// The URL of the server.
        url: String,
    },
    /// The authorization server rejected the renewal.
    #[error("cannot renew the token for {url}: {failure}{}", remedy(url, failure))]
    Failed {
        /// The URL of the server.
        url: String,
        /// The failure.
        failure: RenewalFailure,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The renewal was aborted: the runtime is shutting down, or it panicked.
    #[error("the renewal of the token for {url} was aborted")]
    Ended {
        /// The URL of the server.
        url: String,
    },
}

impl RenewalError {
    /// A stable name of the kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::NotLoggedIn { .. } => "needs-login",
            Self::Failed { failure, .. } => &failure.kind,
            Self::Store(error) => error.kind(),
            Self::Ended { .. } => "renewal-ended",
        }
    }

    /// Whether the user has to log in.
    #[must_use]
    pub fn needs_login(&self) -> bool {
        matches!(self, Self::NotLoggedIn { .. } | Self::Failed { failure: RenewalFailure { permanent: true, .. }, .. })
    }
}

fn remedy(url: &str, failure: &RenewalFailure) -> String {
    if failure.permanent { format!("; run `mcp-workbench client login {url}`") } else { String::new() }
}

/// Returns valid credentials: the stored ones, or renewed ones.
///
/// `is_valid` decides whether an access token is valid; `renew` sends the request. It is called once for all concurrent
/// tasks and processes. A renewal is completed and stored even if no task waits for it any more, because a rotated
/// refresh token would be lost otherwise. If the response has no refresh token, the old one is kept (RFC 6749, section
/// 6).
///
/// # Errors
///
/// If there are no credentials, or the store or the renewal fails. Later callers share the failure for a while.
pub async fn fresh<G, R, F>(
    store: Arc<dyn CredentialStore>,
    key: &CredentialKey,
    is_valid: G,
    renew: R,
) -> Result<Credentials, RenewalError>
where
    G: Fn(&Credentials) -> bool + Send + 'static,
    R: FnOnce(Credentials) -> F + Send + 'static,
    F: Future<Output = Result<Credentials, RenewalFailure>> + Send + 'static,
{
    let kept = kept(&*store, key).await?;
    if is_valid(&kept) {
        return Ok(kept);
    }
    let url = key.url.clone();
    let key = key.clone();
    let seen = fingerprint(&kept);
    // A token that was renewed in the meantime is used even if it expires soon.
    let is_valid = move |now: &Credentials| is_valid(now) || fingerprint(now) != seen;
    let task = tokio::spawn(async move { renew_alone(&*store, &key, is_valid, renew).await });
    task.await.map_err(|_| RenewalError::Ended { url })?
}

async fn kept(store: &dyn CredentialStore, key: &CredentialKey) -> Result<Credentials, RenewalError> {
    store.load(key).await?.ok_or_else(|| RenewalError::NotLoggedIn { url: key.url.clone() })
}

async fn renew_alone<G, R, F>(
    store: &dyn CredentialStore,
    key: &CredentialKey,
    is_valid: G,
    renew: R,
) -> Result<Credentials, RenewalError>
where
    G: Fn(&Credentials) -> bool + Send,
    R: FnOnce(Credentials) -> F + Send,
    F: Future<Output = Result<Credentials, RenewalFailure>> + Send,
{
    let mut lock = store.lock(key).await?;
    let old = kept(store, key).await?;
    if is_valid(&old) {
        return Ok(old);
    }
    let failed = |failure| RenewalError::Failed { url: key.url.clone(), failure };
    if let Some(failure) = lock.remembered().and_then(|failure| failure.if_current(&old)) {
        return Err(failed(failure));
    }
    match tokio::time::timeout(LIMIT, renew(old.clone())).await.unwrap_or_else(|_| Err(too_slow())) {
        Ok(mut new) => {
            new.refresh_token = new.refresh_token.or(old.refresh_token);
            store.save(key, &new).await?;
            lock.remember(None);
            Ok(new)
        }
        Err(failure) => {
            lock.remember(Some(SharedFailure::new(failure.clone(), &old)));
            Err(failed(failure))
        }
    }
}

fn too_slow() -> RenewalFailure {
    RenewalFailure {
        kind: "renewal-timed-out".to_owned(),
        message: format!("no response within {LIMIT:?}"),
        permanent: false,
    }
}

#[cfg(test)]
mod tests;
