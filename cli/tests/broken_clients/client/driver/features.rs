//! The steps for resources, prompts, completion and logging.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Driver, unclear, unconnected};
use crate::client::{
    connection::{Connection, RequestTimeouts},
    defect::Defect,
    fault::Fault,
    listing::next_cursor,
};

/// Pause of a client that follows pages without end.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

impl Driver<'_> {
    pub(super) async fn feature(&mut self, kind: &str, step: &Value, server: Option<&str>) -> Result<Value, Fault> {
        let server = server.ok_or_else(unclear)?;
        let connection = self.connections.get(server).cloned().ok_or_else(|| unconnected(server))?;
        let outcome = self.requested(&connection, kind, step).await;
        match outcome {
            Err(fault) if self.flaw.is(Defect::HidesFeatureErrors) && fault.kind == "rpc-error" => Ok(Value::Null),
            outcome => outcome,
        }
    }

    async fn requested(&mut self, connection: &Connection, kind: &str, step: &Value) -> Result<Value, Fault> {
        match kind {
            "resources" => list(connection, "resources/list", "resources").await,
            "resource-templates" => list(connection, "resources/templates/list", "resourceTemplates").await,
            "prompts" => list(connection, "prompts/list", "prompts").await,
            "read" => self.read(connection, &step["uri"]).await,
            "subscribe" => {
                needs(connection, "/resources/subscribe")?;
                connection.subscribe_resource(&step["uri"]).await
            }
            "unsubscribe" if self.flaw.is(Defect::NeverUnsubscribes) => Ok(Value::Null),
            "unsubscribe" => {
                needs(connection, "/resources/subscribe")?;
                connection.unsubscribe_resource(&step["uri"]).await
            }
            "prompt" => prompt(connection, step).await,
            "complete" => complete(connection, step).await,
            _ if self.flaw.is(Defect::ForgetsLevel) => Ok(Value::Null),
            _ if connection.modern => {
                connection.set_log_level(&step["level"]);
                Ok(Value::Null)
            }
            _ => {
                needs(connection, "/logging")?;
                ask(connection, "logging/setLevel", json!({ "level": step["level"] })).await?;
                Ok(Value::Null)
            }
        }
    }

    async fn read(&mut self, connection: &Connection, uri: &Value) -> Result<Value, Fault> {
        needs(connection, "/resources")?;
        let mut uri = uri.clone();
        if self.flaw.is(Defect::NormalizesUris) {
            uri = uri.as_str().unwrap_or_default().to_lowercase().replace("/./", "/").into();
        }
        if self.flaw.is(Defect::ReadsOnlyListed) {
            let listed = list(connection, "resources/list", "resources").await?;
            if !listed["resources"].as_array().into_iter().flatten().any(|one| one["uri"] == uri) {
                return Err(Fault::new("other", "the resource is not in the list"));
            }
        }
        let key = uri.as_str().unwrap_or_default().to_lowercase();
        let key = if self.flaw.is(Defect::KeepsReads) { uri.to_string() } else { key };
        if (self.flaw.is(Defect::ConfusesCache) || self.flaw.is(Defect::KeepsReads))
            && let Some(cached) = self.cached.get(&key)
        {
            return Ok(cached.clone());
        }
        let mut result = ask(connection, "resources/read", json!({ "uri": uri })).await?;
        if self.flaw.is(Defect::AwaitsTasksOfReads) {
            result = connection.await_task(result, &RequestTimeouts::new(connection.setup.call)).await?;
        }
        if self.flaw.is(Defect::DropsParts)
            && let Some(parts) = result["contents"].as_array_mut()
        {
            parts.truncate(1);
        }
        if self.flaw.is(Defect::RejectsEmptyLists) && result["contents"].as_array().is_none_or(Vec::is_empty) {
            return Err(Fault::new("malformed-result", "there are no contents"));
        }
        self.cached.insert(key, result.clone());
        Ok(result)
    }
}

async fn ask(connection: &Connection, method: &str, params: Value) -> Result<Value, Fault> {
    let result = connection.request(method, params, &RequestTimeouts::new(connection.setup.call)).await?;
    if connection.flaw.is(Defect::DiesOfUnknown) && result.to_string().contains("hologram") {
        connection.close().await;
    }
    Ok(result)
}

