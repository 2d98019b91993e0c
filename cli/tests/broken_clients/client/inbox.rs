//! Received messages: it delivers responses, responds to requests and reports notifications.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    report::Report,
    user::User,
};

/// Key of the task that a message belongs to (2025-11-25, tasks).
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The types of content blocks (2025-11-25 and 2026-07-28).
const CONTENT_TYPES: [&str; 5] = ["text", "image", "audio", "resource_link", "resource"];

/// A message for an open request.
pub(crate) enum Incoming {
    Result(Value),
    Failed(Fault),
    Progress,
}

/// The open requests of a connection by id; `None` after the connection is lost.
type Open = Option<BTreeMap<u64, mpsc::UnboundedSender<Incoming>>>;

/// Handles all messages of a connection.
pub(crate) struct Inbox {
    server: String,
    report: Report,
    flaw: Flaw,
    pub(crate) user: User,
    open: Mutex<Open>,
    /// The ids of requests that the server cancelled.
    withdrawn: Mutex<HashSet<Value>>,
    /// Notified when the subscription starts (2026-07-28, subscriptions).
    pub(crate) subscribed: Notify,
    /// Whether the server has no handshake, so that it gets no responses (2026-07-28, basic/transports).
    pub(crate) stateless: AtomicBool,
}

impl Inbox {
    pub(crate) fn new(server: &str, report: Report, user: User, flaw: Flaw) -> Self {
        let open = Mutex::new(Some(BTreeMap::new()));
        Self {
            server: server.to_owned(),
            report,
            flaw,
            user,
            open,
            withdrawn: Mutex::default(),
            subscribed: Notify::new(),
            stateless: AtomicBool::default(),
        }
    }

