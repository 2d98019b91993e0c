//! The calls and the token of a request.

use http::{HeaderMap, Uri, header};
use serde_json::Value;
use url::form_urlencoded;

use crate::oauth::script::StepUp;

/// Maximum number of checked messages of a batch.
const MAX_CALLS: usize = 100;

/// A JSON-RPC request or notification.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    pub(super) tool: Option<&'a str>,
}

/// The calls in a body: one, or those of a batch.
pub(super) fn calls(body: Option<&Value>) -> Vec<Call<'_>> {
    let messages = match body {
        Some(Value::Array(batch)) => batch.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    messages.iter().take(MAX_CALLS).filter_map(call).collect()
}

fn call(message: &Value) -> Option<Call<'_>> {
    let method = message.get("method")?.as_str()?;
    let name = message.get("params").and_then(|params| params.get("name")).and_then(Value::as_str);
    Some(Call { method, tool: name.filter(|_| method == "tools/call") })
}

impl Call<'_> {
    /// Whether it is among these methods, which may end in `*`.
    pub(super) fn is_open(&self, methods: &[String]) -> bool {
        methods.iter().any(|open| match open.strip_suffix('*') {
            Some(start) => self.method.starts_with(start),
            None => self.method == open,
        })
    }

    pub(super) fn matches(&self, rule: &StepUp) -> bool {
        rule.method.as_ref().is_none_or(|method| method == self.method)
            && rule.tool.as_ref().is_none_or(|tool| Some(tool.as_str()) == self.tool)
    }
}

/// The token of a request.
#[derive(Debug, Default)]
pub(super) struct Presented {
    /// The scheme, in lower case.
    pub(super) scheme: Option<String>,
    pub(super) token: String,
    pub(super) in_query: bool,
    /// Whether there is more than one `Authorization` header.
    pub(super) repeated: bool,
}

pub(super) fn presented(uri: &Uri, headers: &HeaderMap) -> Presented {
    let query = uri.query().unwrap_or_default();
    let in_query = form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "access_token");
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = all.next() else { return Presented { in_query, ..Presented::default() } };
    let text = value.to_str().unwrap_or_default();
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    Presented {
        scheme: Some(scheme.to_ascii_lowercase()),
        token: token.trim().to_owned(),
        in_query,
        repeated: all.next().is_some(),
    }
}
