//! Obtains a token after a challenge: selects the flow and runs it.

use std::{borrow::Cow, sync::Arc};

use http::HeaderValue;

use super::{ActiveCredentials, Inner, SAME_SCOPES, credentials, discovery::Discovery};
use crate::auth::{
    RejectedRequest,
    challenge::Challenges,
    code,
    credentials::{ClientRegistration, CredentialKey, Credentials, RegistrationSource},
    dpop::DpopKey,
    error::AuthFailure,
    non_interactive, registration,
    scopes::{self, ScopeContext},
    settings::{AuthSettings, ConfiguredClient, Grant},
    token::{self, Granted, TokenRequest},
};

impl Inner {
    /// Obtains a token with as little user interaction as possible. The caller must have locked the flow.
    pub(super) async fn authorize(
        self: &Arc<Self>,
        challenges: &Challenges,
        rejection: Option<&RejectedRequest>,
    ) -> Result<Arc<ActiveCredentials>, AuthFailure> {
        let before = self.reload().await?;
        let found = self.discover(challenges, before.as_ref().map(|stored| &stored.credentials)).await?;
        let before = self.still_valid(before, &found).await?;
        let presented = rejection.and_then(|rejection| rejection.presented.clone());
        if let (Some(stored), Some(rejection)) = (&before, rejection) {
            if Some(&stored.header) != presented.as_ref() && stored.is_alive() {
                return Ok(Arc::clone(stored));
            }
            // Renewing a token again that was just renewed and rejected does not help.
            if rejection.status == 401
                && rejection.attempt == 1
                && let Some(renewed) = self.renewed_instead_of(stored, presented).await?
            {
                return Ok(renewed);
            }
        }
        let scopes = self.choose(challenges, &found, before.as_deref());
        self.count_step_up(challenges, rejection, &scopes)?;
        let stored = match self.settings.grant {
            Grant::AuthorizationCode => self.by_code(&found, before.as_deref(), &scopes).await?,
            _ => self.without_user(&found, before.as_deref(), &scopes).await?,
        };
        scopes::add(&mut self.session().requested_scopes, &scopes);
        Ok(stored)
    }

    /// The stored credentials, if the resource still uses their authorization server. "Clients MUST NOT reuse client
    /// credentials from a different authorization server" (2026-07-28, client registration).
    async fn still_valid(
        &self,
        before: Option<Arc<ActiveCredentials>>,
        found: &Discovery,
    ) -> Result<Option<Arc<ActiveCredentials>>, AuthFailure> {
        let Some(stored) = before else { return Ok(None) };
        let kept = &stored.credentials;
        if kept.is_of(&found.server.issuer) {
            return Ok(Some(stored));
        }
        let configured = self.settings.client.as_ref();
        let is_bound = kept.client.source == RegistrationSource::PreRegistered
            && configured.is_some_and(|client| client.id == kept.client.id && client.issuer.is_none());
        if is_bound {
            let (registered_at, now) = (kept.issuer.clone(), found.server.issuer.clone());
            return Err(AuthFailure::ServerChanged { registered_at, now });
        }
        self.delete_credentials().await?;
        Ok(None)
    }

