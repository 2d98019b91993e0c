//! What the client answers when the server asks.

use rmcp::{
    ClientHandler, RoleClient, model,
    model::{ClientConfig, ErrorData, ListRootsRequestMethod},
    service::RequestContext,
};

/// Answers pings, and refuses whatever the client has not declared to support.
#[derive(Debug)]
pub(crate) struct Handler {
    hello: ClientConfig,
}

impl Handler {
    pub(crate) fn new(hello: ClientConfig) -> Self {
        Self { hello }
    }
}

#[expect(deprecated, reason = "2026-07-28 deprecates roots; servers of the other revisions still ask for them")]
impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.hello.clone()
    }

    /// rmcp would answer with an empty list, though the capability is not declared.
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }
}
