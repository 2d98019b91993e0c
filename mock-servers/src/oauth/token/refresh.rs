//! The refresh token grant, with rotation and the detection of stolen tokens (RFC 6749 section 6, RFC 9700 section
//! 4.14.2).

use super::{Grant, NextRefresh, Request};
use crate::oauth::{audit::AuditEvent, error::OAuthError, state::RefreshToken};

pub(super) fn redeem(request: &Request<'_>) -> Result<Grant, OAuthError> {
    let token = request.params.required("refresh_token")?;
    let entry = find(request, token)?;
    let asked = request.params.scopes();
    if !asked.iter().all(|scope| entry.consent.scopes.contains(scope)) {
        return Err(OAuthError::new("invalid_scope", "the consent is for fewer scopes"));
    }
    let rotate = request.server.script.refresh.rotate;
    if rotate && let Some(entry) = request.server.state().refresh.get_mut(token) {
        entry.used = true;
    }
    let scopes = if asked.is_empty() { entry.consent.scopes.clone() } else { asked };
    let refresh = if rotate { NextRefresh::Rotated } else { NextRefresh::Never };
    Ok(Grant { consent: entry.consent, scopes, refresh })
}

fn find(request: &Request<'_>, token: &str) -> Result<RefreshToken, OAuthError> {
    let server = request.server;
    let invalid = |words: &str| OAuthError::new("invalid_grant", words);
    let mut state = server.state();
    let entry = state.refresh.get(token).cloned().ok_or_else(|| invalid("the refresh token is not known"))?;
    if entry.consent.client != request.client.id {
        return Err(invalid("the refresh token is another client's"));
    }
    if entry.used {
        if server.script.refresh.detect_reuse {
            state.revoke_family(entry.consent.family);
        }
        drop(state);
        server.note(Some(&request.client.id), AuditEvent::RefreshReused);
        return Err(invalid("the refresh token was used before"));
    }
    if entry.expires <= server.clock.now() {
        return Err(invalid("the refresh token has expired"));
    }
    if entry.jkt.is_some() && entry.jkt != request.jkt {
        return Err(invalid("the refresh token is bound to another key"));
    }
    Ok(entry)
}