    /// Opens a request and returns the channel of its messages.
    pub(crate) fn open(&self, id: u64) -> Result<mpsc::UnboundedReceiver<Incoming>, Fault> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = || Fault::new("connection-lost", "the connection has ended");
        open.as_mut().ok_or_else(lost)?.insert(id, sender);
        Ok(receiver)
    }

    /// Removes a request.
    pub(crate) fn forget(&self, id: u64) {
        self.with_open(|open| open.remove(&id));
    }

    /// Fails a request, unless it has a response.
    pub(crate) fn fail(&self, id: u64, fault: Fault) {
        if let Some(waiting) = self.with_open(|open| open.remove(&id)) {
            let _ = waiting.send(Incoming::Failed(fault));
        }
    }

    /// Fails all open requests after the connection was lost.
    pub(crate) fn lose(&self, reason: &str) {
        let all = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(all) = all else { return };
        self.report.event("disconnected", &self.server, json!({ "reason": reason }));
        if self.flaw.is(Defect::WaitsForDeadServer) {
            // With this defect, open requests wait forever: their channels are never closed.
            return std::mem::forget(all);
        }
        for waiting in all.into_values() {
            let _ = waiting.send(Incoming::Failed(Fault::new("connection-lost", reason)));
        }
    }

    /// Marks the connection as closed by the client, which is not an error.
    pub(crate) fn close(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Skips text that is not a message (handshake/tolerates-noise).
    pub(crate) fn garbage(&self, text: &str) {
        self.report.event("garbage", &self.server, json!({ "excerpt": text.chars().take(200).collect::<String>() }));
        if self.flaw.is(Defect::DiesOnGarbage) {
            self.lose("the server sent something that is no JSON");
        }
    }

    /// Whether the connection is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Whether the request is open.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        self.with_open(|open| open.contains_key(&id).then_some(())).is_some()
    }

    /// Handles an oversized message, which may be the response to this request.
    pub(crate) fn too_long(&self, id: Option<u64>, limit: usize) {
        if self.flaw.is(Defect::DiesOfOversize) {
            return self.lose("the server sent more than this client takes");
        }
        if let Some(id) = id {
            self.fail(id, Fault::new("oversize-reply", format!("the answer is longer than {limit} bytes")));
        }
    }

    /// Handles a message, and returns the response to a request.
    pub(crate) fn take(&self, message: &Value) -> Vec<Value> {
        // "MUST support receiving JSON-RPC batches" (2025-03-26, basic, batching).
        if let Some(batch) = message.as_array().filter(|_| !self.flaw.is(Defect::DropsBatches)) {
            let read = if self.flaw.is(Defect::ReadsFirstOfBatch) { 1 } else { batch.len() };
            return batch.iter().take(read).flat_map(|message| self.take(message)).collect();
        }
        match (message["method"].as_str(), message.get("id")) {
            (Some(_), Some(_))
                if self.stateless.load(Ordering::Relaxed) && !self.flaw.is(Defect::AnswersStatelessServers) => {}
            (Some(method), Some(id)) => {
                let answer = self.answer(method, id, &message["params"]);
                let answer = answer.map(|answer| self.flaw.altered(&format!("answer {method}"), answer));
                return answer.unwrap_or_default();
            }
            (Some(method), None) => self.notification(method, &message["params"]),
            (None, _) => self.response(message),
        }
        vec![]
    }

    /// Whether the server still waits for a response.
    pub(crate) fn is_wanted(&self, response: &Value) -> bool {
        let withdrawn = self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner);
        self.flaw.is(Defect::AnswersWithdrawn) || !withdrawn.contains(&response["id"])
    }

    fn answer(&self, method: &str, id: &Value, params: &Value) -> Option<Value> {
        if let Some(mut result) = self.user.answer(method, params) {
            // The result names the task of the request (2025-11-25, tasks, associating messages).
            let related = &params["_meta"][RELATED_TASK];
            if related.is_object() && !self.flaw.is(Defect::ForgetsTaskOfAnswers) {
                result["_meta"][RELATED_TASK] = related.clone();
            }
            return Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        }
        if method != "ping" {
            let error =
                json!({ "code": self.user.rejection(method), "message": format!("this client has no `{method}`") });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        (!self.flaw.is(Defect::IgnoresPing)).then(|| json!({ "jsonrpc": "2.0", "id": id, "result": {} }))
    }

    fn notification(&self, method: &str, params: &Value) {
        if self.is_foreign(method, params) && !self.flaw.is(Defect::TakesForeignUpdates) {
            return;
        }
        match method {
            "notifications/tools/list_changed" if !self.flaw.is(Defect::IgnoresListChanged) => {
                self.report.event("tools-changed", &self.server, Value::Null);
            }
            "notifications/progress" => {
                self.report.event("progress", &self.server, params.clone());
                let id = params["progressToken"].as_u64().unwrap_or_default();
                if self.flaw.is(Defect::DiesOfLateProgress) && !self.is_open(id) {
                    return self.lose("the progress belongs to no request");
                }
                self.with_open(|open| open.get(&id).map(|waiting| waiting.send(Incoming::Progress)));
            }
            "notifications/resources/list_changed" if !self.flaw.is(Defect::IgnoresListChanged) => {
                self.report.event("resources-changed", &self.server, Value::Null);
            }
            "notifications/prompts/list_changed" if !self.flaw.is(Defect::IgnoresListChanged) => {
                self.report.event("prompts-changed", &self.server, Value::Null);
            }
            "notifications/resources/updated" if self.flaw.is(Defect::DiesOfUnknown) && !params["uri"].is_string() => {
                self.lose("the update has no URI");
            }
            "notifications/resources/updated" if !self.flaw.is(Defect::IgnoresUpdates) => {
                self.report.event("resource-updated", &self.server, params.clone());
            }
            "notifications/message" if self.flaw.is(Defect::FailsOnLogs) => self.lose("the server logged an error"),
            "notifications/message" if self.flaw.is(Defect::DiesOfUnknown) && !params["level"].is_string() => {
                self.lose("the log message has no level");
            }
            "notifications/message" => self.report.event("log", &self.server, params.clone()),
            "notifications/cancelled" => {
                let mut withdrawn = self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner);
                withdrawn.insert(params["requestId"].clone());
            }
            "notifications/subscriptions/acknowledged" => self.subscribed.notify_one(),
            _ => {}
        }
    }

    /// Whether a notification belongs to no open subscription (2026-07-28, subscriptions, receiving notifications).
    fn is_foreign(&self, method: &str, params: &Value) -> bool {
        let of_subscription = method.ends_with("/list_changed") || method == "notifications/resources/updated";
        let id = params["_meta"]["io.modelcontextprotocol/subscriptionId"].as_u64();
        self.stateless.load(Ordering::Relaxed) && of_subscription && !id.is_some_and(|id| self.is_open(id))
    }

    fn response(&self, message: &Value) {
        let blocks = message["result"]["content"].as_array().into_iter().flatten();
        let is_unknown = |block: &Value| !CONTENT_TYPES.iter().any(|known| block["type"] == *known);
        if self.flaw.is(Defect::DiesOfUnknown) && blocks.into_iter().any(is_unknown) {
            return self.lose("the result has content of an unknown type");
        }
        let incoming = match message.get("error") {
            Some(error) => Incoming::Failed(Fault::rpc(error)),
            None => Incoming::Result(message["result"].clone()),
        };
        let waiting = self.with_open(|open| {
            let careless = self.flaw.is(Defect::TakesAWrongId) || self.flaw.is(Defect::TakesLateReply);
            let id = message["id"].as_u64().filter(|id| open.contains_key(id));
            let id = id.or_else(|| open.keys().next().copied().filter(|_| careless))?;
            open.remove(&id)
        });
        // A late or unknown response is ignored.
        match waiting {
            Some(waiting) => drop(waiting.send(incoming)),
            None if self.flaw.is(Defect::DiesOfLateReply) => self.lose("the response belongs to no request"),
            None => {}
        }
    }

    fn with_open<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<u64, mpsc::UnboundedSender<Incoming>>) -> Option<T>,
    ) -> Option<T> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(change)
    }
}
