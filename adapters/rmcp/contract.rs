//! The contract of mcp-workbench for clients (docs/clients.md): the context, the report, and the user's answers.

use std::{
    collections::HashMap,
    fs::OpenOptions,
    io::Write as _,
    sync::{LazyLock, Mutex},
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use rmcp::{ErrorData, model::CreateMessageRequestMethod};
use rustix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::{process::Command, sync::Notify};
use tokio_util::sync::CancellationToken;

/// `MCP_CONFORMANCE_CONTEXT`.
pub(crate) static CONTEXT: LazyLock<Value> = LazyLock::new(|| {
    let text = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
});
/// The observations that no step has waited for yet.
static NOTICED: Mutex<Vec<(String, String, Value)>> = Mutex::new(Vec::new());
static CHANGED: Notify = Notify::const_new();
/// The roots after a `roots` step.
static ROOTS: Mutex<Option<Value>> = Mutex::new(None);

/// Microseconds of the clock that all processes share.
pub(crate) fn now() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}

/// Appends a line to the report.
pub(crate) fn write(line: &Value) {
    let path = CONTEXT["report"].as_str().unwrap_or_default();
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.expect("the report can be written");
}

/// Handlers of notifications, each of which reports an event.
macro_rules! notices {
    ($($handler:ident($($detail:ident: $params:ty)?) => $event:literal,)*) => {
        $(async fn $handler(&self, $($detail: $params,)? _: rmcp::service::NotificationContext<rmcp::RoleClient>) {
            $crate::contract::notice($event, &self.0, serde_json::json!(($($detail)?)));
        })*
    };
}
pub(crate) use notices;

/// The lists: step, method, member of the result, and capability.
pub(crate) const LISTS: [(&str, &str, &str, &str); 4] = [
    ("list", "tools/list", "tools", "tools"),
    ("resources", "resources/list", "resources", "resources"),
    ("resource-templates", "resources/templates/list", "resourceTemplates", "resources"),
    ("prompts", "prompts/list", "prompts", "prompts"),
];

/// The request of a step for resources, prompts, completion or logging: method, parameters, and the capability as a JSON
/// Pointer.
pub(crate) fn request(kind: &str, options: &Value) -> Result<(&'static str, Value, &'static str), Failure> {
    let uri = json!({ "uri": options["uri"] });
    Ok(match kind {
        "read" => ("resources/read", uri, "/resources"),
        "subscribe" => ("resources/subscribe", uri, "/resources/subscribe"),
        "unsubscribe" => ("resources/unsubscribe", uri, "/resources/subscribe"),
        "log-level" => ("logging/setLevel", json!({ "level": options["level"] }), "/logging"),
        "prompt" => {
            let mut params = json!({ "name": options["name"] });
            if let Some(arguments) = options.get("arguments") {
                params["arguments"] = arguments.clone();
            }
            ("prompts/get", params, "/prompts")
        }
        "complete" => {
            let reference = match options.get("prompt") {
                Some(prompt) => json!({ "type": "ref/prompt", "name": prompt }),
                None => json!({ "type": "ref/resource", "uri": options["template"] }),
            };
            let argument = json!({ "name": options["argument"], "value": options["value"] });
            let mut params = json!({ "ref": reference, "argument": argument });
            if let Some(context) = options.get("context") {
                params["context"] = json!({ "arguments": context });
            }
            ("completion/complete", params, "/completions")
        }
        other => return Err(Failure::new("skipped", &format!("an SDK has no `{other}`"))),
    })
}

/// Reports an event.
pub(crate) fn notice(event: &str, server: &str, detail: Value) {
    write(&json!({ "event": { "at_us": now(), "event": event, "server": server, "detail": &detail } }));
    noticed().push((event.to_owned(), server.to_owned(), detail));
    CHANGED.notify_waiters();
}

fn noticed() -> std::sync::MutexGuard<'static, Vec<(String, String, Value)>> {
    NOTICED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for an event.
pub(crate) async fn wait(event: &str, server: Option<&str>) -> Value {
    loop {
        let changed = CHANGED.notified();
        let is_wanted =
            |(kind, from, _): &(String, String, Value)| kind == event && server.is_none_or(|one| one == from);
        let found = {
            let mut all = noticed();
            all.iter().position(is_wanted).map(|position| all.remove(position).2)
        };
        match found {
            Some(detail) => return detail,
            None => changed.await,
        }
    }
}

/// A duration such as `1s 500ms`.
pub(crate) fn duration(text: &Value) -> Option<Duration> {
    humantime::parse_duration(text.as_str()?).ok()
}

/// The headers of every HTTP request.
pub(crate) fn headers() -> HashMap<HeaderName, HeaderValue> {
    let headers = CONTEXT["client"]["headers"].as_object().into_iter().flatten();
    headers.filter_map(|(name, value)| Some((name.parse().ok()?, value.as_str()?.parse().ok()?))).collect()
}

