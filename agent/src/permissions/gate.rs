//! Authorizes tool calls: by rules, remembered choices and approval by the user.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use client::{Fingerprint, Tool};
use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::{
    ApprovalRequest, ApprovalResponse, Explanation, PermissionDecision, PermissionTarget, Permissions, Session,
};

/// Asks the user for approval.
pub trait Approver: Send + Sync {
    /// Waits for the response of the user without a timeout. Returns `None` if no user is available or none responds.
    fn request(&self, request: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>>;
}

/// Denies every call that needs approval, because no user is available.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAllApprover;

impl Approver for DenyAllApprover {
    fn request(&self, _: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>> {
        std::future::ready(None).boxed()
    }
}

/// Sends approval requests over a channel; see [`approval_channel`].
#[derive(Debug, Clone)]
pub struct ChannelApprover {
    requests: mpsc::Sender<PendingApproval>,
}

/// A pending approval request. Dropping it denies the call.
#[derive(Debug)]
pub struct PendingApproval {
    /// The request.
    pub request: ApprovalRequest,
    response: oneshot::Sender<ApprovalResponse>,
}

/// A channel that delivers approval requests to a user interface. It holds `capacity` requests; further callers wait. After
/// the receiver is dropped, every request is denied.
#[must_use]
pub fn approval_channel(capacity: usize) -> (ChannelApprover, mpsc::Receiver<PendingApproval>) {
    let (requests, receiver) = mpsc::channel(capacity.max(1));
    (ChannelApprover { requests }, receiver)
}

impl Approver for ChannelApprover {
    fn request(&self, request: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>> {
        let requests = self.requests.clone();
        async move {
            let (response, receiver) = oneshot::channel();
            requests.send(PendingApproval { request, response }).await.ok()?;
            receiver.await.ok()
        }
        .boxed()
    }
}

impl PendingApproval {
    /// Sends the response. Returns whether a call still waits for it.
    pub fn respond(self, response: impl Into<ApprovalResponse>) -> bool {
        self.response.send(response.into()).is_ok()
    }

    /// Returns once no call waits for the response any more, so that a dialog can be closed.
    pub async fn withdrawn(&mut self) {
        self.response.closed().await;
    }
}

/// The authorization of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateOutcome {
    /// Whether the call is allowed.
    pub allowed: bool,
    /// The decision of the rules.
    pub explanation: Arc<Explanation>,
    /// The response of the user, now or earlier in the session.
    pub response: Option<ApprovalResponse>,
    /// Whether the response is from earlier in the session.
    pub remembered: bool,
}

impl GateOutcome {
    /// The reason for the model, as a sentence without a full stop.
    #[must_use]
    pub fn reason(&self) -> String {
        let reason = match (&self.response, self.remembered) {
            (Some(response), _) if response.choice.allows() => "the user allows it",
            (Some(_), true) => "the user has denied it for this session",
            (Some(_), false) => "the user has denied it",
            (None, _) if self.explanation.decision == PermissionDecision::Ask => "no user is available to approve it",
            (None, _) => return self.explanation.reason.clone(),
        };
        match self.response.as_ref().and_then(|response| response.feedback.as_deref()) {
            Some(feedback) => format!("{reason}: {feedback}"),
            None => reason.to_owned(),
        }
    }
}

/// The last explanation for one tool of one server. It is used again until the rules change, because each call needs it.
#[derive(Debug, Default)]
pub struct ExplanationCache(Mutex<Option<(Arc<Permissions>, Arc<Explanation>)>>);

impl ExplanationCache {
    fn explain(&self, permissions: &Arc<Permissions>, target: &PermissionTarget<'_>) -> Arc<Explanation> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((rules, explanation)) = &*cached
            && Arc::ptr_eq(rules, permissions)
        {
            return Arc::clone(explanation);
        }
        let explanation = Arc::new(permissions.explain(target));
        *cached = Some((Arc::clone(permissions), Arc::clone(&explanation)));
        explanation
    }
}

/// Authorizes tool calls. Equal calls that wait at the same time share one approval request.
pub struct Gate {
    approver: Arc<dyn Approver>,
    state: Mutex<State>,
}

type SharedResponse = BoxFuture<'static, Option<ApprovalResponse>>;
type RequestKey = (String, Fingerprint, [u8; 32]);

#[derive(Default)]
struct State {
    permissions: Arc<Permissions>,
    session: Session,
    pending: HashMap<RequestKey, WeakShared<SharedResponse>>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("permissions", &self.state().permissions).finish_non_exhaustive()
    }
}

impl Gate {
    /// A gate with these rules and this approver.
    #[must_use]
    pub fn new(permissions: Permissions, approver: Arc<dyn Approver>) -> Self {
        let permissions = Arc::new(permissions);
        Self { approver, state: Mutex::new(State { permissions, ..State::default() }) }
    }

