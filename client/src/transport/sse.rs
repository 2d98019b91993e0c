//! HTTP+SSE, the transport of 2024-11-05 (transports, "HTTP with SSE"). A GET opens a stream. The server first sends
//! the URL for POSTs, then all messages.
//!
//! A stream cannot be resumed. If it is lost, its session and pending requests are lost too. A new session is opened
//! and the handshake repeated, while outgoing messages wait.

mod session;

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, StreamExt, future::BoxFuture};
use http::{StatusCode, header::CONTENT_TYPE};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::{Transport, common::client_side_sse::SseRetryPolicy},
};
use sse_stream::{Error as SseError, Sse};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use url::Url;

use self::session::{Renewed, Session};
use super::{
    events::{is_oversize, response_id},
    http::{Backoff, HttpClient, HttpFailure, JSON, discard, failure_of},
};
use crate::{
    auth::Authorize,
    config::HttpEndpoint,
    error::ConnectFailure,
    event::ClientEventKind,
    tracker::{Failure, RequestTracker, SESSION_GONE},
};

/// A shorter session counts as a failed attempt. Otherwise a server that closes each one immediately would be
/// requested forever.
const BRIEF: Duration = Duration::from_secs(1);

/// The HTTP+SSE transport.
pub(crate) struct SseTransport {
    target: SseTarget,
    events: session::Events,
    read: VecDeque<ServerJsonRpcMessage>,
    /// The URL for messages; `None` without a session.
    post_to: watch::Sender<Option<Url>>,
    /// URLs of expired sessions.
    forgotten: (mpsc::UnboundedSender<Url>, mpsc::UnboundedReceiver<Url>),
    /// Requests that are pending in the session.
    under_way: Arc<Mutex<HashSet<RequestId>>>,
    /// The request of the handshake, after the handshake.
    initialize: Option<ClientJsonRpcMessage>,
    initialized: bool,
    /// Start of the session, and the number of short sessions before it.
    since: Instant,
    brief: usize,
    renewing: Option<BoxFuture<'static, Result<Renewed, String>>>,
}

/// How to reach a server.
#[derive(Debug, Clone)]
struct SseTarget {
    client: HttpClient,
    base: Url,
    tracker: Arc<RequestTracker>,
    /// Timeout for opening a session.
    limit: Duration,
}

impl SseTransport {
    /// Opens the stream and waits for the `endpoint` event. `limit` applies to each later session.
    pub(crate) async fn open(
        endpoint: &HttpEndpoint,
        tracker: &Arc<RequestTracker>,
        authorizer: Option<&Arc<dyn Authorize>>,
        limit: Duration,
    ) -> Result<Self, ConnectFailure> {
        let (client, base) = HttpClient::new(endpoint, tracker, limit, authorizer).await?;
        let target = SseTarget { client, base, tracker: Arc::clone(tracker), limit };
        let Session { events, post_to } = Session::open(&target).await?;
        Ok(Self {
            target,
            events,
            read: VecDeque::new(),
            post_to: watch::Sender::new(Some(post_to)),
            forgotten: mpsc::unbounded_channel(),
            under_way: Arc::default(),
            initialize: None,
            initialized: false,
            since: Instant::now(),
            brief: 0,
            renewing: None,
        })
    }

