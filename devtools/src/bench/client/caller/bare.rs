//! hyper alone: a connection for each user, always the same request, and JSON read from the answer.

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

use super::{CallerArgs, User, must_be_the_answer};
use crate::bench::mock::{TOOL, speech};

/// One connection.
pub(super) struct Bare {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    path: String,
    revision: String,
    session: Option<String>,
}

/// All users, each with a connection, and with a session where the revision has them.
pub(super) async fn users(args: &CallerArgs) -> anyhow::Result<Vec<Bare>> {
    let url: Url = args.url.as_deref().context("hyper is measured over HTTP only")?.parse()?;
    let address = url.socket_addrs(|| None)?.first().copied().context("the URL has no address")?;
    let mut users = Vec::with_capacity(args.in_flight);
    for _ in 0..args.in_flight {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let (host, path) = (address.to_string(), url.path().to_owned());
        let mut user = Bare { sender, host, path, revision: args.revision.clone(), session: None };
        if speech::has_sessions(&user.revision) {
            user.session = user.post(speech::initialize(&args.revision)).await?.1;
            user.post(speech::initialized()).await?;
        }
        users.push(user);
    }
    Ok(users)
}

impl Bare {
    async fn post(&mut self, body: String) -> anyhow::Result<(Bytes, Option<String>)> {
        let mut request = Request::post(self.path.as_str())
            .header(HOST, self.host.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", self.revision.as_str());
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session.as_str());
        }
        if !speech::has_sessions(&self.revision) {
            request = request.header("mcp-method", "tools/call").header("mcp-name", TOOL);
        }
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::from(body))?).await?;
        if !response.status().is_success() {
            bail!("the server refuses a request: {}", response.status());
        }
        let session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        Ok((response.into_body().collect().await?.to_bytes(), session))
    }
}

impl User for Bare {
    async fn call(&mut self) -> anyhow::Result<()> {
        let (body, _) = self.post(speech::call(&self.revision)).await?;
        let answer: Value = serde_json::from_slice(&body)?;
        must_be_the_answer(answer["result"]["content"][0]["text"].as_str())
    }
}