    /// Replaces the rules. Remembered choices stay.
    pub fn set_permissions(&self, permissions: Permissions) {
        self.state().permissions = Arc::new(permissions);
    }

    /// Reads or changes the remembered choices.
    pub fn with_session<T>(&self, change: impl FnOnce(&mut Session) -> T) -> T {
        change(&mut self.state().session)
    }

    /// The decision of the rules, without approval.
    #[must_use]
    pub fn explain(&self, target: &PermissionTarget<'_>) -> Explanation {
        self.state().permissions.explain(target)
    }

    /// Authorizes a call, with approval by the user if necessary. Dropping the future withdraws the approval request unless
    /// an equal call waits for it.
    pub async fn authorize(&self, server: &str, tool: &Tool, arguments: &Value) -> GateOutcome {
        self.authorize_by(None, server, tool, &ExplanationCache::default(), arguments).await
    }

    /// Like [`Self::authorize`], with an approver of this call alone, whose request is not shared with equal calls, and with
    /// the cache of this tool.
    pub async fn authorize_by(
        &self,
        approver: Option<&dyn Approver>,
        server: &str,
        tool: &Tool,
        cache: &ExplanationCache,
        arguments: &Value,
    ) -> GateOutcome {
        let target = PermissionTarget::Tool { server, tool };
        let explanation = cache.explain(&self.state().permissions, &target);
        if explanation.decision != PermissionDecision::Ask {
            let allowed = explanation.decision == PermissionDecision::Allow;
            return GateOutcome { allowed, explanation, response: None, remembered: false };
        }
        if let Some(response) = self.with_session(|session| session.recall(server, tool)) {
            return GateOutcome {
                allowed: response.choice.allows(),
                explanation,
                response: Some(response),
                remembered: true,
            };
        }
        let response = match approver {
            Some(approver) => approver.request(ApprovalRequest::new(server, tool, arguments, &explanation)).await,
            None => self.request(server, tool, arguments, &explanation).await,
        };
        if let Some(response) = &response {
            self.with_session(|session| session.remember(server, tool.name(), tool.fingerprint(), response));
        }
        // The rules may have changed meanwhile; a new deny rule wins.
        let explanation = cache.explain(&self.state().permissions, &target);
        let denied = explanation.decision == PermissionDecision::Deny;
        let allowed = !denied && response.as_ref().is_some_and(|response| response.choice.allows());
        GateOutcome { allowed, explanation, response: if denied { None } else { response }, remembered: false }
    }

    /// The approval request for this call: a pending one for an equal call, or a new one.
    fn request(&self, server: &str, tool: &Tool, arguments: &Value, why: &Explanation) -> Shared<SharedResponse> {
        let digest = Sha256::digest(arguments.to_string().as_bytes()).into();
        let key = (server.to_owned(), tool.fingerprint(), digest);
        let mut state = self.state();
        // Remove requests that no call waits for.
        state.pending.retain(|_, request| request.upgrade().is_some_and(|request| request.peek().is_none()));
        if let Some(request) = state.pending.get(&key).and_then(WeakShared::upgrade) {
            return request;
        }
        let request = self.approver.request(ApprovalRequest::new(server, tool, arguments, why)).shared();
        state.pending.extend(request.downgrade().map(|request| (key, request)));
        request
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