/// Only declared features may be used (2025-06-18, lifecycle, operation).
fn needs(connection: &Connection, pointer: &str) -> Result<(), Fault> {
    let capabilities = connection.greeting.get("capabilities");
    let has = |all: &Value| all.pointer(pointer).is_some_and(|one| !one.is_null() && *one != false);
    match capabilities.is_none_or(has) || connection.flaw.is(Defect::UsesUndeclared) {
        true => Ok(()),
        false => Err(Fault::new("not-declared", format!("the server does not declare {}", &pointer[1..]))),
    }
}

/// All pages of a list; an empty one without the capability.
async fn list(connection: &Connection, method: &str, member: &str) -> Result<Value, Fault> {
    let flaw = connection.flaw;
    let capability = if member == "prompts" { "/prompts" } else { "/resources" };
    if needs(connection, capability).is_err() {
        return Ok(json!({ member: [] }));
    }
    let (mut items, mut cursors, mut params) = (Vec::new(), HashSet::new(), json!({}));
    loop {
        let page = match ask(connection, method, params).await {
            Err(_) if flaw.is(Defect::HidesErrorOnPageTwo) && !cursors.is_empty() => break,
            page => page?,
        };
        items.extend(page[member].as_array().cloned().unwrap_or_default());
        let Some(next) = next_cursor(&page)?.filter(|_| !flaw.is(Defect::FirstPageOnly)) else { break };
        if flaw.is(Defect::FollowsForEver) {
            tokio::time::sleep(PAUSE).await;
        } else if !cursors.insert(next.clone()) {
            return Err(Fault::new("repeated-cursor", format!("the cursor `{next}` came before")));
        }
        params = json!({ "cursor": next });
    }
    let is_unsafe = |item: &Value| item["icons"].to_string().contains("javascript:");
    if flaw.is(Defect::RejectsIcons) && items.iter().any(is_unsafe) {
        return Err(Fault::new("malformed-result", "an icon is unsafe"));
    }
    if flaw.is(Defect::RejectsEmptyLists) && items.is_empty() {
        return Err(Fault::new("malformed-result", "the list is empty"));
    }
    Ok(json!({ member: items }))
}

async fn prompt(connection: &Connection, step: &Value) -> Result<Value, Fault> {
    needs(connection, "/prompts")?;
    let mut params = json!({ "name": step["name"] });
    if let Some(arguments) = step.get("arguments").filter(|_| !connection.flaw.is(Defect::DropsArguments)) {
        params["arguments"] = arguments.clone();
    }
    let mut result = ask(connection, "prompts/get", params).await?;
    if let (true, Some(messages)) = (connection.flaw.is(Defect::DropsMedia), result["messages"].as_array_mut()) {
        messages.retain(|message| message["content"]["type"] == "text");
    }
    Ok(result)
}

async fn complete(connection: &Connection, step: &Value) -> Result<Value, Fault> {
    // The capability exists since 2025-03-26.
    if connection.revision != "2024-11-05" {
        needs(connection, "/completions")?;
    }
    let flaw = connection.flaw;
    let reference = match step.get("prompt") {
        Some(prompt) => json!({ "type": "ref/prompt", "name": prompt }),
        None => json!({ "type": "ref/resource", "uri": step["template"] }),
    };
    let value = if flaw.is(Defect::DropsBegunValues) { json!("") } else { step["value"].clone() };
    let mut params = json!({ "ref": reference, "argument": { "name": step["argument"], "value": value } });
    if let Some(context) = step.get("context").filter(|_| !flaw.is(Defect::DropsContext)) {
        params["context"] = json!({ "arguments": context });
    }
    let mut result = ask(connection, "completion/complete", params).await?;
    if flaw.is(Defect::NeedsTotal) && result["completion"]["total"].is_null() {
        return Err(Fault::new("malformed-result", "there is no total"));
    }
    if flaw.is(Defect::DropsTotal) {
        result["completion"] = json!({ "values": result["completion"]["values"] });
    }
    Ok(result)
}
