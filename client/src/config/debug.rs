//! `Debug` output of a configuration: names and paths only. Values of headers and variables, arguments, userinfo and
//! queries may be secrets, and debug output ends up in logs.

use std::fmt;

use url::Url;

use super::{HeadersHelper, HttpEndpoint, StdioEndpoint};

impl fmt::Debug for StdioEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioEndpoint")
            .field("command", &program(&self.command))
            .field("args", &format_args!("[{} not shown]", self.args.len()))
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("env_vars", &self.env_vars)
            .field("inherit", &self.inherit)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEndpoint")
            .field("url", &format_args!("{}", without_secrets(&self.url)))
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("env_headers", &self.env_headers)
            .field("bearer_token_env", &self.bearer_token_env)
            .field("headers_helper", &self.headers_helper)
            .field("http2", &self.http2)
            .finish()
    }
}

impl fmt::Debug for HeadersHelper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeadersHelper")
            .field("command", &program(&self.command))
            .field("args", &format_args!("[{} not shown]", self.args.len()))
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// The command, unless it contains an assignment: `KEY=… server`.
fn program(command: &str) -> &str {
    if command.contains('=') { "(not shown)" } else { command }
}

/// The URL without userinfo and query (RFC 3986, 3.2.1 and 3.4).
fn without_secrets(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return "(no URL)".to_owned() };
    // Both fail only for URLs that cannot have userinfo.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.set_query(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use crate::config::{Endpoint, HeadersHelper, HttpEndpoint, ServerConfig, StdioEndpoint};

    #[test]
    fn debug_shows_names_and_no_values() {
        let pairs = |name: &str| [(name.to_owned(), "hunter2".to_owned())].into();
        let http = HttpEndpoint {
            url: "https://me:hunter2@example.com/mcp?key=hunter2".into(),
            headers: pairs("Authorization"),
            headers_helper: Some(HeadersHelper { args: vec!["hunter2".into()], ..HeadersHelper::new("helper") }),
            ..HttpEndpoint::default()
        };
        let stdio = StdioEndpoint {
            command: "server".into(),
            args: vec!["--token".into(), "hunter2".into()],
            env: pairs("KEY"),
            ..StdioEndpoint::default()
        };
        for (endpoint, shown) in [
            (Endpoint::Auto(http), ["https://example.com/mcp", "Authorization", "helper"]),
            (Endpoint::Stdio(stdio), ["server", "KEY", "[2 not shown]"]),
        ] {
            let text = format!("{:?}", ServerConfig::new("s", endpoint));
            assert!(!text.contains("hunter2") && shown.iter().all(|name| text.contains(name)), "{text}");
        }
    }
}
