//! Sends cancellations to the server.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use rmcp::{
    RoleClient,
    model::{CancelledNotification, CancelledNotificationParam, ClientRequest, CustomRequest, RequestId},
    service::{Peer, PeerRequestOptions},
};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::Connection;
use crate::tracker::RequestTracker;

/// Timeout for pending cancellations when a connection is closed.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);
/// Size of the queue.
const WAITING: usize = 4_096;
/// Timeout for the response to `tasks/cancel`.
const ANSWER: Duration = Duration::from_secs(5);
/// Maximum number of concurrent cancellations. Over HTTP, a server may accept them slowly.
const AT_ONCE: usize = 256;

/// A job of the sending task.
#[derive(Debug)]
enum Job {
    /// Send a cancellation.
    Cancel(Unwanted),
    /// Report that all earlier jobs are done.
    Flush(oneshot::Sender<()>),
}

/// The request or task to cancel.
#[derive(Debug)]
enum Unwanted {
    /// A request, and the reason.
    Request(RequestId, &'static str),
    /// A task.
    Task(String),
}

/// Queue of the sending task.
#[derive(Debug, Clone)]
pub(super) struct Cancellations {
    jobs: mpsc::Sender<Job>,
}

impl Cancellations {
    pub(super) fn start(peer: Peer<RoleClient>, tracker: Arc<RequestTracker>) -> Self {
        let (jobs, to_do) = mpsc::channel(WAITING);
        tokio::spawn(send_each(peer, tracker, to_do));
        Self { jobs }
    }

    /// Cancels a request. It needs no runtime, so that `drop` can call it.
    pub(super) fn cancel(&self, id: RequestId, reason: &'static str) {
        self.ask_for(Unwanted::Request(id, reason));
    }

    /// Cancels a task. It needs no runtime.
    pub(super) fn cancel_task(&self, id: String) {
        self.ask_for(Unwanted::Task(id));
    }

    fn ask_for(&self, unwanted: Unwanted) {
        if self.jobs.try_send(Job::Cancel(unwanted)).is_err() {
            tracing::debug!("cancellation not sent: the connection has ended or is congested");
        }
    }
}

impl Connection {
    /// Waits briefly until queued cancellations are sent, so that a server learns of them before the connection
    /// closes.
    pub(super) async fn flush_cancellations(&self) {
        let (done, flushed) = oneshot::channel();
        if self.inner.cancellations.jobs.send(Job::Flush(done)).await.is_ok() {
            // A timeout has no consequences.
            let _ = tokio::time::timeout(FLUSH_LIMIT, flushed).await;
        }
    }
}

/// rmcp sends in the order of its queue, so a cancellation follows its request. Cancellations do not wait for each
/// other.
async fn send_each(peer: Peer<RoleClient>, tracker: Arc<RequestTracker>, mut jobs: mpsc::Receiver<Job>) {
    let mut under_way = FuturesUnordered::new();
    loop {
        let job = tokio::select! {
            Some(()) = under_way.next(), if !under_way.is_empty() => continue,
            job = jobs.recv(), if under_way.len() < AT_ONCE => job,
        };
        match job {
            Some(Job::Cancel(unwanted)) => under_way.push(cancel(&peer, &tracker, unwanted)),
            Some(Job::Flush(done)) => {
                while under_way.next().await.is_some() {}
                // The receiver may have stopped waiting.
                let _ = done.send(());
            }
            None => break,
        }
    }
    while under_way.next().await.is_some() {}
}

async fn cancel(peer: &Peer<RoleClient>, tracker: &RequestTracker, unwanted: Unwanted) {
    match unwanted {
        Unwanted::Request(id, reason) => send(peer, tracker, id, reason).await,
        Unwanted::Task(id) => {
            let request = CustomRequest::new("tasks/cancel", Some(json!({ "taskId": id })));
            let options = PeerRequestOptions::with_timeout(ANSWER);
            match peer.send_request_with_option(ClientRequest::CustomRequest(request), options).await {
                // The result is visible in the state of the task.
                Ok(handle) => drop(handle.await_response().await),
                Err(error) => tracing::debug!(%error, "failed to cancel a task"),
            }
        }
    }
}

async fn send(peer: &Peer<RoleClient>, tracker: &RequestTracker, id: RequestId, reason: &'static str) {
    let params = CancelledNotificationParam::new(Some(id.clone()), Some(reason.to_owned()));
    let sent = peer.send_notification(CancelledNotification::new(params).into());
    // A rejected cancellation does not affect the next one. After the end, rmcp may never confirm it.
    if let Some(Err(error)) = tracker.closed.run_until_cancelled(sent).await {
        tracing::debug!(%error, "failed to send a cancellation");
    }
    // Over Streamable HTTP in 2026-07-28, closing the response stream cancels the request, without a message.
    tracker.cancel(&id);
}
