//! Configured servers as servers under test.

use client::{Endpoint, HttpEndpoint, ServerConfig};
use http::{HeaderMap, HeaderValue};
use scenarios::peer::{ServerCommand, ServerTarget, ServerUrl};
use url::Url;

/// A configured server that cannot be validated.
#[derive(Debug, thiserror::Error)]
pub enum ConfiguredTargetError {
    /// Its URL is invalid.
    #[error("the server has an invalid URL")]
    Url(#[from] url::ParseError),
    /// A program provides its headers.
    #[error("a server with `headersHelper` cannot be validated by its name")]
    HeadersHelper,
    /// A variable that its entry names is not set.
    #[error("the environment variable `{0}` is not set")]
    Variable(String),
    /// Its tokens are bound to a key (RFC 9449).
    #[error("the tokens are valid only with a new proof in each request (DPoP)")]
    Dpop,
}

/// The headers of a login as headers of a server under test.
///
/// # Errors
/// If each request would need another header.
pub fn login_headers(headers: &HeaderMap) -> Result<Vec<(String, String)>, ConfiguredTargetError> {
    if headers.contains_key("dpop") {
        return Err(ConfiguredTargetError::Dpop);
    }
    let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
    Ok(headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect())
}

/// The server under test of a configuration. `variable` returns the value of an environment variable.
///
/// # Errors
/// If its URL is invalid, a program provides its headers, or a variable is not set.
pub fn configured_target(
    server: &ServerConfig,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<ServerTarget, ConfiguredTargetError> {
    match &server.endpoint {
        Endpoint::Stdio(stdio) => {
            let named = stdio.env_vars.iter().filter_map(|name| Some((name.clone(), variable(name)?)));
            let env = named.chain(stdio.env.clone()).collect();
            let (program, args, directory) = (stdio.command.clone(), stdio.args.clone(), stdio.cwd.clone());
            Ok(ServerTarget::Command(ServerCommand { program, args, env, directory }))
        }
        Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http) => {
            Ok(ServerTarget::Url(ServerUrl { url: Url::parse(&http.url)?, headers: headers(http, variable)? }))
        }
    }
}

/// The headers of a configured server, with the values of variables.
fn headers(
    http: &HttpEndpoint,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, ConfiguredTargetError> {
    if http.headers_helper.is_some() {
        return Err(ConfiguredTargetError::HeadersHelper);
    }
    let value = |name: &String| variable(name).ok_or_else(|| ConfiguredTargetError::Variable(name.clone()));
    let mut headers: Vec<_> = http.headers.clone().into_iter().collect();
    for (header, name) in &http.env_headers {
        headers.push((header.clone(), value(name)?));
    }
    if let Some(name) = &http.bearer_token_env {
        headers.push(("Authorization".to_owned(), format!("Bearer {}", value(name)?)));
    }
    Ok(headers)
}
