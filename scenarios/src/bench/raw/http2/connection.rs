//! One connection: opens it, and starts streams on it.

use std::{io, sync::Arc};

use bytes::Bytes;
use h2::{
    SendStream,
    client::{Builder, ResponseFuture, SendRequest},
};
use http::{HeaderValue, header::CONTENT_LENGTH};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{
    Route,
    stream::{CountedStream, Traffic},
};
use crate::bench::raw::pacer::NextRequest;

/// Bytes that a server may send on a stream, and on a connection, before they are read. They are larger than most
/// responses, so that flow control does not delay calls.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// A connection.
pub(super) struct Connection {
    route: Route,
    sender: Option<SendRequest<Bytes>>,
    /// Whether it is being opened.
    pub(super) opening: bool,
    /// Not before this time it is opened again.
    pub(super) retry_at: Option<Instant>,
    /// Requests that wait for the connection, with their ids.
    pub(super) waiting: Vec<(u64, NextRequest)>,
}

impl Connection {
    pub(super) fn new(route: Route) -> Self {
        Self { route, sender: None, opening: false, retry_at: None, waiting: Vec::new() }
    }

    /// Opens it, without changing it. A server that does not accept until the deadline fails it.
    pub(super) fn open(
        &self,
        traffic: Arc<Traffic>,
        deadline: Instant,
    ) -> impl Future<Output = io::Result<SendRequest<Bytes>>> + Send + use<> {
        let (address, retry_at) = (Arc::clone(&self.route.address), self.retry_at);
        async move {
            if let Some(retry_at) = retry_at {
                sleep_until(retry_at).await;
            }
            let opened = timeout_at(deadline, async {
                let stream = CountedStream::connect(&address, traffic).await?;
                let mut builder = Builder::new();
                builder
                    .enable_push(false)
                    .initial_window_size(STREAM_WINDOW)
                    .initial_connection_window_size(CONNECTION_WINDOW)
                    // Requests wait for the limit of the server.
                    .initial_max_send_streams(0);
                builder.handshake(stream).await.map_err(io::Error::other)
            });
            let (sender, connection) = opened.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            tokio::spawn(async move {
                // Its streams have the same error.
                if let Err(cause) = connection.await {
                    tracing::debug!(%cause, "a connection ended");
                }
            });
            Ok(sender)
        }
    }

    /// Uses an open connection.
    pub(super) fn opened(&mut self, sender: SendRequest<Bytes>) {
        self.sender = Some(sender);
        self.retry_at = None;
    }

    /// Starts a stream with a request. Beyond the limit of the server it waits.
    ///
    /// # Errors
    /// If the connection is closed or closing, or the request is invalid. `None` if it was never opened.
    pub(super) fn send(
        &mut self,
        id: u64,
        NextRequest { call, cursor }: &NextRequest,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), Option<h2::Error>> {
        // Each clone may have one stream that waits for the limit.
        let mut sender = self.sender.clone().ok_or(None)?;
        let mut body = Vec::with_capacity(256);
        self.route.requests.fill(&mut body, id, call.at, cursor.as_deref());
        let mut head = self.route.heads[call.at.operation].clone();
        head.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        let sent = sender.send_request(head, false).and_then(|(response, mut stream)| {
            stream.send_data(body.into(), true)?;
            Ok((response, stream))
        });
        sent.map_err(|cause| {
            self.sender = None;
            Some(cause)
        })
    }
}
