//! The client credentials grant (RFC 6749 section 4.4; the extension `io.modelcontextprotocol/oauth-client-credentials`).

use super::{Grant, NextRefresh, Request};
use crate::oauth::{authorize::scopes, error::OAuthError, script::AuthMethod, state::Consent};

pub(super) fn redeem(request: &Request<'_>) -> Result<Grant, OAuthError> {
    if request.client.methods == [AuthMethod::None] {
        return Err(OAuthError::new("unauthorized_client", "a public client has no credentials"));
    }
    let scopes = scopes(request.server, &request.client, request.params.scopes())?;
    let consent = Consent {
        client: request.client.id.clone(),
        subject: request.client.id.clone(),
        scopes: scopes.clone(),
        resources: request.params.all("resource"),
        family: request.server.state().family(),
    };
    // A refresh token should not come with it (RFC 6749 section 4.4.3).
    Ok(Grant { consent, scopes, refresh: NextRefresh::Never })
}
