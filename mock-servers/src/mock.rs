//! A mock server as a value: what the tests of a client, or of an agent, start.
//!
//! This module owns how a server is described ([`Builder`]), held ([`MockServer`]) and held to account for what its
//! client does ([`Expect`]). What the server says is the business of the [`crate::engine`], and how it travels that of
//! the fronts. What the builders make is the same [`Script`] that a file says in YAML.
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

/// A mock server that runs. Dropping it stops it, and panics if something that was [expected](Self::expect) did not
/// come as it should, unless the thread panics already.
#[derive(Debug)]
pub struct MockServer {
    front: Option<RunningServer>,
    faults: FaultHandle,
    address: Option<Address>,
    url: String,
    expectations: Arc<ExpectationSet>,
}

impl MockServer {
    /// Starts a server that does what a script says: over Streamable HTTP, on a port of 127.0.0.1 that the system
    /// chooses, and in every protocol revision unless the script names some.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(script: Script) -> Result<Self, StartError> {
        Self::builder().script(script).start().await
    }

    /// Starts a server in this process that does what a script says; what comes back beside it is the client's end of a
    /// stream of lines, as over stdio. It can be split into a reader and a writer with [`tokio::io::split`].
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn duplex(script: Script) -> (Self, DuplexStream) {
        Self::builder().script(script).duplex()
    }

    /// Describes a server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn new(front: RunningServer, expectations: ExpectationSet) -> Self {
        let (address, url, faults) = (front.address().cloned(), front.url(), front.faults().clone());
        Self { front: Some(front), faults, address, url, expectations: Arc::new(expectations) }
    }

    /// The URL that a client is to be given: `http://127.0.0.1:…/mcp`, say.
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

    /// The address that the server listens on; none of one in this process.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        self.address.as_ref()
    }

    /// The certificate that a client has to trust, in PEM; none without TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.front.as_ref()?.certificate_pem()
    }

    /// Expects something of the client, from the start of the server (or the last [`Self::reset`]) to its end.
    pub fn expect(&self, expect: Expect) {
        self.expectations.enter(expect);
    }

    /// Expects something of the client from now on, until what this returns is dropped.
    pub fn expect_scoped(&self, expect: Expect) -> ScopedExpect {
        ScopedExpect::new(Arc::clone(&self.expectations), expect)
    }

    /// Says whether all that is expected came as it should.
    ///
    /// # Errors
    /// When something did not.
    pub fn verify(&self) -> Result<(), UnmetExpectations> {
        self.expectations.verify()
    }

    /// Waits until all that is expected has come, and for this time at the most: a notification may still be on its
    /// way when the client goes on.
    ///
    /// # Errors
    /// When something has not come by then.
    pub async fn verify_within(&self, limit: Duration) -> Result<(), UnmetExpectations> {
        self.until(limit, |_| self.verify().is_ok()).await;
        self.verify()
    }

    /// Returns when what came so far fits, and after this time at the latest; says which it was.
    pub async fn until(&self, limit: Duration, mut fits: impl FnMut(&[Received]) -> bool) -> bool {
        let Some(mut news) = self.expectations.recorder().watch() else { return fits(&self.received()) };
        let waiting = async {
            while !fits(&self.received()) {
                // The sender lives in the recorder, which lives in `self`.
                if news.changed().await.is_err() {
                    break;
                }
            }
        };
        tokio::time::timeout(limit, waiting).await.is_ok()
    }

    /// The messages that came from clients since the start, or the last [`Self::reset`].
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.expectations.received(0)
    }

    /// Everything that crossed the wire, in both directions, scrubbed of secrets.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame> {
        self.expectations.recorder().frames()
    }

    /// Switches the standing faults of the script, those that have a name.
    #[must_use]
    pub fn faults(&self) -> &FaultHandle {
        &self.faults
    }

    /// Forgets what came, what was counted and what is expected, so that one server can serve several tests in turn: `nth`
    /// counts from one again, and every fault is as the script has it at the start. Sessions go on, and what a script has
    /// changed stays changed.
    pub fn reset(&self) {
        self.expectations.reset();
        self.faults.reset();
    }

    /// Returns when every client has hung up, and after this time at the latest: what a client did last is then in the
    /// record.
    pub async fn until_idle(&self, limit: Duration) {
        if let Some(front) = &self.front {
            front.until_idle(limit).await;
        }
    }

    /// Returns when the server has stopped, because its script says so: an `exit` fault, say.
    pub async fn stopped(&self) {
        if let Some(front) = &self.front {
            front.stopped().await;
        }
    }

    /// How the script wants the server's process to end, by an `exit` fault; none if it has not said so. The server is gone
    /// by then; the process is its owner's, and [`crate::stdio::end_process`] ends it in that way.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.front.as_ref()?.exit()
    }

    /// Stops the server, returns when every connection is closed, and panics as dropping it does.
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
