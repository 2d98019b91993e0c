//! Renewal: one request to the authorization server, however many tasks and processes need the new token at once.
//!
//! Whoever finds a token too old takes the lock of its key, looks again, and renews only if nobody else has done so in
//! the meantime. A new refresh token replaces the old one before the lock is given back: an authorization server takes
//! a second use of a rotated refresh token for theft, and revokes the grant (OAuth 2.1, section 4.3.1).

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    credentials::{CredentialKey, Credentials, hex},
    store::{CredentialStore, StoreError},
};

/// How long a renewal may take, with all its requests. It is less than what a lock is waited for.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How long those who waited share a failure that may pass, before one of them tries again.
pub const PASSING: Duration = Duration::from_secs(5);

/// How long a refusal stands. It ends at once with new credentials.
pub const LASTING: Duration = Duration::from_secs(300);

/// A renewal failed. It is the same for all who waited for it, also in other processes: therefore it is a text, which
/// must not hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RenewalFailure {
    /// A stable kebab-case name of the kind of failure.
    pub kind: String,
    /// What happened.
    pub message: String,
    /// Whether trying again cannot help: a person has to log in.
    pub lasting: bool,
}

/// There is no good token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenewalError {
    /// There are no credentials for this server.
    #[error("no credentials are kept for {url}: `mcp-workbench client login {url}` gets some")]
    NotLoggedIn {
        /// The server.
        url: String,
    },
    /// The authorization server did not give a new token.
    #[error("the token for {url} could not be renewed: {failure}{}", remedy(url, failure))]
    Failed {
        /// The server.
        url: String,
        /// What happened.
        failure: RenewalFailure,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The renewal itself was ended: the runtime shuts down, or it panicked.
    #[error("the renewal of the token for {url} was broken off")]
    Ended {
        /// The server.
        url: String,
    },
}

impl RenewalError {
    /// A stable name of the kind of failure.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::NotLoggedIn { .. } => "needs-login",
            Self::Failed { failure, .. } => &failure.kind,
            Self::Store(error) => error.kind(),
            Self::Ended { .. } => "renewal-ended",
        }
    }

    /// Whether a person has to log in.
    #[must_use]
    pub fn needs_login(&self) -> bool {
        matches!(self, Self::NotLoggedIn { .. } | Self::Failed { failure: RenewalFailure { lasting: true, .. }, .. })
    }
}

fn remedy(url: &str, failure: &RenewalFailure) -> String {
    if failure.lasting { format!("; `mcp-workbench client login {url}` gets a new one") } else { String::new() }
}

/// A failure as the lock keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Remembered {
    failure: RenewalFailure,
    /// In milliseconds since 1970.
    at: u64,
    /// Of which credentials: those that a login replaced say nothing about the new ones.
    of: String,
}

impl Remembered {
    fn new(failure: RenewalFailure, of: &Credentials) -> Self {
        Self { failure, at: now(), of: fingerprint(of) }
    }

    /// The failure, if it still stands for these credentials.
    fn standing(self, of: &Credentials) -> Option<RenewalFailure> {
        let lasts = if self.failure.lasting { LASTING } else { PASSING };
        // A clock that was set back must not make a failure stand longer: then it does not stand at all.
        let age = now().checked_sub(self.at).map(Duration::from_millis)?;
        (age < lasts && self.of == fingerprint(of)).then_some(self.failure)
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Which credentials these are, without telling them: 64 bits of a hash of the tokens.
fn fingerprint(credentials: &Credentials) -> String {
    let mut hash = Sha256::new();
    hash.update(credentials.access_token.expose());
    hash.update([0]);
    hash.update(credentials.refresh_token.as_ref().map_or("", |token| token.expose()));
    hex(&hash.finalize()[..8])
}

/// Credentials that are good: those that are kept, or new ones.
///
/// `is_good` says whether an access token will do; `renew` asks the authorization server. It is asked once, however many
/// tasks and processes come at once, and the others get what it gave. A renewal that was begun is finished and kept even
/// when nobody waits for it any more: half done, it would lose a rotated refresh token. Where the answer holds no new
/// refresh token, the old one stays (RFC 6749, section 6).
///
/// # Errors
///
/// Fails if there are no credentials, the store fails, or the renewal does; then those who come shortly after, wherever
/// they are, get the same failure without another request.
pub async fn fresh<G, R, F>(
    store: Arc<dyn CredentialStore>,
    key: &CredentialKey,
    is_good: G,
    renew: R,
) -> Result<Credentials, RenewalError>
where
    G: Fn(&Credentials) -> bool + Send + 'static,
    R: FnOnce(Credentials) -> F + Send + 'static,
    F: Future<Output = Result<Credentials, RenewalFailure>> + Send + 'static,
{
    let kept = kept(&*store, key).await?;
    if is_good(&kept) {
        return Ok(kept);
    }
    let url = key.url.clone();
    let key = key.clone();
    let seen = fingerprint(&kept);
    // What another has renewed since is good enough, even where its end is near already.
    let is_good = move |now: &Credentials| is_good(now) || fingerprint(now) != seen;
    let task = tokio::spawn(async move { renew_alone(&*store, &key, is_good, renew).await });
    task.await.map_err(|_| RenewalError::Ended { url })?
}

async fn kept(store: &dyn CredentialStore, key: &CredentialKey) -> Result<Credentials, RenewalError> {
    store.load(key).await?.ok_or_else(|| RenewalError::NotLoggedIn { url: key.url.clone() })
}

async fn renew_alone<G, R, F>(
    store: &dyn CredentialStore,
    key: &CredentialKey,
    is_good: G,
    renew: R,
) -> Result<Credentials, RenewalError>
where
    G: Fn(&Credentials) -> bool + Send,
    R: FnOnce(Credentials) -> F + Send,
    F: Future<Output = Result<Credentials, RenewalFailure>> + Send,
{
    let mut lock = store.lock(key).await?;
    let old = kept(store, key).await?;
    if is_good(&old) {
        return Ok(old);
    }
    let failed = |failure| RenewalError::Failed { url: key.url.clone(), failure };
    if let Some(failure) = lock.remembered().and_then(|failure| failure.standing(&old)) {
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
            lock.remember(Some(Remembered::new(failure.clone(), &old)));
            Err(failed(failure))
        }
    }
}

fn too_slow() -> RenewalFailure {
    RenewalFailure {
        kind: "renewal-timed-out".to_owned(),
        message: format!("no answer within {LIMIT:?}"),
        lasting: false,
    }
}

#[cfg(test)]
mod tests;
