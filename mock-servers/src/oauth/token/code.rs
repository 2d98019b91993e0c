//! The authorization code grant (RFC 6749 section 4.1.3, RFC 7636 section 4.6).

use super::{Grant, NextRefresh, Request};
use crate::faults::Deviation;
use crate::oauth::{
    audit::AuditEvent, authorize::is_verifier, error::OAuthError, jwt::digest, script::PkceMethod, state::Code,
};

pub(super) fn redeem(request: &Request<'_>) -> Result<Grant, OAuthError> {
    let code = request.params.required("code")?;
    let entry = take(request, code)?;
    if entry.redirect_uri.as_deref() != request.params.get("redirect_uri") {
        return Err(invalid("redirect_uri is not that of the authorization request"));
    }
    verify(request, &entry)?;
    if entry.jkt.is_some() && entry.jkt != request.jkt {
        return Err(invalid("the code is bound to another key"));
    }
    Ok(Grant { scopes: entry.consent.scopes.clone(), consent: entry.consent, refresh: NextRefresh::New })
}

/// Redeems a code. A second use revokes the tokens of the first one (RFC 6749 section 4.1.2).
fn take(request: &Request<'_>, code: &str) -> Result<Code, OAuthError> {
    let server = request.server;
    let mut state = server.state();
    let entry = state.codes.get(code).cloned().ok_or_else(|| invalid("the code is not known"))?;
    if entry.consent.client != request.client.id {
        return Err(invalid("the code is another client's"));
    }
    if entry.used && !server.faults.deviates(Deviation::UsedCode) {
        state.revoke_family(entry.consent.family);
        drop(state);
        server.note(Some(&request.client.id), AuditEvent::CodeReused);
        return Err(invalid("the code was used before"));
    }
    if entry.expires <= server.clock.now() {
        return Err(invalid("the code has expired"));
    }
    if let Some(entry) = state.codes.get_mut(code) {
        entry.used = true;
    }
    Ok(entry)
}

fn verify(request: &Request<'_>, entry: &Code) -> Result<(), OAuthError> {
    let holds = match (&entry.challenge, request.params.get("code_verifier")) {
        (None, None) => true,
        // A verifier without a challenge is a downgrade (OAuth 2.1 section 4.1.3, RFC 9700 section 2.1.1).
        (None, Some(_)) | (Some(_), None) => false,
        (Some((challenge, method)), Some(verifier)) => {
            let shown = match method {
                PkceMethod::S256 => digest(verifier.as_bytes()),
                PkceMethod::Plain => verifier.to_owned(),
            };
            is_verifier(verifier) && shown == *challenge
        }
    };
    let holds = holds || request.server.faults.deviates(Deviation::PkceNotVerified);
    if holds { Ok(()) } else { Err(invalid("the code_verifier does not fit the challenge")) }
}

fn invalid(description: &str) -> OAuthError {
    OAuthError::new("invalid_grant", description)
}
