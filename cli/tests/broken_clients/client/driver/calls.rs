//! The steps `call`, `start`, `finish` and `cancel`.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Driver, OpenCall, unclear, unconnected};
use crate::client::{connection::RequestTimeouts, defect::Defect, drift, fault::Fault, setup::period};

impl Driver<'_> {
    pub(super) async fn call(&self, step: &Value) -> Result<Value, Fault> {
        let mut result = ended(self.begin(step)?).await?;
        self.check_output(step, &result)?;
        if self.flaw.is(Defect::DropsMediaOfResults)
            && let Some(content) = result["content"].as_array_mut()
        {
            content.retain(|block| block["type"] == "text");
        }
        Ok(result)
    }

    /// Fails if the structured content violates the output schema of the tool (2025-06-18, server/tools, output schema), or
    /// cannot be checked by it.
    fn check_output(&self, step: &Value, result: &Value) -> Result<(), Fault> {
        let (server, tool) = self.resolve(step)?;
        let listing = self.latest.get(&server).filter(|_| !self.flaw.is(Defect::TrustsStructuredContent));
        let schema = listing.and_then(|listing| listing.tool(&tool)?.get("outputSchema"));
        let content = result.get("structuredContent").filter(|_| result["isError"] != true);
        let Some((schema, content)) = schema.zip(content) else { return Ok(()) };
        match jsonschema::validator_for(schema) {
            Ok(validator) if validator.is_valid(content) => Ok(()),
            Err(_) if self.flaw.is(Defect::TrustsUncheckedContent) => Ok(()),
            _ => Err(Fault::new("malformed-result", "the structured content does not conform to the output schema")),
        }
    }

    /// Sends a call, unless the tool has changed since it was listed.
    fn begin(&self, step: &Value) -> Result<OpenCall, Fault> {
        let (server, tool) = self.resolve(step)?;
        let connection = self.connections.get(&server).cloned().ok_or_else(|| unconnected(&server))?;
        self.check(&server, &tool)?;
        let silence = period(&step["timeout"]).unwrap_or(self.setup.call);
        let ceiling = period(&step["ceiling"]).unwrap_or(self.setup.ceiling);
        let cancel = CancellationToken::new();
        let timeouts = RequestTimeouts { silence, ceiling, cancel: cancel.clone() };
        let arguments = step.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let mut params = json!({ "name": tool, "arguments": arguments });
        // A tool that is called as a task only (2025-11-25, tasks, tool-level negotiation).
        let listed = self.latest.get(&server).and_then(|listing| listing.tool(&tool));
        let has_tasks = connection.greeting["capabilities"]["tasks"]["requests"]["tools"]["call"].is_object();
        if has_tasks && listed.is_some_and(|tool| tool["execution"]["taskSupport"] == "required") {
            params["task"] = json!({});
        }
        let end = tokio::spawn(async move {
            let _turn = match connection.flaw.is(Defect::OneCallAtATime) {
                true => Some(connection.turn.lock().await),
                false => None,
            };
            let response = connection.request("tools/call", params, &timeouts).await?;
            connection.await_task(response, &timeouts).await
        });
        Ok(OpenCall { end, cancel })
    }

    /// Server and tool of a call. A qualified name is looked up, not split.
    fn resolve(&self, step: &Value) -> Result<(String, String), Fault> {
        let tool = step["tool"].as_str().unwrap_or_default();
        if step["qualified"] != true {
            let server = step["server"].as_str().map(str::to_owned).or_else(|| self.only_server());
            return Ok((server.ok_or_else(unclear)?, tool.to_owned()));
        }
        if self.flaw.is(Defect::ResolvesBySplitting) {
            let parts = tool.trim_start_matches("mcp__").split_once("__");
            return parts.map(|(server, tool)| (server.to_owned(), tool.to_owned())).ok_or_else(unclear);
        }
        let unknown = || Fault::new("unknown-tool", format!("no tool has the name `{tool}`"));
        self.catalogue.get(tool).cloned().ok_or_else(unknown)
    }

    /// Fails if the tool has changed since it was listed.
    fn check(&self, server: &str, tool: &str) -> Result<(), Fault> {
        let Some(latest) = self.latest.get(server).filter(|_| !self.flaw.is(Defect::SendsStaleCall)) else {
            return Ok(());
        };
        let seen = self.seen.get(server).and_then(|listing| listing.tool(tool));
        match (seen, latest.tool(tool)) {
            (Some(_), None) => Err(Fault::new("unknown-tool", format!("`{tool}` was removed"))),
            (Some(seen), Some(now)) if drift::breaks(seen, now) => {
                Err(Fault::new("stale", format!("`{tool}` has changed since it was listed")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn start(&mut self, step: &Value) -> Result<Value, Fault> {
        let call = self.begin(step)?;
        let name = step["as"].as_str().or(step["tool"].as_str()).unwrap_or_default();
        self.calls.insert(name.to_owned(), call);
        Ok(Value::Null)
    }

    pub(super) async fn finish(&mut self, step: &Value, cancel: bool) -> Result<Value, Fault> {
        let name = step["call"].as_str().unwrap_or_default();
        let unknown = || Fault::new("invalid-config", format!("no call `{name}` was started"));
        let call = self.calls.remove(name).ok_or_else(unknown)?;
        if cancel {
            call.cancel.cancel();
        }
        ended(call).await
    }
}

async fn ended(call: OpenCall) -> Result<Value, Fault> {
    call.end.await.unwrap_or_else(|error| Err(Fault::new("other", error.to_string())))
}
