//! What a manager is told about one of its servers.

use std::{collections::BTreeSet, sync::Arc};

use crate::{config::ServerConfig, tool::ToolList};

/// When a server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartMode {
    /// Together with all others.
    #[default]
    AtOnce,
    /// When somebody wants something of it.
    OnDemand,
}

/// A server that a manager looks after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedServer {
    /// Where it is and how to speak with it. Its name is what the manager knows it by.
    pub config: ServerConfig,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// Whether the start as a whole fails without it. It is then started at once.
    pub required: bool,
    /// When it is started.
    pub start: StartMode,
    /// On whose behalf it is spoken to, where the configuration alone does not tell: two accounts on one server never
    /// share what it marks as private.
    pub account: Option<String>,
    /// Which of its tools may be seen and called.
    pub tools: ToolFilter,
}

/// Which tools of a server may be seen and called. The names are the server's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Only these; all, if absent.
    pub enabled: Option<BTreeSet<String>>,
    /// Not these, whatever else is said.
    pub disabled: BTreeSet<String>,
}

impl ToolFilter {
    /// Whether a tool is let through.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        self.enabled.as_ref().is_none_or(|enabled| enabled.contains(tool)) && !self.disabled.contains(tool)
    }

    /// What of a list is let through.
    pub(super) fn of(&self, list: Arc<ToolList>) -> Arc<ToolList> {
        if list.tools.iter().all(|tool| self.allows(tool.name())) {
            return list;
        }
        let tools = list.tools.iter().filter(|tool| self.allows(tool.name())).cloned().collect();
        Arc::new(ToolList { tools, ..ToolList::clone(&list) })
    }
}

impl ManagedServer {
    /// A server that is used, not required, and started with all others.
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

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Whether a connection made for `self` serves `other` as well.
    pub(super) fn connects_like(&self, other: &Self) -> bool {
        self.config == other.config && self.enabled == other.enabled && self.account == other.account
    }

    /// Whether it is started without being asked for.
    pub(super) fn starts_at_once(&self) -> bool {
        self.enabled && (self.required || self.start == StartMode::AtOnce)
    }
}