    /// A renewed token; `None` if a new authorization is needed.
    async fn renewed_instead_of(
        self: &Arc<Self>,
        stored: &ActiveCredentials,
        presented: Option<HeaderValue>,
    ) -> Result<Option<Arc<ActiveCredentials>>, AuthFailure> {
        let by_code = matches!(self.settings.grant, Grant::AuthorizationCode);
        if by_code && stored.credentials.refresh_token.is_none() {
            return Ok(None);
        }
        let is_valid = move |kept: &Credentials| {
            kept.is_valid()
                && ActiveCredentials::new(kept.clone()).is_some_and(|stored| Some(stored.header) != presented)
        };
        match self.renewed(is_valid).await {
            Ok(stored) => Ok(Some(stored)),
            Err(AuthFailure::LoginRequired { .. }) if by_code => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn choose(&self, challenges: &Challenges, found: &Discovery, before: Option<&ActiveCredentials>) -> Vec<String> {
        let mut requested_scopes = self.session().requested_scopes.clone();
        scopes::add(
            &mut requested_scopes,
            before.map(|stored| stored.credentials.scopes.as_slice()).unwrap_or_default(),
        );
        let challenged = challenges.scopes();
        scopes::select(&ScopeContext {
            challenged: challenged.as_deref(),
            of_resource: found.metadata.as_ref().and_then(|metadata| metadata.scopes.as_deref()),
            of_server: found.server.scopes.as_deref(),
            configured: self.settings.scopes.as_deref(),
            before: &requested_scopes,
            wants_refresh: matches!(self.settings.grant, Grant::AuthorizationCode),
        })
    }

    /// Stops a loop in which the server repeatedly requires the same scopes, or at once without a browser.
    fn count_step_up(
        &self,
        challenges: &Challenges,
        rejection: Option<&RejectedRequest>,
        scopes: &[String],
    ) -> Result<(), AuthFailure> {
        if rejection.is_none_or(|rejection| rejection.status != 403) {
            return Ok(());
        }
        if self.browser.is_none() && matches!(self.settings.grant, Grant::AuthorizationCode) {
            return Err(AuthFailure::ScopesNotGranted { scopes: challenges.scopes().unwrap_or_default() });
        }
        let mut sorted = scopes.to_vec();
        sorted.sort_unstable();
        let mut session = self.session();
        let count = session.step_ups.entry(sorted).or_default();
        *count += 1;
        if *count > SAME_SCOPES {
            return Err(AuthFailure::InsufficientScope { scopes: challenges.scopes().unwrap_or_default() });
        }
        Ok(())
    }

    async fn by_code(
        self: &Arc<Self>,
        found: &Discovery,
        before: Option<&ActiveCredentials>,
        scopes: &[String],
    ) -> Result<Arc<ActiveCredentials>, AuthFailure> {
        let Some(browser) = &self.browser else {
            // Without a client, the login that the other error suggests would fail.
            if self.reusable_client(before, None).is_none() {
                registration::check(&self.settings, &found.server)?;
            }
            let reason = if before.is_some() { "the grant is no longer sufficient" } else { "not logged in" };
            return Err(AuthFailure::LoginRequired { reason: reason.to_owned() });
        };
        let broken = |error: crate::auth::BrowserError| AuthFailure::Browser { problem: error.problem };
        found.server.has_grant("authorization_code")?;
        let login = browser.prepare().await.map_err(broken)?;
        let redirect_uri = login.redirect_uri().to_owned();
        let client = self.code_client(found, before, &redirect_uri).await?;
        let (url, pending) = code::request(&found.server, &client.id, &redirect_uri, scopes, &found.resource)?;
        self.web.check(&url).await?;
        let response = login.open(url).await.map_err(broken)?;
        let code = pending.redeem(&response)?;
        let form = vec![
            ("code", code.code.expose().to_owned()),
            ("redirect_uri", code.redirect_uri),
            ("code_verifier", code.verifier.expose().to_owned()),
            ("resource", found.resource.clone()),
        ];
        let key = found.bind.then(|| before.and_then(|stored| stored.key.clone()).unwrap_or_else(DpopKey::generate));
        let granted = self.request_token(found, &client, "authorization_code", form, key.as_ref()).await?;
        self.keep(credentials(found, client, key.as_ref(), scopes, granted)).await
    }

    /// The client for the code flow: the registered one, if the server still knows it.
    async fn code_client(
        &self,
        found: &Discovery,
        before: Option<&ActiveCredentials>,
        redirect_uri: &str,
    ) -> Result<ClientRegistration, AuthFailure> {
        match self.reusable_client(before, Some(redirect_uri)) {
            Some(client) => Ok(client.clone()),
            None => {
                let settings = self.with_stored_secret().await?;
                registration::client(&self.web, &settings, &found.server, redirect_uri, found.bind).await
            }
        }
    }

    /// The settings, with the stored secret of the registered client unless they contain one.
    async fn with_stored_secret(&self) -> Result<Cow<'_, AuthSettings>, AuthFailure> {
        let client = self.settings.client.as_ref();
        let Some(client) = client.filter(|client| client.secret.is_none() && client.private_key.is_none()) else {
            return Ok(Cow::Borrowed(&self.settings));
        };
        let key = CredentialKey::client_secret(&self.url, &client.id);
        let stored = self.store.load(&key).await.map_err(|error| AuthFailure::Store { source: Arc::new(error) })?;
        let Some(secret) = stored.and_then(|stored| stored.client.secret) else {
            return Ok(Cow::Borrowed(&self.settings));
        };
        let client = ConfiguredClient { secret: Some(secret), ..client.clone() };
        Ok(Cow::Owned(AuthSettings { client: Some(client), ..self.settings.clone() }))
    }

    /// The dynamically registered client of stored credentials. A client belongs to its redirect URI; `None` is that of a
    /// later login.
    fn reusable_client<'a>(
        &self,
        before: Option<&'a ActiveCredentials>,
        redirect_uri: Option<&str>,
    ) -> Option<&'a ClientRegistration> {
        let forgotten = self.session().forgotten_client.clone();
        before.map(|stored| &stored.credentials.client).filter(|client| {
            client.source == RegistrationSource::Dynamic
                && self.settings.client.is_none()
                && (redirect_uri.is_none() || client.redirect_uri.as_deref() == redirect_uri)
                && Some(&client.id) != forgotten.as_ref()
                && registration::is_alive(client)
        })
    }

    async fn without_user(
        self: &Arc<Self>,
        found: &Discovery,
        before: Option<&ActiveCredentials>,
        scopes: &[String],
    ) -> Result<Arc<ActiveCredentials>, AuthFailure> {
        let client = non_interactive::client(&*self.with_stored_secret().await?, &found.server)?;
        let key = found.bind.then(|| before.and_then(|stored| stored.key.clone()).unwrap_or_else(DpopKey::generate));
        let grant = non_interactive::prepare(&self.web, &self.settings, &found.server, &found.resource, scopes).await?;
        let Some(grant) = grant else {
            return Err(AuthFailure::LoginRequired { reason: "this grant requires user interaction".to_owned() });
        };
        let mut form = grant.form;
        form.push(("resource", found.resource.clone()));
        if !scopes.is_empty() {
            form.push(("scope", scopes.join(" ")));
        }
        let granted = self.request_token(found, &client, grant.name, form, key.as_ref()).await?;
        self.keep(credentials(found, client, key.as_ref(), scopes, granted)).await
    }

    async fn request_token(
        &self,
        found: &Discovery,
        client: &ClientRegistration,
        grant: &str,
        form: Vec<(&'static str, String)>,
        key: Option<&DpopKey>,
    ) -> Result<Granted, AuthFailure> {
        let request = TokenRequest {
            endpoint: &found.server.token_endpoint,
            issuer: &found.server.issuer,
            grant,
            form,
            client,
            algorithm: self.algorithm(),
            dpop: key.map(|key| (key, &self.nonces)),
        };
        token::request(&self.web, request).await
    }

    pub(super) fn algorithm(&self) -> Option<&str> {
        self.settings.client.as_ref()?.signing_algorithm.as_deref()
    }

    /// Exchanges a refresh token (RFC 6749, section 6).
    pub(super) async fn refresh(&self, old: &Credentials) -> Result<Credentials, AuthFailure> {
        let Some(refresh_token) = &old.refresh_token else {
            return Err(AuthFailure::LoginRequired {
                reason: "the token has expired and cannot be renewed".to_owned(),
            });
        };
        let endpoint = credentials::endpoint(old)?;
        let mut form = vec![("refresh_token", refresh_token.expose().to_owned())];
        form.extend(old.resource.iter().map(|resource| ("resource", resource.clone())));
        let key = old.dpop_key.as_ref().and_then(DpopKey::from_jwk);
        let request = TokenRequest {
            endpoint: &endpoint,
            issuer: &old.issuer,
            grant: "refresh_token",
            form,
            client: &old.client,
            algorithm: self.algorithm(),
            dpop: key.as_ref().map(|key| (key, &self.nonces)),
        };
        let granted = token::request(&self.web, request).await?;
        Ok(Credentials {
            access_token: granted.access_token,
            token_type: granted.token_type,
            expires_at: granted.expires_at,
            // A server that does not rotate refresh tokens sends none, and the old one remains valid.
            refresh_token: granted.refresh_token.or_else(|| old.refresh_token.clone()),
            scopes: granted.scopes.unwrap_or_else(|| old.scopes.clone()),
            ..old.clone()
        })
    }

    /// Obtains a new token with the same non-interactive grant.
    pub(super) async fn renew_without_user(self: &Arc<Self>, old: &Credentials) -> Result<Credentials, AuthFailure> {
        let found = self.discover(&Challenges::default(), Some(old)).await?;
        if !old.is_of(&found.server.issuer) {
            return Err(AuthFailure::LoginRequired { reason: "the authorization server has changed".to_owned() });
        }
        let client = non_interactive::client(&*self.with_stored_secret().await?, &found.server)?;
        let grant =
            non_interactive::prepare(&self.web, &self.settings, &found.server, &found.resource, &old.scopes).await?;
        let Some(grant) = grant else { return self.refresh(old).await };
        let mut form = grant.form;
        form.push(("resource", found.resource.clone()));
        if !old.scopes.is_empty() {
            form.push(("scope", old.scopes.join(" ")));
        }
        let key = old.dpop_key.as_ref().and_then(DpopKey::from_jwk);
        let granted = self.request_token(&found, &client, grant.name, form, key.as_ref()).await?;
        Ok(credentials(&found, client, key.as_ref(), &old.scopes, granted))
    }
}

fn credentials(
    found: &Discovery,
    client: ClientRegistration,
    key: Option<&DpopKey>,
    requested_scopes: &[String],
    granted: Granted,
) -> Credentials {
    Credentials {
        issuer: found.server.issuer.clone(),
        token_endpoint: found.server.token_endpoint.to_string(),
        resource: Some(found.resource.clone()),
        client,
        access_token: granted.access_token,
        token_type: granted.token_type,
        expires_at: granted.expires_at,
        refresh_token: granted.refresh_token,
        // "If omitted, [it is] identical to the scope requested by the client" (RFC 6749, section 5.1).
        scopes: granted.scopes.unwrap_or_else(|| requested_scopes.to_vec()),
        dpop_key: key.map(DpopKey::to_jwk),
    }
}
