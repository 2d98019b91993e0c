//! What the client answers when the server asks.

use std::sync::Arc;

use rmcp::{
    ClientHandler, RoleClient, model,
    model::{ClientConfig, CustomRequest, CustomResult, ErrorData, ListRootsRequestMethod},
    service::RequestContext,
};

use crate::{host::Desk, ledger::Ledger};

/// Answers pings, hands to the desk what concerns the user, and refuses the rest.
#[derive(Debug)]
pub(crate) struct Handler {
    hello: ClientConfig,
    desk: Arc<Desk>,
    ledger: Arc<Ledger>,
}

impl Handler {
    pub(crate) fn new(hello: ClientConfig, desk: Arc<Desk>, ledger: Arc<Ledger>) -> Self {
        Self { hello, desk, ledger }
    }
}

#[expect(deprecated, reason = "2026-07-28 deprecates roots; servers of the other revisions still ask for them")]
impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.hello.clone()
    }

    /// Requests of the server arrive in its own words (see [`crate::ledger::Ledger::reword`]).
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let _pause = self.ledger.pause.begin();
        let id = context.id.into_json_value();
        // The visit may be over before the answer is on its way.
        let visit = request.params.as_ref().and_then(|params| params.get("elicitationId")?.as_str().map(str::to_owned));
        visit.iter().for_each(|visit| self.ledger.elicitations.begin(visit));
        let asked = self.desk.ask(&request.method, request.params, id, None);
        let answer = tokio::select! {
            biased;
            // Whatever is answered to a request that was withdrawn is dropped by rmcp.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("withdrawn", None)),
            answer = asked => answer,
        };
        if !answer.as_ref().is_ok_and(|answer| answer["action"] == "accept") {
            visit.iter().for_each(|visit| _ = self.ledger.elicitations.end(visit));
        }
        answer.map(CustomResult)
    }

    /// rmcp would answer with an empty list, though the capability is not declared.
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }
}
