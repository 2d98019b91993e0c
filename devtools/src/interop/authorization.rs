//! The official scenarios for authorization servers against `mock oauth`.
//!
//! The suite prints the address at which a user is to log in and waits for the redirect; this module is that user.

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
    outcome::{Row, Verdict},
    server::Server,
    suite::{Expected, Prefix, judge_folder},
    tools::Tools,
};

/// How long both scenarios may take together.
const LIMIT: Duration = Duration::from_secs(60);
/// The scenarios, as `conformance list` has them.
const SCENARIOS: [&str; 2] = ["authorization-server-metadata-endpoint", "authorization-code-grant"];
/// The client that the server knows.
const CLIENT: &str = "interop-client";
/// Its secret, where it has one. A colon in it shows whether both sides encode it (RFC 6749 section 2.3.1).
const SECRET: &str = "interop:secret";

/// How the client of the suite shows at the token endpoint who it is. The suite takes the first way that the metadata offer,
/// so the server of each check offers one alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientKind {
    /// It does not: a public client, with PKCE alone.
    Public,
    /// With a secret in the body.
    SecretPost,
    /// With a secret in the header `Authorization`.
    SecretBasic,
}

impl ClientKind {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Public, Self::SecretPost, Self::SecretBasic];

    /// Its name in names of checks.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::SecretPost => "secret-post",
            Self::SecretBasic => "secret-basic",
        }
    }

    /// The authorization server that knows this client, and no other way to authenticate.
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
pub(super) async fn run(tools: &Tools, client: ClientKind, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let script = folder.join("oauth.json");
    fs::write(&script, client.script().to_string()).context("cannot write a script")?;
    let arguments = ["oauth", &script.to_string_lossy(), "--listen", "127.0.0.1:0"];
    let server = Server::start(tools, &arguments, folder).await?;
    let (output, results) = (Output::in_folder(folder, "suite"), folder.join("results"));
    let mut command = child::command(tools.node())?;
    command.arg(tools.suite().join("dist/index.js")).args(["authorization", "--url", &server.url]);
    command.args(client.credentials()).args(["--port", &free_port()?.to_string(), "--output-dir"]).arg(&results);
    command.stdout(Stdio::piped()).stderr(File::create(&output.stderr)?);
    let code = match tokio::time::timeout(LIMIT, as_user(Supervised::start(command)?, &output)).await {
        Ok(code) => code?,
        Err(_) => bail!("not done after {} s: {}", LIMIT.as_secs(), output.complaint()),
    };
    let expected = SCENARIOS.map(|scenario| Expected { scenario: scenario.to_owned(), kind: "unscored".to_owned() });
    let rows = judge_folder(&results, Prefix::Authorization, expected.to_vec())?;
    server.end().await?;
    if code != 0 && rows.iter().all(|row| row.verdict != Verdict::Failed) {
        bail!("the suite ended with exit code {code} though no check failed: {}", output.complaint());
    }
    Ok(rows)
}

/// Reads what the suite prints and logs in where it asks for it. Returns its exit code.
async fn as_user(mut suite: Supervised, output: &Output) -> anyhow::Result<i32> {
    let mut lines = BufReader::new(suite.child.stdout.take().context("no standard output")?).lines();
    let mut kept = File::create(&output.stdout)?;
    while let Some(line) = lines.next_line().await? {
        writeln!(kept, "{line}")?;
        if is_authorization_request(&line) {
            // Following the redirect brings the code to the suite. What went wrong on the way it tells in its verdict.
            let page = client::http_client::builder().build()?.get(&line).send().await;
            if let Err(error) = page {
                writeln!(kept, "the user could not log in: {error}")?;
            }
        }
    }
    suite.child.wait().await?.code().context("the suite was ended by a signal")
}

fn is_authorization_request(line: &str) -> bool {
    line.starts_with("http") && line.contains("response_type=code")
}

/// A port that was free a moment ago: the suite wants to be told one.
fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").context("no free port")?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use mock_servers::oauth::AuthScript;

    use super::*;

    #[test]
    fn the_servers_scripts_are_understood() {
        for client in ClientKind::ALL {
            let script: AuthScript = serde_json::from_value(client.script()).unwrap();
            assert_eq!(script.token_endpoint_auth_methods.len(), 1);
            assert_eq!(script.clients[0].secret.is_some(), client != ClientKind::Public);
        }
    }

    #[test]
    fn logs_in_where_it_is_asked_to_and_nowhere_else() {
        assert!(is_authorization_request("http://127.0.0.1:1/authorize?response_type=code&client_id=x"));
        for other in ["Callback server started: http://127.0.0.1:1", "http://127.0.0.1:1/token", "response_type=code"] {
            assert!(!is_authorization_request(other), "{other}");
        }
    }
}
