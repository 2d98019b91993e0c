//! Responses to server requests.

use std::sync::Arc;

use rmcp::{
    ClientHandler, RoleClient, model,
    model::{ClientConfig, CustomRequest, CustomResult, ErrorData, ListRootsRequestMethod},
    service::RequestContext,
};

use crate::{host::HostDispatcher, tracker::RequestTracker};

/// Responds to pings, passes requests for the user to the dispatcher, and rejects the rest.
#[derive(Debug)]
pub(crate) struct Handler {
    config: ClientConfig,
    dispatcher: Arc<HostDispatcher>,
    tracker: Arc<RequestTracker>,
}

impl Handler {
    pub(crate) fn new(config: ClientConfig, dispatcher: Arc<HostDispatcher>, tracker: Arc<RequestTracker>) -> Self {
        Self { config, dispatcher, tracker }
    }
}

#[expect(deprecated, reason = "2026-07-28 deprecates roots; servers of earlier revisions still request them")]
impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    /// Server requests arrive in raw form (see [`crate::tracker::RequestTracker::restore_request`]).
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let _pause = self.tracker.pause.begin();
        let id = context.id.into_json_value();
        // The server may report completion before the response is sent.
        let elicitation_id =
            request.params.as_ref().and_then(|params| params.get("elicitationId")?.as_str().map(str::to_owned));
        elicitation_id.iter().for_each(|elicitation_id| self.tracker.elicitations.begin(elicitation_id));
        let pending = self.dispatcher.request(&request.method, request.params, id, None);
        let response = tokio::select! {
            biased;
            // rmcp drops the response to a withdrawn request.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("withdrawn", None)),
            response = pending => response,
        };
        if !response.as_ref().is_ok_and(|response| response["action"] == "accept") {
            elicitation_id.iter().for_each(|elicitation_id| _ = self.tracker.elicitations.end(elicitation_id));
        }
        response.map(CustomResult)
    }

    /// rmcp would respond with an empty list, although the capability is not declared.
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }
}
