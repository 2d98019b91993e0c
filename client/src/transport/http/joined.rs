//! rmcp's Streamable HTTP worker, joined with messages that bypass it.

use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{StreamableHttpClientTransport, Transport},
};
use tokio::sync::mpsc;

use super::HttpClient;

/// rmcp's transport, and messages from direct requests.
pub(crate) struct HttpTransport {
    pub(super) worker: StreamableHttpClientTransport<HttpClient>,
    pub(super) others: mpsc::Receiver<ServerJsonRpcMessage>,
}

impl Transport<RoleClient> for HttpTransport {
    type Error = <StreamableHttpClientTransport<HttpClient> as Transport<RoleClient>>::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.worker.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        tokio::select! {
            message = self.worker.receive() => message,
            // The sender lives as long as the worker.
            Some(message) = self.others.recv() => Some(message),
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.worker.close().await
    }
}
