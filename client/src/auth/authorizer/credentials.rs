//! Credentials of this process and of the store: loads, renews and replaces them.

use std::sync::Arc;

use url::Url;

use super::{ActiveCredentials, Inner};
use crate::auth::{
    credentials::Credentials,
    error::AuthFailure,
    renewal::{self, RenewalError, RenewalFailure},
    settings::Grant,
    store::StoreError,
};

impl Inner {
    /// The credentials in use, loaded from the store the first time.
    pub(super) async fn stored(&self) -> Result<Option<Arc<ActiveCredentials>>, AuthFailure> {
        {
            let session = self.session();
            if session.loaded {
                return Ok(session.stored.clone());
            }
        }
        self.reload().await
    }

    /// Loads the credentials from the store.
    pub(super) async fn reload(&self) -> Result<Option<Arc<ActiveCredentials>>, AuthFailure> {
        let kept = self.store.load(&self.key).await.map_err(store_failure)?;
        let stored = kept.and_then(ActiveCredentials::new).map(Arc::new);
        let mut session = self.session();
        session.loaded = true;
        session.stored.clone_from(&stored);
        Ok(stored)
    }

    /// Usable credentials for a request, if there are any.
    pub(super) async fn valid(self: &Arc<Self>) -> Result<Option<Arc<ActiveCredentials>>, AuthFailure> {
        let Some(stored) = self.stored().await? else { return Ok(None) };
        if stored.is_valid() {
            return Ok(Some(stored));
        }
        match self.renewed(|credentials| credentials.is_valid()).await {
            Ok(stored) => Ok(Some(stored)),
            // The token was renewed early, and is still valid.
            Err(_) if stored.is_alive() => Ok(Some(stored)),
            // The request is sent without a token, and the response contains a challenge.
            Err(AuthFailure::LoginRequired { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Renewed credentials: new ones, or those that another task or process obtained in the meantime.
    pub(super) async fn renewed(
        self: &Arc<Self>,
        is_valid: impl Fn(&Credentials) -> bool + Send + 'static,
    ) -> Result<Arc<ActiveCredentials>, AuthFailure> {
        let this = Arc::clone(self);
        let renew = move |old: Credentials| async move { this.renew(old).await };
        let fresh = renewal::fresh(Arc::clone(&self.store), &self.key, is_valid, renew).await;
        let credentials = fresh.map_err(|error| match error {
            RenewalError::Store(error) => store_failure(error),
            error if error.needs_login() => AuthFailure::LoginRequired { reason: reason(&error) },
            error => AuthFailure::Renewal { problem: reason(&error) },
        })?;
        self.hold(credentials)
    }

    /// Uses stored credentials.
    fn hold(&self, credentials: Credentials) -> Result<Arc<ActiveCredentials>, AuthFailure> {
        let unusable = || AuthFailure::LoginRequired { reason: "the stored credentials are invalid".to_owned() };
        let stored = Arc::new(ActiveCredentials::new(credentials).ok_or_else(unusable)?.into_fresh());
        let mut session = self.session();
        session.loaded = true;
        session.stored = Some(Arc::clone(&stored));
        Ok(stored)
    }

    /// Stores and uses new credentials.
    pub(super) async fn keep(&self, credentials: Credentials) -> Result<Arc<ActiveCredentials>, AuthFailure> {
        self.store.save(&self.key, &credentials).await.map_err(store_failure)?;
        self.hold(credentials)
    }

    /// Removes the credentials. Returns whether there were any.
    pub(super) async fn delete_credentials(&self) -> Result<bool, AuthFailure> {
        let removed = self.store.remove(&self.key).await.map_err(store_failure)?;
        let mut session = self.session();
        session.stored = None;
        session.requested_scopes.clear();
        session.step_ups.clear();
        Ok(removed)
    }

    async fn renew(self: Arc<Self>, old: Credentials) -> Result<Credentials, RenewalFailure> {
        let renewed = match &self.settings.grant {
            Grant::AuthorizationCode => self.refresh(&old).await,
            _ => self.renew_without_user(&old).await,
        };
        renewed.map_err(|failure| {
            if let AuthFailure::Token { error, .. } = &failure
                && matches!(error.as_str(), "invalid_client" | "unauthorized_client")
            {
                self.session().forgotten_client = Some(old.client.id.clone());
            }
            RenewalFailure {
                kind: failure.kind().to_owned(),
                message: failure.to_string(),
                permanent: is_permanent(&failure),
            }
        })
    }
}

/// Whether a retry cannot help.
fn is_permanent(failure: &AuthFailure) -> bool {
    match failure {
        AuthFailure::LoginRequired { .. } => true,
        AuthFailure::Token { error, .. } => {
            let passes = ["temporarily_unavailable", "server_error", "slow_down", "use_dpop_nonce"];
            !error.starts_with("HTTP status") && !passes.contains(&error.as_str())
        }
        _ => false,
    }
}

fn reason(error: &RenewalError) -> String {
    match error {
        RenewalError::Failed { failure, .. } => failure.message.clone(),
        other => other.to_string(),
    }
}

pub(super) fn store_failure(error: StoreError) -> AuthFailure {
    AuthFailure::Store { source: Arc::new(error) }
}

/// The token endpoint of stored credentials.
pub(super) fn endpoint(credentials: &Credentials) -> Result<Url, AuthFailure> {
    Url::parse(&credentials.token_endpoint)
        .map_err(|_| AuthFailure::LoginRequired { reason: "the stored token endpoint is not a URL".to_owned() })
}
