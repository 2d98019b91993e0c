//! A mock server as a value, for tests of clients and agents.
//!
//! This module owns the description of a server ([`Builder`]), the running server ([`MockServer`]) and expectations
//! about its client ([`Expect`]). The [`crate::engine`] creates the messages, and the transports send them. The
//! builders create the same [`Script`] as a file in YAML.
//!
//! ```
//! use mcp_workbench_mock_servers::{MockServer, mock::{Expect, text}, script::Tool};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = MockServer::builder().tool(Tool::new("weather").replies(text("rain"))).start().await?;
//! server.expect(Expect::call("weather").times(0..=1));
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! // Point the client at `server.url()`; what is expected is verified when the server is dropped.
//! # Ok(())
//! # }
//! ```

mod builder;
mod content;
pub mod control;
mod duplex;
mod expect;
mod expectations;
mod offer;
mod received;
mod running;
mod scoped;
mod verification;

use std::{sync::Arc, thread, time::Duration};

use tokio::io::DuplexStream;

pub use self::{
    builder::Builder,
    expect::{Expect, Times},
    offer::{error, structured, text},
    received::Received,
    running::HttpTransport,
    scoped::ScopedExpect,
    verification::UnmetExpectations,
};
use self::{expectations::ExpectationSet, running::RunningServer};
use crate::{
    faults::Exit,
    listen::{Address, FaultHandle, StartError},
    script::Script,
};
use evidence::Frame;

/// A running mock server. Dropping it stops it, and panics if an [expectation](Self::expect) was not met, unless the
/// thread panics already.
#[derive(Debug)]
pub struct MockServer {
    front: Option<RunningServer>,
    faults: FaultHandle,
    address: Option<Address>,
    url: String,
    expectations: Arc<ExpectationSet>,
}

impl MockServer {
    /// Starts a server with a script: over Streamable HTTP, on a port of 127.0.0.1 that the system chooses, and with
    /// all revisions unless the script names some.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(script: Script) -> Result<Self, StartError> {
        Self::builder().script(script).start().await
    }

    /// Starts a server in this process, and returns it with the client's end of a stream of lines, as over stdio.
    /// [`tokio::io::split`] splits it into a reader and a writer.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn duplex(script: Script) -> (Self, DuplexStream) {
        Self::builder().script(script).duplex()
    }

    /// Returns a builder.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn new(front: RunningServer, expectations: ExpectationSet) -> Self {
        let (address, url, faults) = (front.address().cloned(), front.url(), front.faults().clone());
        Self { front: Some(front), faults, address, url, expectations: Arc::new(expectations) }
    }

    /// The URL for clients, such as `http://127.0.0.1:…/mcp`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The URL without the path of the endpoint.
    #[must_use]
    pub fn uri(&self) -> String {
        let scheme = if self.certificate_pem().is_some() { "https" } else { "http" };
        match &self.address {
            Some(Address::Tcp(address)) => format!("{scheme}://{address}"),
            Some(Address::Unix(path)) => format!("unix://{}", path.display()),
            None => self.url(),
        }
    }

    /// The address of the listener; `None` for a server in this process.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        self.address.as_ref()
    }

    /// The certificate that clients have to trust, in PEM; `None` without TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.front.as_ref()?.certificate_pem()
    }

    /// Adds an expectation for the client, from the start of the server (or the last [`Self::reset`]) to its end.
    pub fn expect(&self, expect: Expect) {
        self.expectations.enter(expect);
    }

    /// Adds an expectation for the client from now on, until the returned value is dropped.
    pub fn expect_scoped(&self, expect: Expect) -> ScopedExpect {
        ScopedExpect::new(Arc::clone(&self.expectations), expect)
    }

    /// Checks all expectations.
    ///
    /// # Errors
    /// When something did not.
    pub fn verify(&self) -> Result<(), UnmetExpectations> {
        self.expectations.verify()
    }

    /// Waits until all expectations are met, for at most this time. A notification can arrive after the client
    /// continues.
    ///
    /// # Errors
    /// When something has not come by then.
    pub async fn verify_within(&self, limit: Duration) -> Result<(), UnmetExpectations> {
        self.until(limit, |_| self.verify().is_ok()).await;
        self.verify()
    }

    /// Waits until the received messages satisfy the condition, for at most this time; returns whether they do.
    pub async fn until(&self, limit: Duration, mut fits: impl FnMut(&[Received]) -> bool) -> bool {
        let Some(mut news) = self.expectations.recorder().watch() else { return fits(&self.received()) };
        let waiting = async {
            while !fits(&self.received()) {
                // The sender is in the recorder, which is in `self`.
                if news.changed().await.is_err() {
                    break;
                }
            }
        };
        tokio::time::timeout(limit, waiting).await.is_ok()
    }

    /// The messages from clients since the start, or since the last [`Self::reset`].
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.expectations.received(0)
    }

    /// All frames of both directions, without secrets.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame> {
        self.expectations.recorder().frames()
    }

    /// The handle of the script's named persistent faults.
    #[must_use]
    pub fn faults(&self) -> &FaultHandle {
        &self.faults
    }

    /// Removes received messages, counters and expectations, so that one server can serve several tests: `nth` counts
    /// from one again, and faults have their initial state. Sessions, and changes by the script, stay.
    pub fn reset(&self) {
        self.expectations.reset();
        self.faults.reset();
    }

    /// Waits until every client has disconnected, or for this time. The record then contains the last actions of the
    /// clients.
    pub async fn until_idle(&self, limit: Duration) {
        if let Some(front) = &self.front {
            front.until_idle(limit).await;
        }
    }

    /// Waits until the script stops the server, for example by an `exit` fault.
    pub async fn stopped(&self) {
        if let Some(front) = &self.front {
            front.stopped().await;
        }
    }

    /// The exit of the process that the script requires by an `exit` fault, if it has stopped the server. The owner of
    /// the process executes it with [`crate::stdio::end_process`].
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.front.as_ref()?.exit()
    }

    /// Stops the server, returns when every connection is closed, and panics like a drop if an expectation was not met.
    pub async fn stop(mut self) {
        if let Some(front) = self.front.take() {
            front.stop().await;
        }
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        if let Err(unmet) = self.verify() {
            panic!("{unmet}");
        }
    }
}
