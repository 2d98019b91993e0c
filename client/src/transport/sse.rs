//! HTTP+SSE, the transport of 2024-11-05 (transports, "HTTP with SSE"): a GET opens the stream on which the server first
//! names the URL that takes POSTs, and then sends every message.
//!
//! Such a stream cannot be resumed: one that is lost ends its session, and with it all that was under way. Another is
//! opened in its place, and the handshake made again; what is to be sent meanwhile waits.

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
    events::{answered, is_oversize},
    http::{Backoff, HttpClient, HttpFailure, JSON, discard, failure_of},
};
use crate::{
    auth::Authorize,
    config::HttpEndpoint,
    error::ConnectFailure,
    event::Happening,
    ledger::{Failure, Ledger, SESSION_GONE},
};

/// A session that was lost earlier than this counts as a failed try to open one, or a server that breaks each off at once would
/// be asked for ever.
const BRIEF: Duration = Duration::from_secs(1);

/// The transport.
pub(crate) struct SseTransport {
    way: Way,
    events: session::Events,
    read: VecDeque<ServerJsonRpcMessage>,
    /// Where messages go; nowhere while there is no session.
    post_to: watch::Sender<Option<Url>>,
    /// The URLs that do not know their session any more.
    forgotten: (mpsc::UnboundedSender<Url>, mpsc::UnboundedReceiver<Url>),
    /// What a lost stream has taken with it.
    under_way: Arc<Mutex<HashSet<RequestId>>>,
    /// The request of the handshake, once the handshake is over.
    hello: Option<ClientJsonRpcMessage>,
    greeted: bool,
    /// Since when there is this session, and how many before it were brief.
    since: Instant,
    brief: usize,
    renewing: Option<BoxFuture<'static, Result<Renewed, String>>>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
struct Way {
    client: HttpClient,
    base: Url,
    ledger: Arc<Ledger>,
    /// How long a session may take to open.
    limit: Duration,
}

impl SseTransport {
    /// Opens the stream and waits for the `endpoint` event. `limit` bounds each later session.
    pub(crate) async fn open(
        endpoint: &HttpEndpoint,
        ledger: &Arc<Ledger>,
        authorizer: Option<&Arc<dyn Authorize>>,
        limit: Duration,
    ) -> Result<Self, ConnectFailure> {
        let (client, base) = HttpClient::new(endpoint, ledger, limit, authorizer).await?;
        let way = Way { client, base, ledger: Arc::clone(ledger), limit };
        let Session { events, post_to } = Session::open(&way).await?;
        Ok(Self {
            way,
            events,
            read: VecDeque::new(),
            post_to: watch::Sender::new(Some(post_to)),
            forgotten: mpsc::unbounded_channel(),
            under_way: Arc::default(),
            hello: None,
            greeted: false,
            since: Instant::now(),
            brief: 0,
            renewing: None,
        })
    }

    /// Keeps what a new session takes, and what a lost one owes.
    fn note(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                    self.hello = Some(message.clone());
                }
                under_way(&self.under_way).insert(request.id.clone());
            }
            ClientJsonRpcMessage::Notification(notification) => {
                self.greeted |= matches!(notification.notification, ClientNotification::InitializedNotification(_));
            }
            _ => {}
        }
    }

    /// What the next event holds.
    fn take(&mut self, event: Sse) {
        let ledger = &self.way.ledger;
        let messages: Vec<_> = match event {
            event if is_oversize(&event) => ledger.too_long(answered(&event, None)).into_iter().collect(),
            Sse { event, data: Some(data), .. } if matches!(event.as_deref(), None | Some("message")) => {
                ledger.decode(data.as_bytes()).into_iter().collect()
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

    /// The session is lost: whatever is under way in it gets no answer any more. Whether there will be another.
    fn lose(&mut self, why: &str) -> bool {
        self.events = futures::stream::pending().boxed();
        let Some(hello) = self.hello.clone().filter(|_| self.greeted) else {
            self.way.ledger.fail(Failure::Transport(why.to_owned()));
            return false;
        };
        tracing::debug!(why, "the session is lost");
        self.post_to.send_replace(None);
        let lost = std::mem::take(&mut *under_way(&self.under_way));
        let answers = lost
            .into_iter()
            .map(|id| ServerJsonRpcMessage::error(ErrorData::internal_error(SESSION_GONE, None), Some(id)));
        self.read.extend(answers);
        self.brief = if self.since.elapsed() < BRIEF { self.brief + 1 } else { 0 };
        let (way, why, tries) = (self.way.clone(), why.to_owned(), self.brief);
        self.renewing =
            Some(async move { renew(&way, &hello, tries).await.map_err(|error| format!("{why}; {error}")) }.boxed());
        true
    }

    fn go_on(&mut self, renewed: Renewed) {
        self.events = renewed.session.events;
        self.since = Instant::now();
        self.hand_on(renewed.heard);
        self.post_to.send_replace(Some(renewed.session.post_to));
        self.way.ledger.reporter.report(|| Happening::SessionRenewed);
        // Whatever changed in between was told to nobody.
        self.way.ledger.missed_changes();
    }
}

fn under_way(ids: &Mutex<HashSet<RequestId>>) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
    ids.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens another session, at once where nothing has failed before, and then as often as it takes.
async fn renew(way: &Way, hello: &ClientJsonRpcMessage, mut tries: usize) -> Result<Renewed, String> {
    let mut last = "each breaks off at once".to_owned();
    loop {
        if let Some(failed) = tries.checked_sub(1) {
            match Backoff.retry(failed) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(format!("it could not be opened again: {last}")),
            }
        }
        match way.ledger.pause.timeout(way.limit, Session::renew(way, hello)).await {
            Ok(Ok(renewed)) => return Ok(renewed),
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = format!("no session within {:?}", way.limit),
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
            (self.way.client.clone(), self.forgotten.0.clone(), Arc::clone(&self.under_way));
        let mut post_to = self.post_to.subscribe();
        async move {
            let refused = |failure| {
                id.iter().for_each(|id| _ = under_way(&owed).remove(id));
                failure
            };
            let body = body.map_err(|error| refused(HttpFailure::Body(error)))?;
            let url = match post_to.wait_for(Option::is_some).await {
                Ok(url) => url.clone(),
                Err(_) => None,
            };
            let Some(url) = url else { return Err(refused(HttpFailure::Over)) };
            let request =
                |client: &reqwest::Client| client.post(url.clone()).header(CONTENT_TYPE, JSON).body(body.clone());
            let response = client.send(request).await.map_err(refused)?;
            if response.status().is_success() {
                // The body means nothing here; it is read so that the connection can be used again.
                discard(response).await;
                return Ok(());
            }
            if response.status() == StatusCode::NOT_FOUND {
                // Nobody listens any more where the transport is closed.
                let _ = forgotten.send(url);
            }
            Err(refused(failure_of(response).await))
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
                        self.way.ledger.fail(Failure::Transport(error));
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
                // The sender lives in `self`.
                Some(url) = self.forgotten.1.recv() => {
                    // That of a session before this one says nothing about this one.
                    if self.post_to.borrow().as_ref() != Some(&url) || !self.greeted {
                        continue;
                    }
                    "the server has forgotten the session".to_owned()
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
    format!("the event stream broke: {error}")
}
