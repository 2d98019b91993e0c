//! Configuration of a managed server.

use std::{collections::BTreeSet, sync::Arc};

use crate::{config::ServerConfig, tool::ToolList};

/// The time of the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartMode {
    /// Immediately.
    #[default]
    AtOnce,
    /// On first use.
    OnDemand,
}

/// A managed server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedServer {
    /// The connection. The manager identifies the server by its name.
    pub config: ServerConfig,
    /// Whether the server may be used.
    pub enabled: bool,
    /// Whether [`super::Manager::apply`] fails without it. It then starts immediately.
    pub required: bool,
    /// The time of the start.
    pub start: StartMode,
    /// The account of the user, if the configuration does not determine it. Private data is never shared between
    /// accounts.
    pub account: Option<String>,
    /// The tools that may be listed and called.
    pub tools: ToolFilter,
}

/// The tools that may be listed and called, by the server's own names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Only these, or all tools if `None`.
    pub enabled: Option<BTreeSet<String>>,
    /// Excluded tools. They take precedence over `enabled`.
    pub disabled: BTreeSet<String>,
}

impl ToolFilter {
    /// Whether a tool is allowed.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        self.enabled.as_ref().is_none_or(|enabled| enabled.contains(tool)) && !self.disabled.contains(tool)
    }

    /// Removes tools that are not allowed.
    pub(super) fn apply(&self, list: Arc<ToolList>) -> Arc<ToolList> {
        if list.tools.iter().all(|tool| self.allows(tool.name())) {
            return list;
        }
        let tools = list.tools.iter().filter(|tool| self.allows(tool.name())).cloned().collect();
        Arc::new(ToolList { tools, ..ToolList::clone(&list) })
    }
}

impl ManagedServer {
    /// An enabled, optional server that starts immediately.
    #[must_use]
    pub fn new(config: ServerConfig) -> Self {
        Self {
            config,
            enabled: true,
            required: false,
            start: StartMode::AtOnce,
            account: None,
            tools: ToolFilter::default(),
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Whether a connection for `self` can be used for `other`.
    pub(super) fn connects_like(&self, other: &Self) -> bool {
        self.config == other.config && self.enabled == other.enabled && self.account == other.account
    }

    /// Whether it starts without being used.
    pub(super) fn starts_at_once(&self) -> bool {
        self.enabled && (self.required || self.start == StartMode::AtOnce)
    }
}
