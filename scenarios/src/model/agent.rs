//! Settings of an agent: its rules, its user, and what its model gets.

use std::collections::BTreeMap;

use agent::permissions::RuleTexts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the agent around a client. With it, `list` returns the tools that the model sees, and `call` has the content
/// that the model gets as its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct AgentSetup {
    /// Rules for calls and elicitations [default: none, so the agent decides by the annotations of the tool].
    #[serde(skip_serializing_if = "AgentRules::is_default")]
    pub permissions: AgentRules,
    /// The choices of the user when the agent asks for approval, in this order. Afterwards the user does not respond, and
    /// without a response nothing is approved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<UserApproval>,
    /// Maximum size of a result for the model, in tokens [default: that of the agent].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<usize>,
    /// Whether the model gets a search tool instead of the definitions of the tools.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub search: bool,
    /// The servers that the administrator allows [default: all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<ServerPolicy>,
    /// What the configuration of the agent says about servers, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, ServerEntry>,
    /// Variables of the environment that the entries of servers contain. Others with such names are not set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
}

/// What the configuration of an agent says about a server, in addition to its command or URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerEntry {
    /// Whether the server is switched off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Headers for every HTTP request. `${NAME}` is replaced by a variable, and `${NAME:-text}` by the text if it is not set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The only tools that the agent uses [default: all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// Rules for calls, as `server/tool`, and for elicitations, as `Elicit(server)`. `*` in a name means any characters. A
/// deny rule wins over an ask rule, and an ask rule over an allow rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentRules {
    /// Called without approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Called with the approval of the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Never called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl AgentRules {
    /// The rules for the parser of the agent.
    pub(crate) fn texts(&self) -> RuleTexts {
        RuleTexts { allow: self.allow.clone(), ask: self.ask.clone(), deny: self.deny.clone() }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The choice of the user about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UserApproval {
    /// Allow this call.
    Once,
    /// Allow the tool for the session.
    Session,
    /// Allow the tool from now on, also after a restart of the agent.
    Always,
    /// Deny this call.
    Deny,
    /// Deny the tool for the session.
    DenySession,
}

/// The servers that the administrator of a machine allows, by name. A server that is not allowed is never started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerPolicy {
    /// The only allowed servers [default: all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Servers that are not allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}
