//! Metadata of an authorization server (RFC 8414, OpenID Connect Discovery; 2026-07-28, authorization server
//! discovery, "Authorization Server Metadata Discovery").

use url::Url;

use super::{
    address_policy::shown,
    auth_http::{AuthHttpClient, Document, Object, text, texts, url},
    credentials::AuthMethod,
    error::{AuthFailure, quoted},
};

/// The relevant metadata of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerMetadata {
    /// The issuer, exactly as in the document.
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) revocation_endpoint: Option<Url>,
    /// Supported client authentication methods, or the default.
    pub(super) auth_methods: Vec<AuthMethod>,
    /// Supported grant types, if listed.
    pub(super) grants: Option<Vec<String>>,
    /// Supported scopes, if listed.
    pub(super) scopes: Option<Vec<String>>,
    /// Whether the PKCE method `S256` is supported.
    pub(super) has_s256: bool,
    /// Whether authorization responses contain `iss` (RFC 9207).
    pub(super) sends_iss: bool,
    /// Whether a client ID may be the URL of a metadata document.
    pub(super) takes_metadata_documents: bool,
    /// Whether it binds tokens to ES256 keys (RFC 9449, section 5.1).
    pub(super) binds_to_es256: bool,
    /// Whether metadata is missing, and the endpoints are the defaults of 2025-03-26.
    pub(super) is_assumed: bool,
}

impl ServerMetadata {
    /// Fails if the server does not list a grant type. Without a list, it may support it.
    pub(super) fn has_grant(&self, grant: &str) -> Result<(), AuthFailure> {
        match &self.grants {
            Some(grants) if !grants.iter().any(|known| known == grant) => {
                Err(AuthFailure::Unsupported { issuer: self.issuer.clone(), what: format!("the {grant} grant") })
            }
            _ => Ok(()),
        }
    }

    /// The defaults of 2025-03-26 without metadata (authorization, "Fallbacks for Servers without Metadata
    /// Discovery").
    pub(super) fn assumed(server: &Url) -> Self {
        let endpoint = |path: &str| {
            let mut url = server.clone();
            url.set_path(path);
            url.set_query(None);
            url.set_fragment(None);
            url
        };
        Self {
            issuer: server.origin().ascii_serialization(),
            authorization_endpoint: Some(endpoint("/authorize")),
            token_endpoint: endpoint("/token"),
            registration_endpoint: Some(endpoint("/register")),
            revocation_endpoint: None,
            auth_methods: vec![AuthMethod::None, AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost],
            grants: None,
            scopes: None,
            // "PKCE is REQUIRED for all clients" (2025-03-26, authorization), with or without metadata.
            has_s256: true,
            sends_iss: false,
            takes_metadata_documents: false,
            binds_to_es256: false,
            is_assumed: true,
        }
    }
}

/// Requests the metadata of an issuer at all well-known URLs. Returns `None` if there is none.
///
/// # Errors
/// If there is metadata that must not be used.
pub(super) async fn discover(
    web: &AuthHttpClient,
    issuer: &str,
    tried: &mut Vec<String>,
) -> Result<Option<ServerMetadata>, AuthFailure> {
    let forbidden = |problem: &str| AuthFailure::ForbiddenUrl { what: quoted(issuer), problem: problem.to_owned() };
    let base = Url::parse(issuer).map_err(|_| forbidden("it is not a URL"))?;
    // "It has no query or fragment components" (RFC 8414, section 2).
    if base.query().is_some() || base.fragment().is_some() {
        return Err(forbidden("an issuer must not have a query or fragment"));
    }
    let mut false_issuer = None;
    for location in well_known(&base) {
        let Some((found, document)) = document_at(web, &location, tried).await? else { continue };
        if is_same(issuer, &found) {
            return read(&location, &found, &document).map(Some);
        }
        tried.push(format!("{}: it has the issuer {}", shown(&location), quoted(&found)));
        false_issuer.get_or_insert_with(|| quoted(&found));
    }
    match false_issuer {
        Some(found) => Err(AuthFailure::IssuerMismatch { expected: quoted(issuer), found }),
        None => Ok(None),
    }
}

/// The metadata at this URL, with any issuer. Returns `None` if there is none.
///
/// # Errors
/// If there is metadata that must not be used.
pub(super) async fn at(
    web: &AuthHttpClient,
    location: &Url,
    tried: &mut Vec<String>,
) -> Result<Option<ServerMetadata>, AuthFailure> {
    let found = document_at(web, location, tried).await?;
    found.map(|(issuer, document)| read(location, &issuer, &document)).transpose()
}

