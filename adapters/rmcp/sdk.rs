//! What the SDK does: connections, lists and calls. `main` runs the steps of a case with it.
// Sampling and roots are deprecated since 2026-07-28.
#![expect(deprecated)]

use rmcp::{ClientHandler, ServiceError, model::*, service::*, transport};
use serde_json::{Value, json};

use crate::contract::{self, CONTEXT, Call, Failure};

type Request = RequestContext<RoleClient>;
type Sampling = CreateMessageRequestParams;
type HttpConfig = transport::streamable_http_client::StreamableHttpClientTransportConfig;
pub(crate) type Session = RunningService<RoleClient, Handler>;

/// Answers for the user, and reports what it observes on a server.
pub(crate) struct Handler(String);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        contract::typed(contract::client())
    }

    async fn create_message(&self, _: Sampling, _: Request) -> Result<CreateMessageResult, ErrorData> {
        contract::sampled().await.map(contract::typed)
    }

    async fn list_roots(&self, _: Request) -> Result<ListRootsResult, ErrorData> {
        Ok(contract::typed(json!({ "roots": contract::roots() })))
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, _: Request) -> Result<ElicitResult, ErrorData> {
        Ok(contract::typed(contract::answer(&json!(request)).await))
    }

    contract::notices! {
        on_progress(progress: ProgressNotificationParam) => "progress",
        on_logging_message(log: LoggingMessageNotificationParam) => "log",
        on_resource_updated(updated: ResourceUpdatedNotificationParam) => "resource-updated",
        on_resource_list_changed() => "resources-changed",
        on_prompt_list_changed() => "prompts-changed",
        on_tool_list_changed() => "tools-changed",
    }
}

pub(crate) async fn connect(server: &str) -> Result<Session, Failure> {
    let endpoint = &CONTEXT["servers"][server];
    let [modern, legacy] = ["2026-07-28", "2025-11-25"].map(|revision| contract::typed(json!(revision)));
    let auto = ClientLifecycleMode::Auto { preferred_versions: vec![modern], legacy_version: Some(legacy) };
    let lifecycle = if CONTEXT["revision"] == "2026-07-28" { auto } else { ClientLifecycleMode::Initialize };
    let handler = Handler(server.to_owned());
    let connected = if let Some(command) = contract::command(endpoint) {
        let process = transport::TokioChildProcess::new(command).map_err(Failure::closed)?;
        serve_client_with_lifecycle(handler, process, lifecycle).await
    } else {
        let mut config = HttpConfig::with_uri(endpoint["url"].as_str().unwrap_or_default());
        config.custom_headers = contract::headers();
        let http = transport::StreamableHttpClientTransport::from_config(config);
        serve_client_with_lifecycle(handler, http, lifecycle).await
    };
    connected.map_err(Failure::closed)
}

/// A request for a list or a feature.
pub(crate) async fn request(session: &Session, method: &str, params: Value) -> Result<Value, Failure> {
    let message = json!({ "method": method, "params": &params });
    Ok(match method {
        // These answer input requests.
        "resources/read" => json!(session.read_resource(contract::typed(params)).await.map_err(failure)?),
        "prompts/get" => json!(session.get_prompt(contract::typed(params)).await.map_err(failure)?),
        _ => json!(session.send_request(contract::typed(message)).await.map_err(failure)?),
    })
}

pub(crate) async fn call(session: &Session, Call { call, limit, stop }: Call) -> Result<Value, Failure> {
    let call = contract::typed(call);
    if CONTEXT["revision"] == "2026-07-28" && stop.is_none() {
        // This answers input requests. It has no timeout, and cannot be cancelled.
        return contract::in_time(limit, async { Ok(json!(session.call_tool(call).await.map_err(failure)?)) }).await;
    }
    let options = limit.map(PeerRequestOptions::with_timeout).unwrap_or_default();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
    let sent = session.send_request_with_option(request, options).await.map_err(failure)?;
    let (cancelled, peer) = (json!({ "requestId": &sent.id }), sent.peer.clone());
    tokio::select! {
        answered = sent.await_response() => answered.map(|result| json!(result)).map_err(failure),
        () = contract::stopped(stop) => {
            peer.notify_cancelled(contract::typed(cancelled)).await.map_err(failure)?;
            Err(Failure::new("cancelled", "the call was cancelled"))
        }
    }
}

pub(crate) fn failure(error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(error) => Failure::rejected_by_server(error.code.0.into(), &error.message),
        ServiceError::Timeout { .. } => Failure::timed_out(),
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => Failure::closed(error),
        other => Failure::new("rejected", &other.to_string()),
    }
}
