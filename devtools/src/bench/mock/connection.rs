//! A connection of the load generator. It writes constant requests and reads responses by `content-length` only, because the
//! overhead of a complete HTTP client would favor the slower server.

use std::net::SocketAddr;

use anyhow::{Context as _, anyhow, bail};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Maximum size of a response.
const MAX_BYTES: usize = 1024 * 1024;

/// A connection and its read buffer.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Length of the last response in the buffer.
    used: usize,
}

/// A response.
#[derive(Debug)]
pub(super) struct Response<'a> {
    pub(super) head: &'a str,
    pub(super) body: &'a [u8],
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect to the server")?;
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096), used: 0 })
    }

    /// Sends a request and reads its response, which needs a `content-length`.
    pub(super) async fn request(&mut self, request: &[u8]) -> anyhow::Result<Response<'_>> {
        let end = self.head_of(request).await?;
        let length = length(text(&self.buffer[..end])?)?;
        while self.buffer.len() < end + length {
            self.fill().await?;
        }
        self.used = end + length;
        Ok(Response { head: text(&self.buffer[..end])?, body: &self.buffer[end..self.used] })
    }

    /// Sends a request and reads the head of its response, whose body is a stream.
    pub(super) async fn begin(&mut self, request: &[u8]) -> anyhow::Result<&str> {
        let end = self.head_of(request).await?;
        text(&self.buffer[..end])
    }

    async fn head_of(&mut self, request: &[u8]) -> anyhow::Result<usize> {
        self.buffer.drain(..self.used);
        self.used = 0;
        self.stream.write_all(request).await.context("cannot send a request")?;
        loop {
            if let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                return Ok(end + 4);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> anyhow::Result<()> {
        if self.buffer.len() > MAX_BYTES {
            bail!("the response is too large");
        }
        match self.stream.read_buf(&mut self.buffer).await.context("cannot read the response")? {
            0 => bail!("the server closed the connection before the response"),
            _ => Ok(()),
        }
    }
}

impl Response<'_> {
    /// Fails unless the status is 2xx.
    pub(super) fn require_success(&self) -> anyhow::Result<()> {
        if self.head.get(8..11).is_some_and(|start| start == " 20") {
            return Ok(());
        }
        let status = self.head.lines().next().unwrap_or_default();
        bail!("the server rejected a request: {status}: {}", String::from_utf8_lossy(self.body));
    }
}

fn text(head: &[u8]) -> anyhow::Result<&str> {
    std::str::from_utf8(head).context("the head of a response is not UTF-8")
}

/// The value of a header.
pub(super) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (given, value) = line.split_once(':')?;
        given.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The length of the body that follows a head.
fn length(head: &str) -> anyhow::Result<usize> {
    match header(head, "content-length") {
        Some(length) => length.parse().context("the `content-length` of a response is not a number"),
        // These never have a body (RFC 9110, 6.4.1).
        None if head.get(9..12).is_some_and(|status| status == "202" || status == "204") => Ok(0),
        None => Err(anyhow!("a response has no `content-length`")),
    }
}