/// The user's roots. Without any, the list is that of the SDK.
pub(crate) fn roots() -> Value {
    let changed = ROOTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let known = changed.unwrap_or_else(|| CONTEXT["client"]["user"]["roots"].clone());
    if known.is_null() { json!([]) } else { known }
}

pub(crate) fn set_roots(roots: Value) {
    *ROOTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(roots);
}

/// A call of a tool: its parameters, its time limit, and what cancels it, if a step may.
pub(crate) struct Call {
    pub(crate) call: Value,
    pub(crate) limit: Option<Duration>,
    pub(crate) stop: Option<CancellationToken>,
}

/// Whether a step cancels a begun call.
pub(crate) fn is_cancelled(call: &Value) -> bool {
    CONTEXT["steps"].as_array().is_some_and(|steps| steps.iter().any(|step| step["cancel"]["call"] == *call))
}

/// Waits until a call is to be cancelled.
pub(crate) async fn stopped(stop: Option<CancellationToken>) {
    match stop {
        Some(stop) => stop.cancelled().await,
        None => std::future::pending().await,
    }
}

/// The command of a server over stdio.
pub(crate) fn command(endpoint: &Value) -> Option<Command> {
    let mut words = endpoint["command"].as_array()?.iter().filter_map(Value::as_str);
    let mut command = Command::new(words.next()?);
    command.args(words);
    Some(command)
}

/// A value of the SDK with these members.
pub(crate) fn typed<T: DeserializeOwned>(members: Value) -> T {
    serde_json::from_value(members).expect("valid members")
}

/// The parameters of `initialize`.
pub(crate) fn client() -> Value {
    let user = &CONTEXT["client"]["user"];
    let mut capabilities = json!({});
    if !user["url"].is_null() {
        capabilities["elicitation"] = json!({ "form": {}, "url": {} });
    } else if !user["form"].is_null() {
        capabilities["elicitation"] = json!({});
    }
    if !user["sampling"].is_null() {
        capabilities["sampling"] = json!({});
    }
    if !user["roots"].is_null() {
        capabilities["roots"] = json!({ "listChanged": true });
    }
    let info = json!({ "name": "rmcp", "version": "1.0.0" });
    json!({ "protocolVersion": CONTEXT["revision"], "capabilities": capabilities, "clientInfo": info })
}

/// Waits for the user to respond.
async fn considered() {
    tokio::time::sleep(duration(&CONTEXT["client"]["user"]["delay"]).unwrap_or_default()).await;
}

/// The model's message. Without a model, the error is that of the SDK.
pub(crate) async fn sampled() -> Result<Value, ErrorData> {
    considered().await;
    let text = &CONTEXT["client"]["user"]["sampling"];
    if text.is_null() {
        return Err(ErrorData::method_not_found::<CreateMessageRequestMethod>());
    }
    let content = json!({ "type": "text", "text": text });
    Ok(json!({ "role": "assistant", "model": "model", "stopReason": "endTurn", "content": content }))
}

/// The user's answer to a form or a URL.
pub(crate) async fn answer(request: &Value) -> Value {
    considered().await;
    let user = &CONTEXT["client"]["user"];
    if request["mode"] == "url" {
        return json!({ "action": user["url"].as_str().unwrap_or("decline") });
    }
    match &user["form"] {
        // What the SDK does for an application without forms.
        Value::Null => json!({ "action": "decline" }),
        Value::String(action) if action == "absent" => json!({ "action": "cancel" }),
        Value::String(action) => json!({ "action": action }),
        form => {
            let properties = request["requestedSchema"]["properties"].as_object();
            let defaults = properties
                .into_iter()
                .flatten()
                .filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
            let mut content: Map<String, Value> = defaults.collect();
            content.extend(form["accept"].as_object().cloned().unwrap_or_default());
            json!({ "action": "accept", "content": content })
        }
    }
}

/// Why a step has no value.
pub(crate) struct Failure {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) code: Option<i64>,
}

impl Failure {
    pub(crate) fn new(kind: &'static str, message: &str) -> Self {
        Self { kind, message: message.to_owned(), code: None }
    }

    pub(crate) fn closed(error: impl std::fmt::Display) -> Self {
        Self::new("closed", &error.to_string())
    }

    pub(crate) fn rejected_by_server(code: i64, message: &str) -> Self {
        Self { code: Some(code), ..Self::new("rpc-error", message) }
    }

    pub(crate) fn timed_out() -> Self {
        Self::new("timed-out", "no response in time")
    }
}

/// Ends the work after the time limit.
pub(crate) async fn in_time<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::time::timeout(limit.unwrap_or(Duration::MAX), work).await.unwrap_or_else(|_| Err(Failure::timed_out()))
}