    /// Records pending requests, and the handshake for later sessions.
    fn note(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                    self.initialize = Some(message.clone());
                }
                under_way(&self.under_way).insert(request.id.clone());
            }
            ClientJsonRpcMessage::Notification(notification) => {
                self.initialized |= matches!(notification.notification, ClientNotification::InitializedNotification(_));
            }
            _ => {}
        }
    }

    /// Handles an event.
    fn take(&mut self, event: Sse) {
        let tracker = &self.target.tracker;
        let messages: Vec<_> = match event {
            event if is_oversize(&event) => tracker.too_long(response_id(&event, None)).into_iter().collect(),
            Sse { event, data: Some(data), .. } if matches!(event.as_deref(), None | Some("message")) => {
                tracker.decode(data.as_bytes()).into_iter().collect()
            }
            _ => return,
        };
        self.hand_on(messages);
    }

    fn hand_on(&mut self, messages: Vec<ServerJsonRpcMessage>) {
        let mut owed = under_way(&self.under_way);
        for message in &messages {
            match message {
                ServerJsonRpcMessage::Response(response) => _ = owed.remove(&response.id),
                ServerJsonRpcMessage::Error(error) => error.id.iter().for_each(|id| _ = owed.remove(id)),
                _ => {}
            }
        }
        drop(owed);
        self.read.extend(messages);
    }

    /// Handles the loss of the session: pending requests fail. Returns whether a new session will be opened.
    fn lose(&mut self, why: &str) -> bool {
        self.events = futures::stream::pending().boxed();
        let Some(initialize) = self.initialize.clone().filter(|_| self.initialized) else {
            self.target.tracker.fail(Failure::Transport(why.to_owned()));
            return false;
        };
        tracing::debug!(why, "session lost");
        self.post_to.send_replace(None);
        let lost = std::mem::take(&mut *under_way(&self.under_way));
        let responses = lost
            .into_iter()
            .map(|id| ServerJsonRpcMessage::error(ErrorData::internal_error(SESSION_GONE, None), Some(id)));
        self.read.extend(responses);
        self.brief = if self.since.elapsed() < BRIEF { self.brief + 1 } else { 0 };
        let (target, why, tries) = (self.target.clone(), why.to_owned(), self.brief);
        self.renewing = Some(
            async move { renew(&target, &initialize, tries).await.map_err(|error| format!("{why}; {error}")) }.boxed(),
        );
        true
    }

    fn go_on(&mut self, renewed: Renewed) {
        self.events = renewed.session.events;
        self.since = Instant::now();
        self.hand_on(renewed.received);
        self.post_to.send_replace(Some(renewed.session.post_to));
        self.target.tracker.reporter.report(|| ClientEventKind::SessionRenewed);
        // Changes in the meantime were not announced.
        self.target.tracker.missed_changes();
    }
}

fn under_way(ids: &Mutex<HashSet<RequestId>>) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
    ids.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a new session, immediately after the first loss and then with backoff.
async fn renew(target: &SseTarget, initialize: &ClientJsonRpcMessage, mut tries: usize) -> Result<Renewed, String> {
    let mut last = "the server closes each stream immediately".to_owned();
    loop {
        if let Some(failed) = tries.checked_sub(1) {
            match Backoff.retry(failed) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(format!("reconnecting failed: {last}")),
            }
        }
        match target.tracker.pause.timeout(target.limit, Session::renew(target, initialize)).await {
            Ok(Ok(renewed)) => return Ok(renewed),
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = format!("no session within {:?}", target.limit),
        }
        tries += 1;
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = HttpFailure;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.note(&message);
        let id = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let body = serde_json::to_vec(&message).map(bytes::Bytes::from);
        let (client, forgotten, owed) =
            (self.target.client.clone(), self.forgotten.0.clone(), Arc::clone(&self.under_way));
        let mut post_to = self.post_to.subscribe();
        async move {
            let rejected = |failure| {
                id.iter().for_each(|id| _ = under_way(&owed).remove(id));
                failure
            };
            let body = body.map_err(|error| rejected(HttpFailure::Body(error)))?;
            let url = match post_to.wait_for(Option::is_some).await {
                Ok(url) => url.clone(),
                Err(_) => None,
            };
            let Some(url) = url else { return Err(rejected(HttpFailure::Over)) };
            let request =
                |client: &reqwest::Client| client.post(url.clone()).header(CONTENT_TYPE, JSON).body(body.clone());
            let response = client.send(request).await.map_err(rejected)?;
            if response.status().is_success() {
                // The body is read so that the connection can be reused.
                discard(response).await;
                return Ok(());
            }
            if response.status() == StatusCode::NOT_FOUND {
                // The receiver may have been dropped.
                let _ = forgotten.send(url);
            }
            Err(rejected(failure_of(response).await))
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.read.pop_front() {
                return Some(message);
            }
            if let Some(renewing) = &mut self.renewing {
                let renewed = renewing.await;
                self.renewing = None;
                match renewed {
                    Ok(renewed) => self.go_on(renewed),
                    Err(error) => {
                        self.target.tracker.fail(Failure::Transport(error));
                        return None;
                    }
                }
                continue;
            }
            let why = tokio::select! {
                event = self.events.next() => match event {
                    Some(Ok(event)) => {
                        self.take(event);
                        continue;
                    }
                    Some(Err(error)) => broken(&error),
                    None => "the event stream ended".to_owned(),
                },
                // The sender is a field of `self`.
                Some(url) = self.forgotten.1.recv() => {
                    // An earlier session does not affect this one.
                    if self.post_to.borrow().as_ref() != Some(&url) || !self.initialized {
                        continue;
                    }
                    "the session expired".to_owned()
                }
            };
            if !self.lose(&why) {
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures::stream::empty().boxed();
        self.renewing = None;
        Ok(())
    }
}

fn broken(error: &SseError) -> String {
    format!("the event stream failed: {error}")
}
