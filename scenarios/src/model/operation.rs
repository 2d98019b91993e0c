//! The operations of a load. `crate::bench` executes them.

use std::str::FromStr;

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::LoadExpect;

/// Requests of clients. Over HTTP the raw driver sends only these: a later revision may require further headers of others.
const METHODS: [&str; 13] = [
    "completion/complete",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Names of operations that are more than a request.
const SESSION: &str = "session/open";
const CANCEL: &str = "call/cancel";
const HOLD: &str = "subscription/hold";

/// An operation and how often it is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MixEntry {
    /// Its share is this number, at least 1, divided by the sum of all weights.
    pub weight: u32,
    /// The operation.
    #[serde(rename = "do")]
    pub operation: LoadOperation,
}

/// One operation of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOperation {
    /// Call a tool.
    Call(CallOperation),
    /// Read all pages of a list.
    List(ListKind),
    /// Read a resource.
    Read(ReadOperation),
    /// Get a prompt.
    Prompt(PromptOperation),
    /// Send any other request.
    Request(RequestOperation),
    /// Open a session and end it. Over stdio this starts a process.
    Session(SessionOperation),
    /// Call a tool, and cancel the call after a time.
    Cancel(CancelOperation),
    /// Subscribe to a resource, and end the subscription after a time.
    Hold(HoldOperation),
}

/// A list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ListKind {
    /// The tools.
    Tools,
    /// The resources.
    Resources,
    /// The resource templates.
    ResourceTemplates,
    /// The prompts.
    Prompts,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallOperation {
    /// The tool.
    pub tool: String,
    /// The arguments [default: none].
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// Expected result [default: any result that is not an error].
    #[serde(default, skip_serializing_if = "LoadExpect::is_default")]
    pub expect: LoadExpect,
}

/// A resource to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadOperation {
    /// Its URI.
    pub uri: String,
    /// Expected result [default: any result that is not an error].
    #[serde(default, skip_serializing_if = "LoadExpect::is_default")]
    pub expect: LoadExpect,
}

/// A prompt to get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptOperation {
    /// Its name.
    pub name: String,
    /// The arguments, which are strings [default: none].
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// Expected result [default: any result that is not an error].
    #[serde(default, skip_serializing_if = "LoadExpect::is_default")]
    pub expect: LoadExpect,
}

/// A session that is opened and ended. It succeeds if the server completes the handshake, or the discovery in 2026-07-28.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionOperation {}

/// A call that is cancelled. It succeeds if it is still open then, or if its result arrived before and is not an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelOperation {
    /// The tool.
    pub tool: String,
    /// The arguments [default: none].
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// When to cancel, since the call.
    pub after: HumanDuration,
}

/// A subscription that lasts for a time, below the timeout of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldOperation {
    /// The URI of the resource.
    pub uri: String,
    /// How long.
    #[serde(rename = "for")]
    pub period: HumanDuration,
}

/// A request of any method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestOperation {
    /// The method, for example `ping` or `completion/complete`.
    pub method: String,
    /// Its parameters [default: none].
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Expected result [default: any result that is not an error].
    #[serde(default, skip_serializing_if = "LoadExpect::is_default")]
    pub expect: LoadExpect,
}

impl ListKind {
    const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts];

    /// The method.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The array of the result.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

impl LoadOperation {
    /// The name in results and thresholds.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Call(call) => call.tool.clone(),
            Self::List(list) => list.method().to_owned(),
            Self::Read(read) => format!("resources/read {}", read.uri),
            Self::Prompt(prompt) => format!("prompts/get {}", prompt.name),
            Self::Request(request) => request.method.clone(),
            Self::Session(_) => SESSION.to_owned(),
            Self::Cancel(cancel) => format!("{CANCEL} {}", cancel.tool),
            Self::Hold(hold) => format!("{HOLD} {}", hold.uri),
        }
    }

    /// Whether only the complete client can execute it, as it is more than a request.
    #[must_use]
    pub fn needs_client(&self) -> bool {
        matches!(self, Self::Session(_) | Self::Cancel(_) | Self::Hold(_))
    }

    /// The method of its requests.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::Call(_) | Self::Cancel(_) => "tools/call",
            Self::List(list) => list.method(),
            Self::Read(_) => "resources/read",
            Self::Prompt(_) => "prompts/get",
            Self::Request(request) => &request.method,
            Self::Session(_) => SESSION,
            Self::Hold(_) => HOLD,
        }
    }

    /// The parameters of its (first) request.
    #[must_use]
    pub fn params(&self) -> Map<String, Value> {
        let params = match self {
            Self::Call(call) => json!({ "name": call.tool, "arguments": call.arguments }),
            Self::Cancel(cancel) => json!({ "name": cancel.tool, "arguments": cancel.arguments }),
            Self::List(_) | Self::Session(_) => json!({}),
            Self::Hold(hold) => json!({ "uri": hold.uri }),
            Self::Read(read) => json!({ "uri": read.uri }),
            Self::Prompt(prompt) => json!({ "name": prompt.name, "arguments": prompt.arguments }),
            Self::Request(request) => return request.params.clone(),
        };
        params.as_object().cloned().unwrap_or_default()
    }

    /// The expected result.
    #[must_use]
    pub fn expect(&self) -> LoadExpect {
        match self {
            Self::Call(call) => call.expect.clone(),
            Self::List(_) | Self::Session(_) | Self::Cancel(_) | Self::Hold(_) => LoadExpect::default(),
            Self::Read(read) => read.expect.clone(),
            Self::Prompt(prompt) => prompt.expect.clone(),
            Self::Request(request) => request.expect.clone(),
        }
    }

    /// The list that is read.
    #[must_use]
    pub fn list(&self) -> Option<ListKind> {
        if let Self::List(list) = self { Some(*list) } else { None }
    }

    /// The method as a constant; `None` for a method that is not one of MCP.
    pub(crate) fn known_method(&self) -> Option<&'static str> {
        METHODS.into_iter().find(|method| *method == self.method())
    }
}

