//! The reaction of a server to requests without valid authorization, and the metadata of the protected resource
//! (2025-06-18, basic/authorization; RFC 6750, section 3; RFC 9728).

use std::sync::LazyLock;

use bytes::Bytes;
use regex::Regex;
use reqwest::{
    Method, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE},
};
use serde_json::{Map, Value, json};

use super::{Headers, HttpPeer, RAW_TIMEOUT, read_text};

/// A token that no authorization server issued.
const INVALID: &str = "Bearer workbench-no-such-token";
/// The path of the metadata of protected resources (RFC 9728, section 3).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// A parameter of a challenge (RFC 9110, section 11.2).
#[expect(clippy::expect_used, reason = "the pattern is constant")]
static PARAMETER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))"#).expect("a valid pattern"));

/// The authorization of a message.
#[derive(Debug, Clone, Copy)]
enum Authorization {
    OfUser,
    Missing,
    Invalid,
}

impl HttpPeer {
    /// Sends a message without authorization, with an invalid token, and with the user's authorization. If the first one is
    /// rejected, it also reads the metadata of the resource.
    pub(in super::super) async fn protection(&self, body: &str, headers: Headers) -> Result<Value, String> {
        let without = self.answer_to(body, headers.clone(), Authorization::Missing).await?;
        let invalid = self.answer_to(body, headers.clone(), Authorization::Invalid).await?;
        let rejected = without["status"] == StatusCode::UNAUTHORIZED.as_u16();
        let metadata = if rejected { self.resource_metadata(&without["challenge"]).await } else { Vec::new() };
        let server = self.authorization_server(&metadata).await;
        let mut value =
            json!({ "without": without, "invalid": invalid, "metadata": metadata, "authorization_server": server });
        if self.shared.secret.contains_key(AUTHORIZATION) {
            value["with"] = self.answer_to(body, headers, Authorization::OfUser).await?;
        }
        Ok(value)
    }

    /// The status and the challenge of the response to a message.
    async fn answer_to(&self, body: &str, headers: Headers, authorization: Authorization) -> Result<Value, String> {
        let (request, _) = self.shared.request(&Method::POST, headers, Some(Bytes::copy_from_slice(body.as_bytes())));
        let (client, request) = request.build_split();
        let mut request = request.map_err(|cause| super::chain(&cause))?;
        match authorization {
            Authorization::OfUser => {}
            Authorization::Missing => drop(request.headers_mut().remove(AUTHORIZATION)),
            Authorization::Invalid => {
                drop(request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(INVALID)));
            }
        }
        let response = tokio::time::timeout(RAW_TIMEOUT, client.execute(request)).await;
        let response = response.map_err(|_| "no response within the timeout")?.map_err(|cause| super::chain(&cause))?;
        Ok(json!({ "status": response.status().as_u16(), "challenge": challenge(response.headers()) }))
    }

    /// The documents at the URL in the challenge and at the well-known URLs.
    async fn resource_metadata(&self, challenge: &Value) -> Vec<Value> {
        let named = challenge["resource_metadata"].as_str().and_then(|url| Url::parse(url).ok());
        let path = self.shared.url.path().trim_end_matches('/');
        let paths = [format!("{WELL_KNOWN}{path}"), WELL_KNOWN.to_owned()];
        let known = paths.iter().filter_map(|path| self.shared.url.join(path).ok());
        let mut urls: Vec<(Url, bool)> = named.into_iter().map(|url| (url, true)).collect();
        urls.extend(known.map(|url| (url, false)));
        urls.dedup_by(|one, other| one.0 == other.0);
        let mut documents = Vec::new();
        for (url, named) in urls {
            let text = url.to_string();
            let read = tokio::time::timeout(RAW_TIMEOUT, read_document(self.shared.client.get(url).send())).await;
            let (status, document) = read.ok().flatten().unwrap_or_default();
            documents.push(json!({ "url": text, "named": named, "status": status, "document": document }));
        }
        documents
    }

    /// The metadata of the first authorization server of the resource: the document, if there is one, and whether the server
    /// responded at all. Null without a server to ask.
    async fn authorization_server(&self, resource: &[Value]) -> Value {
        let documents = resource.iter().filter(|one| one["status"] == 200).map(|one| &one["document"]);
        let mut issuers = documents.filter_map(|document| document.pointer("/authorization_servers/0")?.as_str());
        let Some((issuer, url)) = issuers.find_map(|issuer| Some((issuer, Url::parse(issuer).ok()?))) else {
            return Value::Null;
        };
        // The URL is from the server under test, so it must not lead into a private network without encryption.
        if url.scheme() != "https" && url.host_str() != self.shared.url.host_str() {
            return Value::Null;
        }
        let (mut reached, mut found) = (false, Value::Null);
        for url in server_metadata_urls(&url) {
            let read = tokio::time::timeout(RAW_TIMEOUT, read_document(self.shared.client.get(url).send())).await;
            let Some((status, document)) = read.ok().flatten() else { continue };
            reached = true;
            if status == 200 && document.is_object() {
                let names = ["issuer", "authorization_endpoint", "token_endpoint", "code_challenge_methods_supported"];
                found =
                    names.into_iter().filter_map(|name| Some((name.to_owned(), document.get(name)?.clone()))).collect();
                break;
            }
        }
        json!({ "issuer": issuer, "reached": reached, "document": found })
    }
}

