//! Leaving a server: what was granted is forgotten here, and given back where the authorization server takes it (RFC 7009).

use super::{Authorizer, Inner};
use crate::auth::{
    client_auth,
    credentials::{Credentials, Secret},
    error::{AuthError, AuthFailure},
    reach::shown,
    server,
};

/// What became of an authorization.
#[derive(Debug)]
pub struct LoggedOut {
    /// Whether anything was kept.
    pub removed: bool,
    /// Whether the authorization server was told.
    pub revocation: Revocation,
}

/// Whether an authorization server was told that its tokens are not needed any more.
#[derive(Debug)]
pub enum Revocation {
    /// It has revoked them.
    Done,
    /// It offers no way to.
    NotOffered,
    /// There was nothing to revoke, or nothing that could be read.
    Nothing,
    /// It was tried in vain. What was granted ends by itself, at its time.
    Failed(AuthError),
}

impl Authorizer {
    /// Forgets what is kept, readable or not, and then asks the authorization server to revoke it.
    ///
    /// # Errors
    /// When the store cannot be written. Whatever the authorization server says is no error.
    pub async fn logout(&self) -> Result<LoggedOut, AuthError> {
        let inner = &self.0;
        let _flow = inner.flow.lock().await;
        // A renewal under way would put its credentials where they were just removed. One that never ends does not keep
        // anybody from leaving.
        let lock = inner.store.lock(&inner.key).await;
        let kept = inner.store.load(&inner.key).await.ok().flatten();
        let removed = inner.forget().await;
        drop(lock);
        // The tokens are given back in any case: what could not be removed is worth nothing then.
        let revocation = match &kept {
            None => Revocation::Nothing,
            Some(kept) => inner.revoke(kept).await.unwrap_or_else(|failure| Revocation::Failed(inner.error(failure))),
        };
        let removed = removed.map_err(|failure| inner.error(failure))?;
        Ok(LoggedOut { removed, revocation })
    }
}

impl Inner {
    async fn revoke(&self, kept: &Credentials) -> Result<Revocation, AuthFailure> {
        let Some(server) = server::discover(&self.web, &kept.issuer, &mut Vec::new()).await? else {
            return Ok(Revocation::NotOffered);
        };
        let Some(endpoint) = server.revocation_endpoint else { return Ok(Revocation::NotOffered) };
        // With the refresh token goes what came of it, but only SHOULD (RFC 7009, section 2.1).
        let tokens = [("refresh_token", kept.refresh_token.as_ref()), ("access_token", Some(&kept.access_token))];
        for (hint, token) in tokens {
            let Some(token) = token.map(Secret::expose) else { continue };
            let mut form = vec![("token", token.to_owned()), ("token_type_hint", hint.to_owned())];
            let post = self.web.endpoint(&endpoint).await?;
            let post = client_auth::prove(post, &mut form, &kept.client, self.algorithm(), &kept.issuer)?;
            let answer = self.web.read(&endpoint, post.form(&form)).await?;
            // "The server responds with HTTP status code 200 if the token has been revoked successfully or if the client
            // submitted an invalid token" (section 2.2). Not to know a kind of token is an answer as well.
            let (error, description) = answer.error();
            if !answer.status.is_success() && error != "unsupported_token_type" {
                return Err(AuthFailure::Revocation { endpoint: shown(&endpoint), error, description });
            }
        }
        Ok(Revocation::Done)
    }
}