/// The document at a URL, and its issuer.
async fn document_at(
    web: &AuthHttpClient,
    location: &Url,
    tried: &mut Vec<String>,
) -> Result<Option<(String, Object)>, AuthFailure> {
    let missing = match web.document(location).await? {
        Document::Object(document) => match text(&document, "issuer").map(str::to_owned) {
            Some(issuer) => return Ok(Some((issuer, document))),
            None => "it has no `issuer`".to_owned(),
        },
        Document::Absent(what) => what,
    };
    tried.push(format!("{}: {missing}", shown(location)));
    Ok(None)
}

/// Whether two issuers are equal: exactly, as RFC 8414 section 3.3 requires, except for the slash of a bare origin.
/// Many servers use both forms.
pub(super) fn is_same(expected: &str, found: &str) -> bool {
    let is_origin = |text: &str| Url::parse(text).is_ok_and(|url| url.path() == "/");
    expected == found
        || (expected.trim_end_matches('/') == found.trim_end_matches('/') && is_origin(expected) && is_origin(found))
}

fn well_known(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    let mut locations = vec![
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        locations.push(at(format!("{path}/.well-known/openid-configuration")));
    }
    locations
}

fn read(location: &Url, issuer: &str, document: &Object) -> Result<ServerMetadata, AuthFailure> {
    let flag = |name: &str| document.get(name) == Some(&true.into());
    let lists = |name: &str, wanted: &str| texts(document, name).is_some_and(|all| all.iter().any(|one| one == wanted));
    let token_endpoint = url(document, "token_endpoint").ok_or_else(|| AuthFailure::Malformed {
        endpoint: shown(location),
        problem: "it has no `token_endpoint`".to_owned(),
    })?;
    // "If omitted, the default is `client_secret_basic`" (RFC 8414, section 2).
    let auth_methods = texts(document, "token_endpoint_auth_methods_supported").map_or_else(
        || vec![AuthMethod::ClientSecretBasic],
        |names| names.iter().filter_map(|name| auth_method(name)).collect(),
    );
    Ok(ServerMetadata {
        issuer: issuer.to_owned(),
        authorization_endpoint: url(document, "authorization_endpoint"),
        token_endpoint,
        registration_endpoint: url(document, "registration_endpoint"),
        revocation_endpoint: url(document, "revocation_endpoint"),
        auth_methods,
        grants: texts(document, "grant_types_supported"),
        scopes: texts(document, "scopes_supported"),
        has_s256: lists("code_challenge_methods_supported", "S256"),
        sends_iss: flag("authorization_response_iss_parameter_supported"),
        takes_metadata_documents: flag("client_id_metadata_document_supported"),
        binds_to_es256: lists("dpop_signing_alg_values_supported", "ES256"),
        is_assumed: false,
    })
}

/// The method of this name (RFC 7591, section 2).
pub(super) fn auth_method(name: &str) -> Option<AuthMethod> {
    match name {
        "none" => Some(AuthMethod::None),
        "client_secret_basic" => Some(AuthMethod::ClientSecretBasic),
        "client_secret_post" => Some(AuthMethod::ClientSecretPost),
        "private_key_jwt" => Some(AuthMethod::PrivateKeyJwt),
        _ => None,
    }
}

/// The name of a method.
pub(super) fn method_name(method: AuthMethod) -> &'static str {
    match method {
        AuthMethod::None => "none",
        AuthMethod::ClientSecretBasic => "client_secret_basic",
        AuthMethod::ClientSecretPost => "client_secret_post",
        AuthMethod::PrivateKeyJwt => "private_key_jwt",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_are_compared_exactly_but_for_the_slash_of_an_origin() {
        for (expected, found, same) in [
            ("https://as.example", "https://as.example", true),
            ("https://as.example", "https://as.example/", true),
            ("https://as.example/", "https://as.example", true),
            ("https://as.example/t", "https://as.example/t/", false),
            ("https://as.example/t", "https://as.example", false),
            ("https://as.example", "HTTPS://as.example", false),
            ("https://as.example", "https://AS.example", false),
            ("https://as.example", "https://as.example:443", false),
            ("https://as.example", "https://as.example//", false),
        ] {
            assert_eq!(is_same(expected, found), same, "{expected} {found}");
        }
    }

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_specification() {
        let of = |text: &str| well_known(&Url::parse(text).unwrap()).into_iter().map(String::from).collect::<Vec<_>>();
        assert_eq!(
            of("https://as.example/tenant1"),
            [
                "https://as.example/.well-known/oauth-authorization-server/tenant1",
                "https://as.example/.well-known/openid-configuration/tenant1",
                "https://as.example/tenant1/.well-known/openid-configuration",
            ]
        );
        assert_eq!(of("https://as.example/").len(), 2);
    }
}
