//! The official scenarios for authorization servers against `mock oauth`.
//!
//! The suite prints the authorization URL and waits for the redirect. This module acts as the user who opens the URL.

use std::{
    fs::{self, File},
    io::Write as _,
    net::TcpListener,
    path::Path,
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{
    child::{self, Output, Supervised},
    outcome::{CheckStatus, Row},
    server::Server,
    suite::{Expected, Prefix, judge_results},
    tools::Tools,
};

/// Timeout of both scenarios together.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Names of the scenarios in `conformance list`.
const SCENARIOS: [&str; 2] = ["authorization-server-metadata-endpoint", "authorization-code-grant"];
/// ID of the registered client.
const CLIENT: &str = "interop-client";
/// Secret of a confidential client. Its colon tests the encoding (RFC 6749, section 2.3.1).
const SECRET: &str = "interop:secret";

/// Client authentication at the token endpoint. The suite uses the first method of the metadata, so the server of each
/// check supports a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientAuth {
    /// None: a public client with PKCE.
    Public,
    /// A secret in the body.
    SecretPost,
    /// A secret in the `Authorization` header.
    SecretBasic,
}

impl ClientAuth {
    /// All methods.
    pub(super) const ALL: [Self; 3] = [Self::Public, Self::SecretPost, Self::SecretBasic];

    /// The name in names of checks.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::SecretPost => "secret-post",
            Self::SecretBasic => "secret-basic",
        }
    }

    /// Script of an authorization server with this client and this method only.
    fn script(self) -> Value {
        let (method, secret) = match self {
            Self::Public => ("none", None),
            Self::SecretPost => ("client_secret_post", Some(SECRET)),
            Self::SecretBasic => ("client_secret_basic", Some(SECRET)),
        };
        let mut client = json!({ "id": CLIENT, "redirect_uris": ["http://127.0.0.1/callback"] });
        if let Some(secret) = secret {
            client["secret"] = secret.into();
        }
        json!({ "clients": [client], "token_endpoint_auth_methods": [method] })
    }

    fn credentials(self) -> &'static [&'static str] {
        match self {
            Self::Public => &["--client-id", CLIENT],
            Self::SecretPost | Self::SecretBasic => &["--client-id", CLIENT, "--client-secret", SECRET],
        }
    }
}

/// Runs the scenarios.
pub(super) async fn run(tools: &Tools, client: ClientAuth, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let script = directory.join("oauth.json");
    fs::write(&script, client.script().to_string()).context("cannot write a script")?;
    let arguments = ["oauth", &script.to_string_lossy(), "--listen", "127.0.0.1:0"];
    let server = Server::start(tools, &arguments, directory).await?;
    let (output, results) = (Output::in_directory(directory, "suite"), directory.join("results"));
    let mut command = child::command(tools.node())?;
    command.arg(tools.suite().join("dist/index.js")).args(["authorization", "--url", &server.url]);
    command.args(client.credentials()).args(["--port", &free_port()?.to_string(), "--output-dir"]).arg(&results);
    command.stdout(Stdio::piped()).stderr(File::create(&output.stderr)?);
    let code = match tokio::time::timeout(TIMEOUT, as_user(Supervised::start(command)?, &output)).await {
        Ok(code) => code?,
        Err(_) => bail!("the suite timed out after {} s: {}", TIMEOUT.as_secs(), output.last_lines()),
    };
    let expected = SCENARIOS.map(|scenario| Expected { scenario: scenario.to_owned(), kind: "unscored".to_owned() });
    let rows = judge_results(&results, Prefix::Authorization, expected.to_vec())?;
    server.stop().await?;
    if code != 0 && rows.iter().all(|row| row.status != CheckStatus::Failed) {
        bail!("the suite exited with code {code}, but no check failed: {}", output.last_lines());
    }
    Ok(rows)
}

/// Reads the output of the suite and opens the authorization URL. Returns the exit code of the suite.
async fn as_user(mut suite: Supervised, output: &Output) -> anyhow::Result<i32> {
    let mut lines = BufReader::new(suite.child.stdout.take().context("no standard output")?).lines();
    let mut log = File::create(&output.stdout)?;
    while let Some(line) = lines.next_line().await? {
        writeln!(log, "{line}")?;
        if is_authorization_request(&line) {
            // The redirect sends the code to the suite, whose checks report errors.
            let page = client::http_client::builder().build()?.get(&line).send().await;
            if let Err(error) = page {
                writeln!(log, "login failed: {error}")?;
            }
        }
    }
    suite.child.wait().await?.code().context("a signal terminated the suite")
}

fn is_authorization_request(line: &str) -> bool {
    line.starts_with("http") && line.contains("response_type=code")
}

/// A port that was free just now; the suite cannot choose one itself.
fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").context("no free port")?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use mock_servers::oauth::AuthScript;

    use super::*;

    #[test]
    fn the_scripts_of_the_servers_are_valid() {
        for client in ClientAuth::ALL {
            let script: AuthScript = serde_json::from_value(client.script()).unwrap();
            assert_eq!(script.token_endpoint_auth_methods.len(), 1);
            assert_eq!(script.clients[0].secret.is_some(), client != ClientAuth::Public);
        }
    }

    #[test]
    fn recognizes_the_authorization_request() {
        assert!(is_authorization_request("http://127.0.0.1:1/authorize?response_type=code&client_id=x"));
        for other in ["Callback server started: http://127.0.0.1:1", "http://127.0.0.1:1/token", "response_type=code"] {
            assert!(!is_authorization_request(other), "{other}");
        }
    }
}
