//! What a mock server does, as people write it: the `server:` part of a scenario, or a script file of its own.
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
    http::{CloseStream, HttpScript, Respond},
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

/// A mock server: what it offers, and where it departs from good behaviour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Script {
    /// What the script builds upon, one or several: profiles (`minimal`, `everything`, `large`,
    /// `misbehaving/<preset>`), or in a script file other files, named from where it stands. Lists are put together: the
    /// rules of this script come first, and its tools, resources and prompts take the place of those of the same name.
    /// Of everything else, what is said here holds, and then what the last of them says.
    #[serde(with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<String>")]
    pub extends: Vec<String>,
    /// The name that the server gives itself in `serverInfo`; `mcp-workbench-mock` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More of `serverInfo`.
    #[serde(skip_serializing_if = "Info::is_default")]
    pub info: Info,
    /// The protocol revisions that the server supports, newest preferred. Absent: the one that the case is run with.
    /// A handshake revision and 2026-07-28 together make a dual-era server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<Vec<String>>,
    /// The capabilities to declare. Absent: what the rest of the script implies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Map<String, Value>>,
    /// The `instructions` to give to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The tools to offer, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// The resources to offer, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// The resource templates to offer, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_templates: Vec<ResourceTemplate>,
    /// The prompts to offer, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<Prompt>,
    /// More of all of them, made up: `tool-00000`, `tool-00001` and so on, after those that are written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
    /// The skills to publish.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// How many items a page of a list holds; absent: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<usize>,
    /// Whether the server also sends what the revision spoken does not have: icons in 2024-11-05, say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anachronisms: bool,
    /// Caching hints of 2026-07-28 on list results (`ttlMs`); absent: 0. `cache` says the same in more detail, and
    /// comes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// Caching hints of 2026-07-28.
    #[serde(skip_serializing_if = "Cache::is_default")]
    pub cache: Cache,
    /// Departures from the default behaviour. The first rule that matches a message decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<Rule>,
    /// What goes wrong all the time, or at random. Rules have their say after these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRule>,
    /// How the server behaves over Streamable HTTP.
    #[serde(skip_serializing_if = "HttpScript::is_default")]
    pub http: HttpScript,
    /// How the server's process behaves, over stdio.
    #[serde(skip_serializing_if = "ProcessScript::is_default")]
    pub process: ProcessScript,
}
