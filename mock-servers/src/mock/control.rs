//! The control endpoint of a running server, over HTTP.
//!
//! - `GET /health`: the status and the URL of the server.
//! - `GET /requests`: the messages since the start or the last reset, without secrets.
//! - `POST /reset`: removes received messages and counters (`nth` counts from one again), and resets the faults to
//!   their initial state. Sessions, and changes by the script, stay.
//! - `GET /faults`: the persistent faults.
//! - `PUT /faults/<name>` with `{"enabled": false}`: disables the faults of this name.
//!
//! It listens only on loopback addresses, and rejects pages of foreign origins.

use std::{net::SocketAddr, sync::Arc};

use ::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::body::Body as HttpBody;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::{MockServer, expectations::ExpectationSet};
use crate::listen::{self, Address, FaultHandle, Options, StartError, http_exchange::HttpExchange, wire};
use evidence::Recorder;

/// Marks a control endpoint.
#[derive(Debug)]
enum Controls {}

/// A running control endpoint. Dropping it stops it.
#[derive(Debug)]
pub struct Control {
    server: listen::Server<Controls>,
}

/// Error of starting a control endpoint.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// Other machines could reach the address.
    #[error("the control endpoint needs a loopback address, and {address} is another")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The address could not be bound.
    #[error("the control endpoint could not be started")]
    Start(#[source] StartError),
}

struct Controlled {
    url: String,
    expectations: Arc<ExpectationSet>,
    faults: FaultHandle,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    enabled: bool,
}

/// A status, and a body of JSON.
type Answer = (StatusCode, Value);

impl Control {
    /// Starts the control endpoint of a server; port 0 lets the system choose.
    ///
    /// # Errors
    /// If the address is not a loopback address, or cannot be bound.
    pub async fn start(address: SocketAddr, server: &MockServer) -> Result<Self, ControlError> {
        if !address.ip().is_loopback() {
            return Err(ControlError::NotLoopback { address });
        }
        let expectations = Arc::clone(&server.expectations);
        let controlled = Arc::new(Controlled { url: server.url(), expectations, faults: server.faults().clone() });
        let options = Options::at(Address::Tcp(address));
        let launched = listen::Server::launch(options, "/", Recorder::disabled(), move |_, _| {
            move |exchange, body| serve(Arc::clone(&controlled), exchange, body)
        });
        Ok(Self { server: launched.await.map_err(ControlError::Start)? })
    }

    /// The origin: `http://127.0.0.1:…`, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url().trim_end_matches('/').to_owned()
    }

    /// Stops it, and returns when every connection is closed.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

async fn serve(
    controlled: Arc<Controlled>,
    exchange: HttpExchange,
    body: Incoming,
) -> Result<Response<HttpBody>, listen::response::Aborted> {
    let (status, answer) = match wire::read(body).await {
        Ok(body) => controlled.answer(exchange.method(), exchange.path(), &body),
        Err((status, reason)) => (status, json!({ "error": reason })),
    };
    let mut response = Response::new(HttpBody::from(answer.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

impl Controlled {
    fn answer(&self, method: &Method, path: &str, body: &[u8]) -> Answer {
        match (method.as_str(), path) {
            ("GET", "/health") => (StatusCode::OK, json!({ "status": "running", "url": self.url })),
            ("GET", "/requests") => (StatusCode::OK, json!({ "requests": self.expectations.received(0) })),
            ("POST", "/reset") => {
                self.expectations.forget();
                self.faults.reset();
                (StatusCode::OK, json!({ "faults": self.faults.list() }))
            }
            ("GET", "/faults") => (StatusCode::OK, json!({ "faults": self.faults.list() })),
            ("PUT", path) if path.starts_with("/faults/") => self.switch(path, body),
            (_, "/health" | "/requests" | "/reset" | "/faults") => refused(
                StatusCode::METHOD_NOT_ALLOWED,
                "ask with GET /health, GET /requests, POST /reset, GET /faults or PUT /faults/<name>",
            ),
            _ => refused(StatusCode::NOT_FOUND, "there are /health, /requests, /reset, /faults and /faults/<name>"),
        }
    }

    fn switch(&self, path: &str, body: &[u8]) -> Answer {
        let Ok(Switch { enabled }) = serde_json::from_slice(body) else {
            return refused(StatusCode::BAD_REQUEST, "the body has to be {\"enabled\": true} or {\"enabled\": false}");
        };
        let named = self.faults.list().into_iter().filter_map(|fault| fault.name).find(|name| path_of(name) == path);
        match named.filter(|name| self.faults.set(name, enabled)) {
            Some(_) => (StatusCode::OK, json!({ "faults": self.faults.list() })),
            None => refused(StatusCode::NOT_FOUND, "unknown fault; GET /faults lists all faults"),
        }
    }
}

/// The path of a fault, encoded as clients encode it.
fn path_of(name: &str) -> String {
    let mut url = url::Url::parse("http://localhost/faults").expect("the text is constant and a URL");
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.push(name);
    }
    url.path().to_owned()
}

fn refused(status: StatusCode, words: &str) -> Answer {
    (status, json!({ "error": words }))
}
