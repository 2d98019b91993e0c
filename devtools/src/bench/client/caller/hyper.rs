//! hyper alone: a connection per user, a constant request, and JSON parsed from the response.

use anyhow::{Context as _, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
    header::{ACCEPT, CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use url::Url;

use super::{CallerArgs, User, check_text};
use crate::bench::mock::{TOOL, messages};

/// One connection.
pub(super) struct HyperClient {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    path: String,
    revision: String,
    session: Option<String>,
}

/// All users, each with a connection, and a session if the revision has sessions.
pub(super) async fn users(args: &CallerArgs) -> anyhow::Result<Vec<HyperClient>> {
    let url: Url = args.url.as_deref().context("hyper is measured over HTTP only")?.parse()?;
    let address = url.socket_addrs(|| None)?.first().copied().context("the URL has no address")?;
    let mut users = Vec::with_capacity(args.in_flight);
    for _ in 0..args.in_flight {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let (host, path) = (address.to_string(), url.path().to_owned());
        let mut user = HyperClient { sender, host, path, revision: args.revision.clone(), session: None };
        if messages::has_sessions(&user.revision) {
            user.session = user.post(messages::initialize(&args.revision)).await?.1;
            user.post(messages::initialized()).await?;
        }
        users.push(user);
    }
    Ok(users)
}

impl HyperClient {
    async fn post(&mut self, body: String) -> anyhow::Result<(Bytes, Option<String>)> {
        let mut request = Request::post(self.path.as_str())
            .header(HOST, self.host.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", self.revision.as_str());
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session.as_str());
        }
        if !messages::has_sessions(&self.revision) {
            request = request.header("mcp-method", "tools/call").header("mcp-name", TOOL);
        }
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::from(body))?).await?;
        if !response.status().is_success() {
            bail!("the server rejected a request: {}", response.status());
        }
        let session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        Ok((response.into_body().collect().await?.to_bytes(), session))
    }
}

impl User for HyperClient {
    async fn call(&mut self) -> anyhow::Result<()> {
        let (body, _) = self.post(messages::call(&self.revision)).await?;
        let response: Value = serde_json::from_slice(&body)?;
        check_text(response["result"]["content"][0]["text"].as_str())
    }
}
