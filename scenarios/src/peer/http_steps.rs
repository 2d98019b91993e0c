//! What steps do over HTTP in addition to messages: single exchanges, streams, sessions, and requests without authorization.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::{
    Outgoing, Peer, PeerTransport, failure, handshake,
    http::{self, Headers},
};
use crate::evidence::Outcome;

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

    /// The messages that open a further session.
    fn opening_messages(&mut self, wanted: bool) -> Option<(String, String)> {
        if !wanted {
            return None;
        }
        let id = json!(self.take_id());
        let initialize = self.message(&handshake::initialize(self.revision.as_str()), Some(&id));
        let initialized = Outgoing { method: "notifications/initialized".to_owned(), ..Outgoing::default() };
        Some((initialize.to_string(), self.message(&initialized, None).to_string()))
    }
}
