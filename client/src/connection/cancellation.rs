//! Telling the server that nobody waits for an answer any more.

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
use crate::ledger::Ledger;

/// How long a connection that is being closed waits for its last cancellations to be sent.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);
/// How many cancellations may wait to be sent.
const WAITING: usize = 4_096;
/// How long a server may take to answer that a task is cancelled.
const ANSWER: Duration = Duration::from_secs(5);
/// How many may be on their way: over HTTP a server may take its time to accept one.
const AT_ONCE: usize = 256;

/// Something for the task that sends cancellations.
#[derive(Debug)]
enum Job {
    /// Tell the server.
    Cancel(Unwanted),
    /// Say so when everything before is sent.
    Flush(oneshot::Sender<()>),
}

/// What nobody waits for any more.
#[derive(Debug)]
enum Unwanted {
    /// A request, for this reason.
    Request(RequestId, &'static str),
    /// A task.
    Task(String),
}

/// The way to that task.
#[derive(Debug, Clone)]
pub(super) struct Cancellations {
    jobs: mpsc::Sender<Job>,
}

impl Cancellations {
    pub(super) fn start(peer: Peer<RoleClient>, ledger: Arc<Ledger>) -> Self {
        let (jobs, to_do) = mpsc::channel(WAITING);
        tokio::spawn(send_each(peer, ledger, to_do));
        Self { jobs }
    }

    /// Cancels a request. Works without a runtime, from `drop` for instance.
    pub(super) fn cancel(&self, id: RequestId, reason: &'static str) {
        self.ask_for(Unwanted::Request(id, reason));
    }

    /// Cancels a task, likewise.
    pub(super) fn cancel_task(&self, id: String) {
        self.ask_for(Unwanted::Task(id));
    }

    fn ask_for(&self, unwanted: Unwanted) {
        if self.jobs.try_send(Job::Cancel(unwanted)).is_err() {
            tracing::debug!("cancellation not sent: the connection is over or congested");
        }
    }
}

impl Connection {
    /// Waits until the cancellations that were asked for are sent, for a moment at most: a server that is just being
    /// left should still hear that a call is given up.
    pub(super) async fn flush_cancellations(&self) {
        let (done, flushed) = oneshot::channel();
        if self.inner.cancellations.jobs.send(Job::Flush(done)).await.is_ok() {
            // Either way there is nothing more to wait for.
            let _ = tokio::time::timeout(FLUSH_LIMIT, flushed).await;
        }
    }
}

/// rmcp sends in the order of its queue, so a cancellation follows its request. None waits for the one before to be
/// accepted.
async fn send_each(peer: Peer<RoleClient>, ledger: Arc<Ledger>, mut jobs: mpsc::Receiver<Job>) {
    let mut under_way = FuturesUnordered::new();
    loop {
        let job = tokio::select! {
            Some(()) = under_way.next(), if !under_way.is_empty() => continue,
            job = jobs.recv(), if under_way.len() < AT_ONCE => job,
        };
        match job {
            Some(Job::Cancel(unwanted)) => under_way.push(cancel(&peer, &ledger, unwanted)),
            Some(Job::Flush(done)) => {
                while under_way.next().await.is_some() {}
                // Whoever asked may have stopped waiting.
                let _ = done.send(());
            }
            None => break,
        }
    }
    while under_way.next().await.is_some() {}
}

async fn cancel(peer: &Peer<RoleClient>, ledger: &Ledger, unwanted: Unwanted) {
    match unwanted {
        Unwanted::Request(id, reason) => send(peer, ledger, id, reason).await,
        Unwanted::Task(id) => {
            let request = CustomRequest::new("tasks/cancel", Some(json!({ "taskId": id })));
            let options = PeerRequestOptions::with_timeout(ANSWER);
            match peer.send_request_with_option(ClientRequest::CustomRequest(request), options).await {
                // Whether it is heard shows in the state of the task, for which nobody asks any more.
                Ok(handle) => drop(handle.await_response().await),
                Err(error) => tracing::debug!(%error, "a task was not cancelled"),
            }
        }
    }
}

async fn send(peer: &Peer<RoleClient>, ledger: &Ledger, id: RequestId, reason: &'static str) {
    let params = CancelledNotificationParam::new(Some(id.clone()), Some(reason.to_owned()));
    let sent = peer.send_notification(CancelledNotification::new(params).into()).await;
    // A cancellation that a server refuses says nothing about the next one.
    if let Err(error) = sent {
        tracing::debug!(%error, "a cancellation was not taken");
    }
    // Over Streamable HTTP on 2026-07-28 the end of the response stream says it, and no message.
    ledger.cancel(&id);
}