/// The URLs of the metadata of an authorization server, in the order in which clients try them (2026-07-28,
/// basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery).
fn server_metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths: Vec<String> =
        ["oauth-authorization-server", "openid-configuration"].map(|name| format!("/.well-known/{name}{path}")).into();
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    paths.iter().filter_map(|path| issuer.join(path).ok()).collect()
}

/// The status and the JSON of a response.
async fn read_document(sent: impl Future<Output = reqwest::Result<Response>>) -> Option<(u16, Value)> {
    let response = sent.await.ok()?;
    let status = response.status().as_u16();
    let text = read_text(response).await.ok()?;
    Some((status, serde_json::from_str(&text).unwrap_or_default()))
}

/// The scheme and the parameters of a challenge; null if there is none. Only parameters that are no secrets are kept.
fn challenge(headers: &HeaderMap) -> Value {
    let all = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    // A server may offer several schemes.
    let Some(text) = all.max_by_key(|text| text.to_ascii_lowercase().starts_with("bearer")) else { return Value::Null };
    let mut found = Map::new();
    found.insert("scheme".to_owned(), json!(text.split_whitespace().next().unwrap_or_default()));
    for parameter in PARAMETER.captures_iter(text) {
        let name = parameter[1].to_ascii_lowercase();
        if matches!(name.as_str(), "resource_metadata" | "scope" | "error") {
            let value = parameter.get(2).or_else(|| parameter.get(3));
            found.insert(name, json!(value.map(|value| value.as_str())));
        }
    }
    Value::Object(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_of_an_authorization_server_is_at_three_urls() {
        let urls =
            |issuer: &str| server_metadata_urls(&issuer.parse().unwrap()).into_iter().map(String::from).collect();
        let with_path: Vec<String> = urls("https://a.example/t");
        let expected = [
            "https://a.example/.well-known/oauth-authorization-server/t",
            "https://a.example/.well-known/openid-configuration/t",
            "https://a.example/t/.well-known/openid-configuration",
        ];
        assert_eq!(with_path, expected);
        let without: Vec<String> = urls("https://a.example/");
        assert_eq!(without.len(), 2);
    }

    #[test]
    fn a_challenge_has_its_scheme_and_parameters() {
        let text = r#"Bearer realm="x", error="invalid_token", resource_metadata="https://a.example/m", scope="a b""#;
        let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, HeaderValue::from_static(text))]);
        let expected = json!({ "scheme": "Bearer", "error": "invalid_token", "scope": "a b",
            "resource_metadata": "https://a.example/m" });
        assert_eq!(challenge(&headers), expected);
        assert_eq!(challenge(&HeaderMap::new()), Value::Null);
    }
}
