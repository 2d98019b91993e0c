//! Metadata of the protected resource, which lists its authorization servers (RFC 9728; 2026-07-28, authorization
//! server discovery, "Protected Resource Metadata Discovery Requirements").

use url::Url;

use super::{
    address_policy::shown,
    auth_http::{AuthHttpClient, Document, Object, text, texts},
    challenge::Challenges,
    error::{AuthFailure, quoted},
};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Metadata of a protected resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceMetadata {
    /// Its identifier, as in the document.
    pub(super) resource: String,
    /// The issuers of its authorization servers, at least one.
    pub(super) authorization_servers: Vec<String>,
    /// The supported scopes.
    pub(super) scopes: Option<Vec<String>>,
    /// Whether it supports DPoP tokens.
    pub(super) takes_dpop: bool,
    /// Whether it requires DPoP tokens (RFC 9728, section 2).
    pub(super) needs_dpop: bool,
}

/// Requests the metadata of a server: at the URL in the challenge, then at the well-known URLs. Returns `None` if
/// there is none.
///
/// # Errors
/// If there is metadata that must not be used.
pub(super) async fn discover(
    web: &AuthHttpClient,
    server: &Url,
    challenges: &Challenges,
    tried: &mut Vec<String>,
) -> Result<Option<ResourceMetadata>, AuthFailure> {
    if let Some(named) = challenges.resource_metadata() {
        match named_place(web, server, named).await {
            Ok(Document::Object(document)) => return read(server, &document).map(Some),
            Ok(Document::Absent(what)) => tried.push(format!("{}: {what}", quoted(named))),
            // The URL in the challenge may be wrong, so the well-known URLs of the server are tried too.
            Err(failure) => tried.push(format!("{}: {failure}", quoted(named))),
        }
    }
    for location in well_known(server) {
        match web.document(&location).await? {
            Document::Object(document) => return read(server, &document).map(Some),
            Document::Absent(what) => tried.push(format!("{}: {what}", shown(&location))),
        }
    }
    Ok(None)
}

/// Requests the metadata at the URL in the challenge, which must have the server's origin or use HTTPS.
async fn named_place(web: &AuthHttpClient, server: &Url, named: &str) -> Result<Document, AuthFailure> {
    let forbidden = |problem: &str| AuthFailure::ForbiddenUrl { what: quoted(named), problem: problem.to_owned() };
    let url = Url::parse(named).map_err(|_| forbidden("it is not a URL"))?;
    if url.scheme() != "https" && url.origin() != server.origin() {
        return Err(forbidden("it has another origin than the server, and does not use https"));
    }
    web.document(&url).await
}

/// The well-known URLs, in order: with the path of the server, and at the root.
fn well_known(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    let mut locations = Vec::new();
    for path in [path, ""] {
        let mut location = server.clone();
        location.set_path(&format!("{WELL_KNOWN}{path}"));
        location.set_fragment(None);
        if path.is_empty() {
            location.set_query(None);
        }
        if !locations.contains(&location) {
            locations.push(location);
        }
    }
    locations
}

fn read(server: &Url, document: &Object) -> Result<ResourceMetadata, AuthFailure> {
    let malformed = |problem: &str| AuthFailure::Malformed {
        endpoint: format!("the resource metadata of {}", shown(server)),
        problem: problem.to_owned(),
    };
    let resource = text(document, "resource").ok_or_else(|| malformed("it has no `resource`"))?.to_owned();
    if !covers(&resource, server) {
        return Err(AuthFailure::ResourceMismatch { url: shown(server), resource: quoted(&resource) });
    }
    let authorization_servers = texts(document, "authorization_servers").unwrap_or_default();
    if authorization_servers.is_empty() {
        return Err(malformed("it has no `authorization_servers`"));
    }
    let needs_dpop = document.get("dpop_bound_access_tokens_required") == Some(&true.into());
    let algorithms = texts(document, "dpop_signing_alg_values_supported");
    Ok(ResourceMetadata {
        resource,
        authorization_servers,
        scopes: texts(document, "scopes_supported"),
        takes_dpop: needs_dpop || algorithms.is_some_and(|names| names.iter().any(|name| name == "ES256")),
        needs_dpop,
    })
}

/// Whether a resource identifier covers this URL: same origin, and the same path or a parent of it. Other metadata
/// must not be used (RFC 9728, section 3.3).
pub(super) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.origin() != server.origin() || resource.fragment().is_some() {
        return false;
    }
    let (above, path) = (resource.path().trim_end_matches('/'), server.path());
    let is_above = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_above && resource.query().is_none_or(|query| server.query() == Some(query))
}

/// The canonical URI of a server (2026-07-28, authorization, "Canonical Server URI"): no fragment, and no trailing
/// slash without a path.
pub(super) fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let text = String::from(url.clone());
    if url.path() == "/" && url.query().is_none() { text.trim_end_matches('/').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_covers_what_is_below_it() {
        let server = Url::parse("https://rs.example/a/mcp").unwrap();
        for (resource, covered) in [
            ("https://rs.example/a/mcp", true),
            ("https://RS.example:443/a/mcp", true),
            ("https://rs.example/a/mcp/", true),
            ("https://rs.example/a", true),
            ("https://rs.example", true),
            ("https://rs.example/a/m", false),
            ("https://rs.example/b", false),
            ("https://rs.example/a/mcp/more", false),
            ("http://rs.example/a/mcp", false),
            ("https://rs.example:8443/a/mcp", false),
            ("https://rs.example.evil.example/a/mcp", false),
            ("https://rs.example/a/mcp?tenant=2", false),
            ("https://rs.example/a/mcp#x", false),
            ("rs.example/a/mcp", false),
        ] {
            assert_eq!(covers(resource, &server), covered, "{resource}");
        }
    }

    #[test]
    fn well_known_places_come_with_the_path_first() {
        let of = |text: &str| well_known(&Url::parse(text).unwrap()).into_iter().map(String::from).collect::<Vec<_>>();
        assert_eq!(
            of("https://rs.example/a/mcp"),
            [
                "https://rs.example/.well-known/oauth-protected-resource/a/mcp",
                "https://rs.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(of("https://rs.example/"), ["https://rs.example/.well-known/oauth-protected-resource"]);
    }

    #[test]
    fn the_canonical_uri_of_a_bare_origin_has_no_slash() {
        let of = |text: &str| canonical(&Url::parse(text).unwrap());
        assert_eq!(of("HTTPS://RS.example/"), "https://rs.example");
        assert_eq!(of("https://rs.example/mcp#top"), "https://rs.example/mcp");
        assert_eq!(of("https://rs.example/mcp/"), "https://rs.example/mcp/");
    }
}
