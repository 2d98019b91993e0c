//! Grants without user interaction: client credentials, enterprise identity providers, and workload identities
//! (extensions `oauth-client-credentials` and `enterprise-managed-authorization`; RFC 7523, section 2.1).
//!
//! Grants do not fall back to another, and a rejected grant is not retried, because the same assertion would be
//! rejected again.

use super::{
    address_policy::shown,
    auth_http::{AuthHttpClient, text},
    credentials::{AuthMethod, ClientRegistration, RegistrationSource, Secret},
    error::AuthFailure,
    registration::configured,
    server::ServerMetadata,
    settings::{AuthSettings, Enterprise, Grant, TokenSource},
    token::{self, TokenRequest},
};

pub(super) const CLIENT_CREDENTIALS: &str = "client_credentials";
pub(super) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
/// Longer tokens are rejected.
const MAX_TOKEN_LEN: usize = 64 * 1024;

/// A non-interactive grant: its name and its parameters.
#[derive(Debug)]
pub(super) struct NonInteractiveGrant {
    pub(super) name: &'static str,
    pub(super) form: Vec<(&'static str, String)>,
}

/// The client, which is never registered dynamically.
pub(super) fn client(settings: &AuthSettings, server: &ServerMetadata) -> Result<ClientRegistration, AuthFailure> {
    match (&settings.client, &settings.grant) {
        (Some(client), _) => configured(client, server),
        // "Authentication of the client is optional" (RFC 7521, section 4.1): the assertion identifies it.
        (None, Grant::Workload(_)) => Ok(ClientRegistration {
            id: String::new(),
            secret: None,
            auth_method: AuthMethod::None,
            private_key: None,
            source: RegistrationSource::PreRegistered,
            redirect_uri: None,
            registration_access_token: None,
            secret_expires_at: None,
        }),
        (None, _) => Err(AuthFailure::RegistrationRequired { issuer: server.issuer.clone() }),
    }
}

/// Prepares the configured grant; `None` for the interactive one.
pub(super) async fn prepare(
    web: &AuthHttpClient,
    settings: &AuthSettings,
    server: &ServerMetadata,
    resource: &str,
    scopes: &[String],
) -> Result<Option<NonInteractiveGrant>, AuthFailure> {
    let (name, assertion) = match &settings.grant {
        Grant::AuthorizationCode => return Ok(None),
        Grant::ClientCredentials => {
            server.has_grant(CLIENT_CREDENTIALS)?;
            (CLIENT_CREDENTIALS, None)
        }
        Grant::Workload(source) => {
            server.has_grant(JWT_BEARER)?;
            (JWT_BEARER, Some(read(source).await?))
        }
        Grant::Enterprise(enterprise) => {
            server.has_grant(JWT_BEARER)?;
            (JWT_BEARER, Some(exchange(web, enterprise, &server.issuer, resource, scopes).await?))
        }
    };
    let form = assertion.map(|assertion| ("assertion", assertion.expose().to_owned()));
    Ok(Some(NonInteractiveGrant { name, form: form.into_iter().collect() }))
}

/// Exchanges an ID token for an identity assertion authorization grant.
async fn exchange(
    web: &AuthHttpClient,
    enterprise: &Enterprise,
    issuer: &str,
    resource: &str,
    scopes: &[String],
) -> Result<Secret, AuthFailure> {
    let client = ClientRegistration {
        id: enterprise.client_id.clone(),
        secret: enterprise.client_secret.clone(),
        auth_method: if enterprise.client_secret.is_some() { AuthMethod::ClientSecretBasic } else { AuthMethod::None },
        private_key: None,
        source: RegistrationSource::PreRegistered,
        redirect_uri: None,
        registration_access_token: None,
        secret_expires_at: None,
    };
    let mut form = vec![
        ("requested_token_type", ID_JAG.to_owned()),
        ("audience", issuer.to_owned()),
        ("resource", resource.to_owned()),
        ("subject_token", read(&enterprise.id_token).await?.expose().to_owned()),
        ("subject_token_type", ID_TOKEN.to_owned()),
    ];
    if !scopes.is_empty() {
        form.push(("scope", scopes.join(" ")));
    }
    let request = TokenRequest {
        endpoint: &enterprise.token_endpoint,
        issuer: "",
        grant: TOKEN_EXCHANGE,
        form,
        client: &client,
        algorithm: None,
        dpop: None,
    };
    // The user configured the identity provider, so the address policy of the server does not apply.
    let web = web.for_url(&enterprise.token_endpoint);
    let response = token::send_request(&web, &request).await?;
    let malformed = |problem: String| AuthFailure::Malformed { endpoint: shown(&enterprise.token_endpoint), problem };
    let body = response.object().ok_or_else(|| malformed("it is not a JSON object".to_owned()))?;
    if text(&body, "issued_token_type") != Some(ID_JAG) {
        return Err(malformed("the issued token is not an authorization grant".to_owned()));
    }
    let token = token::token(&body, "access_token").map_err(malformed)?;
    token.ok_or_else(|| malformed("it has no token".to_owned()))
}

/// Reads an external token.
async fn read(source: &TokenSource) -> Result<Secret, AuthFailure> {
    let problem = |what: String, problem: &str| AuthFailure::Config { what, problem: problem.to_owned() };
    let (what, token) = match source {
        TokenSource::Text(token) => ("the assertion".to_owned(), token.clone()),
        TokenSource::File(path) => {
            let what = format!("the assertion in {}", path.display());
            let read = tokio::fs::read_to_string(path).await;
            (what.clone(), Secret::new(read.map_err(|error| problem(what, &error.to_string()))?))
        }
        TokenSource::Environment(name) => {
            let what = format!("the assertion in ${name}");
            (what.clone(), Secret::new(std::env::var(name).map_err(|error| problem(what, &error.to_string()))?))
        }
    };
    let text = token.expose().trim();
    if text.is_empty() || text.len() > MAX_TOKEN_LEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(problem(what, "it is not a token"));
    }
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_assertion_is_read_again_from_its_file_and_trimmed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let source = TokenSource::File(path.clone());
        assert!(matches!(read(&source).await, Err(AuthFailure::Config { .. })));
        for token in ["one", "two"] {
            std::fs::write(&path, format!("{token}\n")).unwrap();
            assert_eq!(read(&source).await.unwrap().expose(), token);
        }
        std::fs::write(&path, "two words").unwrap();
        assert!(read(&source).await.is_err());
    }
}
