//! Format of a mock server's script: the `server:` part of a scenario, or a script file.
//!
//! This module owns the format and nothing else. [`crate::engine`] gives it meaning.

mod action;
mod ask;
mod cache;
mod content;
mod fault;
mod generate;
mod http;
mod info;
mod process;
mod prompt;
mod resource;
mod rule;
mod skill;
mod task;
mod tool;
mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use self::words::FORMAT;
pub use self::{
    action::{Action, Batch, Change, Log, Notify, Progress, Replace, Reply, Request, RpcError, Switch, Update},
    ask::{Ask, AskState, Undeclared},
    cache::{Cache, CacheHints, CacheScope},
    content::{Content, LinkBlock, MediaBlock, ResourceBlock, TextBlock},
    fault::FaultRule,
    generate::{Generate, GenerateSchema},
    http::{CloseStream, EndpointForm, HttpScript, InvalidRequest, Respond, Validation},
    info::Info,
    process::{ProcessScript, Wrapper},
    prompt::{Prompt, PromptArgument, PromptMessage, Role},
    resource::{Resource, ResourcePart, ResourceTemplate},
    rule::{Rule, When},
    skill::{Skill, SkillFile},
    task::{DurationTemplate, TaskSupport, TaskTimes, ToolTask},
    tool::Tool,
    words::{RENAMED, name_of_words},
};
pub use crate::faults::{ChildScript, Exit, Fault, HttpStatus};
use crate::{human_duration::HumanDuration, one_or_many};

/// A mock server: its tools, resources and prompts, and its deviations from the default behavior.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Script {
    /// The scripts that this one extends, one or several: profiles (`minimal`, `everything`, `large`,
    /// `misbehaving/<preset>`), or in a script file other files, relative to its directory. Lists are merged: the rules
    /// of this script come first, and its tools, resources and prompts replace those of the same name. Other keys of
    /// this script replace those of the extended scripts, and later extended scripts replace earlier ones.
    #[serde(with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<String>")]
    pub extends: Vec<String>,
    /// The name in `serverInfo` [default: `mcp-workbench-mock`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Further members of `serverInfo`.
    #[serde(skip_serializing_if = "Info::is_default")]
    pub info: Info,
    /// The protocol revisions that the server supports [default: the revision of the case]. A handshake revision and
    /// 2026-07-28 together make a dual-era server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<Vec<String>>,
    /// The capabilities to declare [default: those that the rest of the script implies].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Map<String, Value>>,
    /// The `instructions` for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The tools, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// The resources, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// The resource templates, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_templates: Vec<ResourceTemplate>,
    /// The prompts, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<Prompt>,
    /// Generated items after the written ones: `tool-00000`, `tool-00001` and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
    /// The skills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// The number of items per page of a list [default: all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<usize>,
    /// Whether the server also sends members that the negotiated revision does not have, such as icons in 2024-11-05.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anachronisms: bool,
    /// `ttlMs` of the caching hints of 2026-07-28 [default: 0]. `cache` has more detail and takes precedence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// Caching hints of 2026-07-28.
    #[serde(skip_serializing_if = "Cache::is_default")]
    pub cache: Cache,
    /// Rules that replace the default behavior. The first rule that matches a message applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<Rule>,
    /// Persistent faults, always or with a probability. They run before the rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRule>,
    /// Behavior over Streamable HTTP.
    #[serde(skip_serializing_if = "HttpScript::is_default")]
    pub http: HttpScript,
    /// Behavior of the server's process, over stdio.
    #[serde(skip_serializing_if = "ProcessScript::is_default")]
    pub process: ProcessScript,
}
