//! A hostile client: it writes any bytes, and reads with a timeout.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// Long enough for any machine; no test waits for it unless it fails.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

/// A response that has come whole.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON in {self:?}"))
    }
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&address, BOUND).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_write_timeout(Some(BOUND)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that nothing more will be said.
    pub(crate) fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// The next response; none if the connection ends before one is whole.
    #[track_caller]
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            self.read()?;
        };
        let head = String::from_utf8(self.buffer.drain(..end).collect()).unwrap();
        let length =
            head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let length = length.unwrap_or(0);
        while self.buffer.len() < length {
            self.read()?;
        }
        let body = self.buffer.drain(..length).collect();
        Some(Reply { status: head[9..12].parse().unwrap(), body })
    }

    /// Whether the server closes the connection, with nothing more said.
    #[track_caller]
    pub(crate) fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && self.read().is_none()
    }

    #[track_caller]
    fn read(&mut self) -> Option<()> {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece) {
            Ok(0) => None,
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                Some(())
            }
            Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                panic!("the server says nothing and keeps the connection; so far {:?}", text(&self.buffer))
            }
            // A reset is an end like any other.
            Err(_) => None,
        }
    }
}

/// A well-formed POST with these headers besides the usual ones.
pub(crate) fn request(headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = head(headers, body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The head of a POST with a body of this length.
pub(crate) fn head(headers: &[(&str, &str)], length: usize) -> String {
    let mut head = "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n".to_owned();
    let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    // What a test says itself takes the place of what is usual.
    let usual = usual.iter().filter(|(name, _)| !headers.iter().any(|(other, _)| other == name));
    for (name, value) in usual.chain(headers) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {length}\r\n\r\n"));
    head
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(300).collect()
}
