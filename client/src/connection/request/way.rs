//! The two ways of a request: through rmcp, and past it.

use rmcp::{model::ServerResult, service::ServiceError};
use serde_json::Value;
use tokio::sync::oneshot::Receiver;

use crate::{
    direct::{Answer, Unanswered},
    event::CallId,
    ledger::Reply,
};

/// How a request travels.
pub(super) enum Way {
    /// Through rmcp.
    Sdk(Receiver<Result<ServerResult, ServiceError>>),
    /// Past it. Should it turn out to be in need of rmcp, this is what to send.
    Direct { answer: Answer, method: &'static str, params: Value, call: Option<CallId> },
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Sdk(_)) { "Sdk" } else { "Direct" })
    }
}

/// What has come of a request on either way.
pub(super) enum Came {
    /// What rmcp says, unless it is gone.
    Sdk(Option<Box<Result<ServerResult, ServiceError>>>),
    /// What the direct way says.
    Direct(Result<Reply, Unanswered>),
}

impl Way {
    /// Waits for what comes of it.
    pub(super) async fn come(&mut self) -> Came {
        match self {
            Self::Sdk(answer) => Came::Sdk(answer.await.ok().map(Box::new)),
            Self::Direct { answer, .. } => Came::Direct(answer.await),
        }
    }
}
