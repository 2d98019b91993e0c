//! Logout: deletes the credentials, and revokes the tokens if the authorization server supports it (RFC 7009).

use super::{Authorizer, Inner};
use crate::auth::{
    address_policy::shown,
    client_auth,
    credentials::{Credentials, Secret},
    error::{AuthError, AuthFailure},
    server,
};

/// The result of a logout.
#[derive(Debug)]
pub struct LoggedOut {
    /// Whether there were credentials.
    pub removed: bool,
    /// The result of the revocation.
    pub revocation: Revocation,
}

/// The result of a revocation.
#[derive(Debug)]
pub enum Revocation {
    /// The tokens were revoked.
    Done,
    /// The authorization server does not support revocation.
    NotOffered,
    /// There were no tokens, or they could not be read.
    Nothing,
    /// Revocation failed. The tokens expire at their own time.
    Failed(AuthError),
}

impl Authorizer {
    /// Deletes the credentials, even invalid ones, and then revokes the tokens.
    ///
    /// # Errors
    /// If the store cannot be written. A failed revocation is not an error.
    pub async fn logout(&self) -> Result<LoggedOut, AuthError> {
        let inner = &self.0;
        let _flow = inner.flow.lock().await;
        // A concurrent renewal could store new credentials afterwards. If it does not finish, the logout continues
        // anyway.
        let lock = inner.store.lock(&inner.key).await;
        let kept = inner.store.load(&inner.key).await.ok().flatten();
        let removed = inner.delete_credentials().await;
        drop(lock);
        // Tokens are revoked in any case, which makes remaining credentials useless.
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
        // Revoking the refresh token revokes the access token too, but this is only a SHOULD (RFC 7009, section 2.1).
        let tokens = [("refresh_token", kept.refresh_token.as_ref()), ("access_token", Some(&kept.access_token))];
        for (hint, token) in tokens {
            let Some(token) = token.map(Secret::expose) else { continue };
            let mut form = vec![("token", token.to_owned()), ("token_type_hint", hint.to_owned())];
            let post = self.web.endpoint(&endpoint).await?;
            let post = client_auth::prove(post, &mut form, &kept.client, self.algorithm(), &kept.issuer)?;
            let response = self.web.read(&endpoint, post.form(&form)).await?;
            // "The server responds with HTTP status code 200 if the token has been revoked successfully or if the
            // client submitted an invalid token" (section 2.2). `unsupported_token_type` is not a failure either.
            let (error, description) = response.error();
            if !response.status.is_success() && error != "unsupported_token_type" {
                return Err(AuthFailure::Revocation { endpoint: shown(&endpoint), error, description });
            }
        }
        Ok(Revocation::Done)
    }
}
