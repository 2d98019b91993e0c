//! Headers of all requests: fixed values, values from the environment, and the output of a headers helper.

use std::{process::Stdio, str::FromStr};

use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt;

use crate::{
    config::{HeadersHelper, HttpEndpoint},
    error::ConnectFailure,
    event::excerpt,
    process::environment,
};

/// Maximum output of a helper.
const OUTPUT_BYTES: u64 = 64 * 1024;

/// The current headers.
pub(crate) async fn configured(endpoint: &HttpEndpoint, server: &str) -> Result<HeaderMap, ConnectFailure> {
    let mut headers = fixed(endpoint, |name| std::env::var(name).ok())?;
    if let Some(helper) = &endpoint.headers_helper {
        // The helper takes precedence over fixed values.
        for (name, value) in run_helper(helper, server, &endpoint.url).await? {
            let Value::String(value) = value else {
                return Err(unusable(helper, format!("the value of `{name}` is not a string")));
            };
            insert(&mut headers, &name, &value)?;
        }
    }
    Ok(headers)
}

fn fixed(endpoint: &HttpEndpoint, variable: impl Fn(&str) -> Option<String>) -> Result<HeaderMap, ConnectFailure> {
    let mut headers = HeaderMap::new();
    let lookup = |name: &str, what: &str| {
        let unset = || ConnectFailure::Config { detail: format!("{what} comes from `{name}`, which is not set") };
        variable(name).filter(|value| !value.is_empty()).ok_or_else(unset)
    };
    if let Some(name) = &endpoint.bearer_token_env {
        let token = lookup(name, "the bearer token")?;
        insert(&mut headers, AUTHORIZATION.as_str(), &format!("Bearer {}", token.trim()))?;
    }
    for (header, name) in &endpoint.env_headers {
        insert(&mut headers, header, &lookup(name, &format!("header `{header}`"))?)?;
    }
    for (header, value) in &endpoint.headers {
        insert(&mut headers, header, value)?;
    }
    Ok(headers)
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), ConnectFailure> {
    // The value may be a secret, so only the name is reported.
    let bad = || ConnectFailure::Config { detail: format!("header `{name}` cannot be sent over HTTP") };
    let key = HeaderName::from_str(name).map_err(|_| bad())?;
    let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
    value.set_sensitive(true);
    headers.insert(key, value);
    Ok(())
}

fn unusable(helper: &HeadersHelper, detail: String) -> ConnectFailure {
    ConnectFailure::HeadersHelper { command: helper.command.clone(), detail }
}

/// Runs the helper. It inherits the same variables as servers, and prints a JSON object of strings.
async fn run_helper(helper: &HeadersHelper, server: &str, url: &str) -> Result<Map<String, Value>, ConnectFailure> {
    let mut command = tokio::process::Command::new(&helper.command);
    command.args(&helper.args).env_clear().envs(environment::default_variables());
    command.env("MCP_SERVER_NAME", server).env("MCP_SERVER_URL", url);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| unusable(helper, format!("cannot start it: {error}")))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let finished = tokio::time::timeout(helper.timeout, async {
        let (stdout, stderr) = tokio::join!(bounded(stdout), bounded(stderr));
        (stdout, stderr, child.wait().await)
    });
    let Ok((stdout, stderr, status)) = finished.await else {
        return Err(unusable(helper, format!("no output within {:?}", helper.timeout)));
    };
    let status = status.map_err(|error| unusable(helper, format!("cannot read its exit status: {error}")))?;
    if !status.success() {
        return Err(unusable(helper, format!("it failed ({status}): {}", excerpt(stderr.trim_ascii()))));
    }
    // The output may be secret, so it is not reported.
    serde_json::from_slice(&stdout)
        .map_err(|_| unusable(helper, "its output is not a JSON object of header names and values".into()))
}

async fn bounded(source: Option<impl tokio::io::AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(source) = source {
        // A read error ends the output.
        let _ = source.take(OUTPUT_BYTES).read_to_end(&mut bytes).await;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn endpoint() -> HttpEndpoint {
        HttpEndpoint { url: "http://127.0.0.1:1/mcp".into(), ..HttpEndpoint::default() }
    }

    #[test]
    fn takes_values_of_the_environment_and_names_what_is_not_set() {
        let variable = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        let mut endpoint = endpoint();
        endpoint.bearer_token_env = Some("TOKEN".into());
        endpoint.env_headers.insert("x-key".into(), "TOKEN".into());
        endpoint.headers.insert("X-Fixed".into(), "1".into());
        let headers = fixed(&endpoint, variable).unwrap();
        assert_eq!(headers[AUTHORIZATION], "Bearer s3cret");
        assert_eq!(headers["x-key"], "s3cret");
        assert_eq!(headers["x-fixed"], "1");
        assert!(!format!("{headers:?}").contains("s3cret"), "{headers:?}");
        // An explicit header takes precedence over the token.
        endpoint.headers.insert("authorization".into(), "Basic x".into());
        assert_eq!(fixed(&endpoint, variable).unwrap()[AUTHORIZATION], "Basic x");
        endpoint.env_headers.insert("x-other".into(), "MISSING".into());
        let failure = fixed(&endpoint, variable).unwrap_err().to_string();
        assert!(failure.contains("x-other") && failure.contains("MISSING"), "{failure}");
    }

    #[tokio::test]
    async fn runs_a_helper_and_reports_its_problems() {
        let check = async |script: &str| {
            let mut endpoint = endpoint();
            endpoint.headers.insert("x-a".into(), "old".into());
            endpoint.headers_helper = Some(HeadersHelper {
                command: "sh".into(),
                args: vec!["-c".into(), script.into()],
                timeout: Duration::from_millis(1_500),
            });
            configured(&endpoint, "mine").await.map_err(|failure| (failure.kind(), failure.to_string()))
        };
        let headers = check(r#"echo "{\"x-a\": \"$MCP_SERVER_NAME\", \"x-url\": \"$MCP_SERVER_URL\"}""#).await.unwrap();
        assert_eq!(headers["x-a"], "mine");
        assert_eq!(headers["x-url"], "http://127.0.0.1:1/mcp");
        for (script, expected) in [
            ("echo no vault >&2; exit 3", "no vault"),
            ("echo s3cret", "JSON object"),
            (r#"echo '{"x": 1}'"#, "not a string"),
            ("exec sleep 60", "1.5s"),
        ] {
            let (kind, message) = check(script).await.unwrap_err();
            assert_eq!(kind, "headers-helper-failed", "{message}");
            assert!(message.contains(expected) && !message.contains("s3cret"), "{message}");
        }
        assert!(check(r#"echo '{"a b": "c"}'"#).await.unwrap_err().1.contains("`a b`"));
    }
}
