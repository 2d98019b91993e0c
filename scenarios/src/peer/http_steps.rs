//! What steps do over HTTP in addition to messages: single exchanges, streams, sessions, and requests without authorization.

use std::{
    net::{IpAddr, Ipv4Addr, UdpSocket},
    time::Duration,
};

use reqwest::Method;
use serde_json::json;
use tokio::{net::TcpStream, time::timeout};

use super::{
    Outgoing, Peer, PeerTransport, failure, handshake,
    http::{self, Headers},
};
use crate::evidence::Outcome;

/// Timeout of a connection at another address. The machine itself accepts or rejects it at once.
const CONNECT: Duration = Duration::from_millis(500);

impl Peer {
    /// Sends a raw HTTP request. Over HTTP+SSE only GET is possible, as the endpoint of messages has POST only.
    pub(crate) async fn raw_exchange(&self, method: &str, headers: Headers, body: Option<String>) -> Outcome {
        let headers = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
        let made = match &self.transport {
            PeerTransport::Http(connection) => {
                let method = match Method::from_bytes(method.as_bytes()) {
                    Ok(method) => method,
                    Err(cause) => return Outcome::Error(failure("input", cause.to_string())),
                };
                let mut all = body.as_deref().map(|text| self.raw_headers(text)).unwrap_or_default();
                all.extend(headers);
                connection.raw_exchange(method, all, body).await
            }
            PeerTransport::Sse(connection) if method == "GET" => {
                connection.get(&headers.collect()).await.map(|status| json!({ "status": status }))
            }
            PeerTransport::Sse(_) | PeerTransport::Stdio(_) => {
                return Outcome::Skipped(format!("{method} is not possible over {}", self.transport()));
            }
        };
        made.map_or_else(|error| Outcome::Error(failure("closed", error)), Outcome::Value)
    }

    /// Opens a stream with GET in the background.
    pub(crate) async fn listen(&mut self, new_session: bool, resume: bool, within: Duration) -> Outcome {
        if new_session && self.revision.is_modern() {
            return Outcome::Skipped("the revision has no sessions".to_owned());
        }
        let last = if resume { self.recorder.first_event_id() } else { None };
        let handshake = self.opening_messages(new_session);
        let PeerTransport::Http(connection) = &self.transport else {
            return Outcome::Skipped("the transport is not HTTP".to_owned());
        };
        let mut headers = Headers::new();
        match last {
            Some(id) => drop(headers.insert("last-event-id".to_owned(), id)),
            None if resume => return Outcome::Skipped("no event of the server has an id".to_owned()),
            None => {}
        }
        if let Some((initialize, initialized)) = handshake {
            match connection.open_session(&initialize, Some(&initialized)).await {
                Ok(Some(session)) => drop(headers.insert(http::SESSION.to_owned(), session)),
                Ok(None) => return Outcome::Skipped("the server opens no session".to_owned()),
                Err(error) => return Outcome::Error(failure("closed", error)),
            }
        }
        match connection.listen(headers, within).await {
            Ok(value) => Outcome::Value(value),
            Err(error) => Outcome::Error(failure("no-answer", error)),
        }
    }

    /// Whether these headers name a further session that no step opened, or another client that is not there.
    pub(crate) fn names_unknown_session(&self, headers: &Headers) -> bool {
        matches!(&self.transport, PeerTransport::Http(connection) if connection.names_unknown_session(headers))
    }

    /// Opens so many sessions and closes them. The value describes the variety of their ids.
    pub(crate) async fn open_sessions(&mut self, count: u8) -> Outcome {
        for _ in 0..count {
            let Some((initialize, _)) = self.opening_messages(true) else { break };
            let PeerTransport::Http(connection) = &self.transport else { break };
            if let Err(error) = connection.open_session(&initialize, None).await {
                return Outcome::Error(failure("closed", error));
            }
        }
        match &self.transport {
            PeerTransport::Http(connection) => {
                connection.close_others().await;
                Outcome::Value(connection.session_variety())
            }
            _ => Outcome::Skipped("the transport is not HTTP".to_owned()),
        }
    }

    /// Sends a request without authorization and with an invalid token. The value describes the reactions.
    pub(crate) async fn probe_protection(&mut self, request: Outgoing) -> Outcome {
        let id = json!(self.take_id());
        let message = self.message(&request, Some(&id));
        let headers = self.headers(&message, request.bare);
        let PeerTransport::Http(connection) = &self.transport else {
            return Outcome::Skipped("the transport is not Streamable HTTP".to_owned());
        };
        match connection.protection(&message.to_string(), headers).await {
            Ok(value) => Outcome::Value(value),
            Err(error) => Outcome::Error(failure("closed", error)),
        }
    }

    /// Connects to the port of the server at another address of this machine.
    pub(crate) async fn connect_elsewhere(&self) -> Outcome {
        let url = match &self.transport {
            PeerTransport::Http(connection) => connection.url(),
            PeerTransport::Sse(connection) => connection.url(),
            PeerTransport::Stdio(_) => return Outcome::Skipped("the transport is not HTTP".to_owned()),
        };
        let url = url.filter(|url| client::http_client::is_loopback(url));
        let Some(port) = url.and_then(|url| url.port_or_known_default()) else {
            return Outcome::Skipped("the server does not listen at a loopback address".to_owned());
        };
        let Some(address) = other_address() else {
            return Outcome::Skipped("this machine has no other address".to_owned());
        };
        let connected = timeout(CONNECT, TcpStream::connect((address, port))).await.is_ok_and(|made| made.is_ok());
        Outcome::Value(json!({ "address": format!("{address}:{port}"), "connected": connected }))
    }

    /// The messages that open a further session, of a client with all capabilities.
    fn opening_messages(&mut self, wanted: bool) -> Option<(String, String)> {
        if !wanted {
            return None;
        }
        let id = json!(self.take_id());
        let initialize = self.message(&handshake::initialize(self.revision, &handshake::all_capabilities()), Some(&id));
        Some((initialize.to_string(), self.message(&handshake::initialized(), None).to_string()))
    }
}

/// An address of this machine at which a server that listens at `127.0.0.1` or `::1` alone cannot be reached.
fn other_address() -> Option<IpAddr> {
    // On Linux all of 127.0.0.0/8 is the loopback interface, so that no other interface is needed.
    if cfg!(target_os = "linux") {
        return Some(Ipv4Addr::new(127, 0, 0, 2).into());
    }
    // Sends nothing: the system selects the address from which it would send to this one, which is for documentation (RFC 5737).
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_loopback())
}
