//! Assertions as grants (RFC 7523 section 2.1): workload identities, and the identity provider's ID-JAG of the
//! extension `io.modelcontextprotocol/enterprise-managed-authorization`.

use super::{Grant, NextRefresh, Request};
use crate::oauth::{
    authorize::scopes,
    client_auth::check_times,
    error::OAuthError,
    jwt::Jwt,
    server::{Server, Trusted},
    state::Consent,
};

/// The longest time until an assertion expires, in seconds.
const MAX_LIFETIME: u64 = 86_400;

/// The type of an identity assertion authorization grant.
pub(super) const ID_JAG: &str = "oauth-id-jag+jwt";

pub(super) fn redeem(request: &Request<'_>) -> Result<Grant, OAuthError> {
    let server = request.server;
    let jwt = Jwt::parse(request.params.required("assertion")?).ok_or_else(|| invalid("the assertion is not a JWT"))?;
    let issuer = issuer(server, &jwt)?;
    let subject = jwt.claim("sub").ok_or_else(|| invalid("the assertion has no sub"))?;
    if issuer.subjects.as_ref().is_some_and(|known| !known.iter().any(|known| known == subject)) {
        return Err(invalid("the issuer may not assert this subject"));
    }
    check_audience(server, &jwt)?;
    check_times(server, &jwt, MAX_LIFETIME).map_err(invalid)?;
    let mut resources = request.params.all("resource");
    if issuer.is_provider {
        resources = enterprise(request, &jwt)?;
    }
    if let Some(id) = jwt.claim("jti")
        && !server.state().is_fresh("assertion", &format!("{} {id}", issuer.issuer))
    {
        return Err(invalid("the assertion was used before"));
    }
    let scopes = granted(request, issuer, &jwt)?;
    let consent = Consent {
        client: request.client.id.clone(),
        subject: subject.to_owned(),
        scopes: scopes.clone(),
        resources,
        family: server.state().family(),
    };
    // The assertion can be presented again, so a refresh token is not needed (RFC 7521 section 4.1).
    Ok(Grant { consent, scopes, refresh: NextRefresh::Never })
}

fn issuer<'a>(server: &'a Server, jwt: &Jwt<'_>) -> Result<&'a Trusted, OAuthError> {
    let issuer = server
        .trusted
        .iter()
        .find(|trusted| jwt.claim("iss") == Some(&trusted.issuer))
        .ok_or_else(|| invalid("the issuer of the assertion is not trusted"))?;
    if jwt.is_signed_by_any(&issuer.keys) {
        Ok(issuer)
    } else {
        Err(invalid("the assertion is not signed by a key of its issuer"))
    }
}

/// The audience is this server, by its issuer or its token endpoint (RFC 7523 section 3).
fn check_audience(server: &Server, jwt: &Jwt<'_>) -> Result<(), OAuthError> {
    let own = [server.issuer.clone(), format!("{}/", server.issuer), server.token_endpoint()];
    if jwt.audiences().iter().any(|audience| own.iter().any(|own| own == audience)) {
        Ok(())
    } else {
        Err(invalid("the assertion is for another audience"))
    }
}

/// The further claims of an ID-JAG: type, client, and the resource that the enterprise allows.
fn enterprise(request: &Request<'_>, jwt: &Jwt<'_>) -> Result<Vec<String>, OAuthError> {
    if jwt.header("typ") != Some(ID_JAG) {
        return Err(invalid("the grant is not an ID-JAG"));
    }
    if jwt.claim("client_id") != Some(&request.client.id) {
        return Err(invalid("the grant is for another client"));
    }
    let methods = request.server.provider().map(|(provider, _)| provider.server_auth_methods.as_slice());
    if !methods.unwrap_or_default().contains(&request.method) {
        return Err(OAuthError::client("the client has to authenticate in another way"));
    }
    if jwt.claim("jti").is_none() {
        return Err(invalid("the grant has no jti"));
    }
    let resource = jwt.claim("resource").ok_or_else(|| invalid("the grant names no resource"))?;
    if !request.server.protects(resource) {
        return Err(invalid("the grant is for a resource that is not protected here"));
    }
    Ok(vec![resource.to_owned()])
}

/// The requested scopes that the assertion and its issuer allow [default: those of the assertion].
fn granted(request: &Request<'_>, issuer: &Trusted, jwt: &Jwt<'_>) -> Result<Vec<String>, OAuthError> {
    let said: Option<Vec<String>> =
        jwt.claim("scope").map(|scopes| scopes.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect());
    let asked = request.params.scopes();
    let asked = if asked.is_empty() { said.clone().unwrap_or_default() } else { asked };
    let allowed = |scope: &String| {
        issuer.scopes.as_ref().is_none_or(|scopes| scopes.contains(scope))
            && (!issuer.is_provider || said.as_ref().is_none_or(|scopes| scopes.contains(scope)))
    };
    if !asked.iter().all(allowed) {
        return Err(OAuthError::new("invalid_scope", "the assertion does not allow all of the scopes"));
    }
    scopes(request.server, &request.client, asked)
}

fn invalid(description: &str) -> OAuthError {
    OAuthError::new("invalid_grant", description)
}