impl FromStr for LoadOperation {
    type Err = String;

    /// Parses `NAME` or `NAME=JSON`: a tool with its arguments, or a method of MCP with its parameters.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, params) = match text.split_once('=') {
            Some((name, params)) => (name.trim(), params),
            None => (text.trim(), "{}"),
        };
        if name.is_empty() {
            return Err("write a tool or a method, as `echo={\"message\": \"hi\"}` or `tools/list`".to_owned());
        }
        let params: Map<String, Value> =
            serde_json::from_str(params).map_err(|cause| format!("`{params}` is not a JSON object: {cause}"))?;
        let invalid = |cause: serde_json::Error| format!("the parameters of `{name}` are invalid: {cause}");
        let listed = ListKind::ALL.into_iter().find(|list| list.method() == name).filter(|_| params.is_empty());
        if let Some(list) = listed {
            return Ok(Self::List(list));
        }
        match name {
            "resources/read" => serde_json::from_value(params.into()).map(Self::Read).map_err(invalid),
            "prompts/get" => serde_json::from_value(params.into()).map(Self::Prompt).map_err(invalid),
            SESSION => serde_json::from_value(params.into()).map(Self::Session).map_err(invalid),
            CANCEL => serde_json::from_value(params.into()).map(Self::Cancel).map_err(invalid),
            HOLD => serde_json::from_value(params.into()).map(Self::Hold).map_err(invalid),
            _ if METHODS.contains(&name) => {
                Ok(Self::Request(RequestOperation { method: name.to_owned(), params, expect: LoadExpect::default() }))
            }
            _ => Ok(Self::Call(CallOperation {
                tool: name.to_owned(),
                arguments: params,
                expect: LoadExpect::default(),
            })),
        }
    }
}

impl FromStr for MixEntry {
    type Err = String;

    /// Parses `8:echo`: a weight and an operation.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (weight, operation) = text
            .split_once(':')
            .and_then(|(weight, operation)| Some((weight.trim().parse().ok()?, operation)))
            .filter(|(weight, _)| *weight > 0)
            .ok_or_else(|| format!("`{text}` has no weight; write a number from 1 and an operation, as `8:echo`"))?;
        Ok(Self { weight, operation: operation.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_a_tool_or_a_method() {
        for (text, name, method, params) in [
            ("echo", "echo", "tools/call", json!({ "name": "echo", "arguments": {} })),
            (r#"a/b={"x": "="}"#, "a/b", "tools/call", json!({ "name": "a/b", "arguments": { "x": "=" } })),
            ("tools/list", "tools/list", "tools/list", json!({})),
            (r#"tools/list={"cursor":"2"}"#, "tools/list", "tools/list", json!({ "cursor": "2" })),
            (r#"resources/read={"uri":"a:b"}"#, "resources/read a:b", "resources/read", json!({ "uri": "a:b" })),
            (r#"prompts/get={"name":"p"}"#, "prompts/get p", "prompts/get", json!({ "name": "p", "arguments": {} })),
            ("ping", "ping", "ping", json!({})),
            ("session/open", "session/open", "session/open", json!({})),
            (
                r#"call/cancel={"tool":"a","after":"5ms"}"#,
                "call/cancel a",
                "tools/call",
                json!({ "name": "a", "arguments": {} }),
            ),
            (
                r#"subscription/hold={"uri":"a:b","for":"1s"}"#,
                "subscription/hold a:b",
                "subscription/hold",
                json!({ "uri": "a:b" }),
            ),
        ] {
            let operation: LoadOperation = text.parse().unwrap();
            assert_eq!((operation.name().as_str(), operation.method()), (name, method), "{text}");
            assert_eq!(Value::Object(operation.params()), params, "{text}");
        }
        for text in ["", "=", "echo={", "echo=[]", "resources/read", r#"resources/read={"url":"a"}"#, "call/cancel"] {
            assert!(text.parse::<LoadOperation>().is_err(), "{text}");
        }
        let all = "tools/list".parse::<LoadOperation>().unwrap().list();
        let one_page = r#"tools/list={"cursor":"2"}"#.parse::<LoadOperation>().unwrap().list();
        assert_eq!((all, one_page), (Some(ListKind::Tools), None));
    }

    #[test]
    fn a_weight_is_a_number_from_one() {
        let entry: MixEntry = "8:a:b".parse().unwrap();
        assert_eq!((entry.weight, entry.operation.name().as_str()), (8, "a:b"));
        for text in ["echo", "0:echo", "-1:echo", "x:echo", "1:"] {
            assert!(text.parse::<MixEntry>().is_err(), "{text}");
        }
    }
}
