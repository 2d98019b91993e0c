//! The way of one call past rules, memory and a person.

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

/// Whoever asks the person.
pub trait Approver: Send + Sync {
    /// Asks, and waits as long as it takes. `None` where nobody is there to answer, or nobody answers.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>>;
}

/// Nobody is there: what would have to be asked is denied.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAllApprover;

impl Approver for DenyAllApprover {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>> {
        std::future::ready(None).boxed()
    }
}

/// Asks over a channel; see [`approval_channel`].
#[derive(Debug, Clone)]
pub struct ChannelApprover {
    questions: mpsc::Sender<PendingApproval>,
}

/// A question that waits for its answer. Dropped, it counts as not answered.
#[derive(Debug)]
pub struct PendingApproval {
    /// The question.
    pub request: ApprovalRequest,
    reply: oneshot::Sender<ApprovalResponse>,
}

/// A channel on which a user interface is asked. At most `waiting` questions wait in it; the callers of more wait in turn.
/// Once the receiver is gone nobody is there.
#[must_use]
pub fn approval_channel(waiting: usize) -> (ChannelApprover, mpsc::Receiver<PendingApproval>) {
    let (questions, receiver) = mpsc::channel(waiting.max(1));
    (ChannelApprover { questions }, receiver)
}

impl Approver for ChannelApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>> {
        let questions = self.questions.clone();
        async move {
            let (reply, answer) = oneshot::channel();
            questions.send(PendingApproval { request, reply }).await.ok()?;
            answer.await.ok()
        }
        .boxed()
    }
}

impl PendingApproval {
    /// Answers. Whether anybody still waits for it is what is returned.
    pub fn answer(self, reply: impl Into<ApprovalResponse>) -> bool {
        self.reply.send(reply.into()).is_ok()
    }

    /// Returns once nobody waits for the answer any more: a dialogue can be closed then.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}

/// How a call came past the gate, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateOutcome {
    /// Whether the call may be made.
    pub allowed: bool,
    /// What the rules say.
    pub explanation: Explanation,
    /// What the person said, now or before.
    pub reply: Option<ApprovalResponse>,
    /// Whether that was said before, for the session.
    pub remembered: bool,
}

impl GateOutcome {
    /// Why, in a sentence without its end: what a model is told whose call is denied.
    #[must_use]
    pub fn reason(&self) -> String {
        let said = match (&self.reply, self.remembered) {
            (Some(reply), _) if reply.answer.allows() => "the user allows it",
            (Some(_), true) => "the user has denied it for this session",
            (Some(_), false) => "the user has denied it",
            (None, _) if self.explanation.verdict == PermissionDecision::Ask => "nobody is there who could allow it",
            (None, _) => return self.explanation.reason.clone(),
        };
        match self.reply.as_ref().and_then(|reply| reply.feedback.as_deref()) {
            Some(feedback) => format!("{said}: {feedback}"),
            None => said.to_owned(),
        }
    }
}

/// Lets calls pass, or not. Equal calls that wait at the same time are one question.
pub struct Gate {
    approver: Arc<dyn Approver>,
    state: Mutex<State>,
}

type Question = BoxFuture<'static, Option<ApprovalResponse>>;
type QuestionKey = (String, Fingerprint, [u8; 32]);

#[derive(Default)]
struct State {
    permissions: Arc<Permissions>,
    session: Session,
    asked: HashMap<QuestionKey, WeakShared<Question>>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("permissions", &self.state().permissions).finish_non_exhaustive()
    }
}

impl Gate {
    /// A gate with these rules, that asks this person.
    #[must_use]
    pub fn new(permissions: Permissions, approver: Arc<dyn Approver>) -> Self {
        let permissions = Arc::new(permissions);
        Self { approver, state: Mutex::new(State { permissions, ..State::default() }) }
    }

    /// Puts other rules in the place of those that were there. What a person has answered stays.
    pub fn set_permissions(&self, permissions: Permissions) {
        self.state().permissions = Arc::new(permissions);
    }

    /// Changes or reads what is remembered.
    pub fn with_session<T>(&self, change: impl FnOnce(&mut Session) -> T) -> T {
        change(&mut self.state().session)
    }

    /// Whether this tool may be called with these arguments; asks where that is to be asked. Dropped, it asks no more,
    /// unless an equal call still waits.
    pub async fn pass(&self, server: &str, tool: &Tool, arguments: &Value) -> GateOutcome {
        let target = PermissionTarget::Tool { server, tool };
        let explanation = self.permissions().explain(&target);
        if explanation.verdict != PermissionDecision::Ask {
            let allowed = explanation.verdict == PermissionDecision::Allow;
            return GateOutcome { allowed, explanation, reply: None, remembered: false };
        }
        if let Some(reply) = self.with_session(|session| session.recall(server, tool)) {
            return GateOutcome { allowed: reply.answer.allows(), explanation, reply: Some(reply), remembered: true };
        }
        let reply = self.question(server, tool, arguments, &explanation).await;
        if let Some(reply) = &reply {
            self.with_session(|session| session.remember(server, tool.name(), tool.fingerprint(), reply));
        }
        // Rules may have come while the person was thinking; what they deny stays denied.
        let explanation = self.permissions().explain(&target);
        let denied = explanation.verdict == PermissionDecision::Deny;
        let allowed = !denied && reply.as_ref().is_some_and(|reply| reply.answer.allows());
        GateOutcome { allowed, explanation, reply: if denied { None } else { reply }, remembered: false }
    }

    /// The question about this call: the one that is being asked already, or a new one.
    fn question(&self, server: &str, tool: &Tool, arguments: &Value, why: &Explanation) -> Shared<Question> {
        let digest = Sha256::digest(arguments.to_string().as_bytes()).into();
        let key = (server.to_owned(), tool.fingerprint(), digest);
        let mut state = self.state();
        // Those that nobody waits for any more are forgotten whenever another is asked.
        state.asked.retain(|_, question| question.upgrade().is_some_and(|question| question.peek().is_none()));
        if let Some(question) = state.asked.get(&key).and_then(WeakShared::upgrade) {
            return question;
        }
        let question = self.approver.ask(ApprovalRequest::new(server, tool, arguments, why)).shared();
        state.asked.extend(question.downgrade().map(|question| (key, question)));
        question
    }

    fn permissions(&self) -> Arc<Permissions> {
        Arc::clone(&self.state().permissions)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
