//! The credentials of this process and of the store: loading, renewing, replacing.

use std::sync::Arc;

use url::Url;

use super::{Held, Inner};
use crate::auth::{
    credentials::Credentials,
    error::AuthFailure,
    renewal::{self, RenewalError, RenewalFailure},
    settings::Grant,
    store::StoreError,
};

impl Inner {
    /// What is held, asked of the store the first time.
    pub(super) async fn held(&self) -> Result<Option<Arc<Held>>, AuthFailure> {
        {
            let session = self.session();
            if session.loaded {
                return Ok(session.held.clone());
            }
        }
        self.reload().await
    }

    /// What the store holds now.
    pub(super) async fn reload(&self) -> Result<Option<Arc<Held>>, AuthFailure> {
        let kept = self.store.load(&self.key).await.map_err(of_store)?;
        let held = kept.and_then(Held::new).map(Arc::new);
        let mut session = self.session();
        session.loaded = true;
        session.held.clone_from(&held);
        Ok(held)
    }

    /// Credentials that are good for a request; none where there is nothing to show.
    pub(super) async fn good(self: &Arc<Self>) -> Result<Option<Arc<Held>>, AuthFailure> {
        let Some(held) = self.held().await? else { return Ok(None) };
        if held.is_good() {
            return Ok(Some(held));
        }
        match self.renewed(|credentials| credentials.is_good()).await {
            Ok(held) => Ok(Some(held)),
            // It was renewed early: what is left of the old token will do.
            Err(_) if held.is_alive() => Ok(Some(held)),
            // The request goes without a token, and the refusal says what is wanted now.
            Err(AuthFailure::LoginRequired { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Renewed credentials: those that somebody else has got in the meantime, or new ones.
    pub(super) async fn renewed(
        self: &Arc<Self>,
        is_good: impl Fn(&Credentials) -> bool + Send + 'static,
    ) -> Result<Arc<Held>, AuthFailure> {
        let this = Arc::clone(self);
        let renew = move |old: Credentials| async move { this.renew(old).await };
        let fresh = renewal::fresh(Arc::clone(&self.store), &self.key, is_good, renew).await;
        let credentials = fresh.map_err(|error| match error {
            RenewalError::Store(error) => of_store(error),
            error if error.needs_login() => AuthFailure::LoginRequired { reason: reason(&error) },
            error => AuthFailure::Renewal { problem: reason(&error) },
        })?;
        self.hold(credentials)
    }

    /// Holds credentials that are kept already.
    fn hold(&self, credentials: Credentials) -> Result<Arc<Held>, AuthFailure> {
        let unusable = || AuthFailure::LoginRequired { reason: "what is kept cannot be used".to_owned() };
        let held = Arc::new(Held::new(credentials).ok_or_else(unusable)?.just_had());
        let mut session = self.session();
        session.loaded = true;
        session.held = Some(Arc::clone(&held));
        Ok(held)
    }

    /// Keeps new credentials, and holds them.
    pub(super) async fn keep(&self, credentials: Credentials) -> Result<Arc<Held>, AuthFailure> {
        self.store.save(&self.key, &credentials).await.map_err(of_store)?;
        self.hold(credentials)
    }

    /// Forgets everything that was granted. Says whether there was anything.
    pub(super) async fn forget(&self) -> Result<bool, AuthFailure> {
        let removed = self.store.remove(&self.key).await.map_err(of_store)?;
        let mut session = self.session();
        session.held = None;
        session.asked.clear();
        session.step_ups.clear();
        Ok(removed)
    }

    async fn renew(self: Arc<Self>, old: Credentials) -> Result<Credentials, RenewalFailure> {
        let renewed = match &self.settings.grant {
            Grant::AuthorizationCode => self.refresh(&old).await,
            _ => self.machine_again(&old).await,
        };
        renewed.map_err(|failure| {
            if let AuthFailure::Token { error, .. } = &failure
                && matches!(error.as_str(), "invalid_client" | "unauthorized_client")
            {
                self.session().forgotten_client = Some(old.client.id.clone());
            }
            RenewalFailure { kind: failure.kind().to_owned(), message: failure.to_string(), lasting: lasts(&failure) }
        })
    }
}

/// Whether trying again cannot help.
fn lasts(failure: &AuthFailure) -> bool {
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

pub(super) fn of_store(error: StoreError) -> AuthFailure {
    AuthFailure::Store { source: Arc::new(error) }
}

/// The token endpoint of kept credentials.
pub(super) fn endpoint(credentials: &Credentials) -> Result<Url, AuthFailure> {
    Url::parse(&credentials.token_endpoint)
        .map_err(|_| AuthFailure::LoginRequired { reason: "the token endpoint that is kept is no URL".to_owned() })
}
