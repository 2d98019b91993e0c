//! Names that a scenario may use: requirements, checks, capabilities, methods.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use crate::{judge::checks, model::Subject, requirements::Register};

/// Capabilities of a server (2025-11-25 schema, `ServerCapabilities`; 2026-07-28 added `extensions`).
pub(crate) const CAPABILITIES: &[&str] =
    &["completions", "experimental", "extensions", "logging", "prompts", "resources", "tasks", "tools"];

/// The methods of all revisions (their `schema.ts`), to detect misspelled ones.
pub(crate) const METHODS: &[&str] = &[
    "completion/complete",
    "elicitation/create",
    "initialize",
    "logging/setLevel",
    "notifications/cancelled",
    "notifications/elicitation/complete",
    "notifications/initialized",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/roots/list_changed",
    "notifications/subscriptions/acknowledged",
    "notifications/tasks/status",
    "notifications/tools/list_changed",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "roots/list",
    "sampling/createMessage",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tools/call",
    "tools/list",
];

static BUILT_IN: LazyLock<Vocabulary> = LazyLock::new(|| {
    Vocabulary::new(Register::built_in().ids(), checks::all().map(|(check, subject)| (check.id, subject)))
});

/// The requirements and checks that a scenario may name.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    /// The ids of the requirements.
    pub(crate) requirements: BTreeSet<String>,
    /// The ids of the checks, with their subjects.
    pub(crate) checks: BTreeMap<String, Subject>,
}

impl Vocabulary {
    /// The built-in requirements and checks.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Only these requirements and checks.
    pub fn new<'a>(
        requirements: impl IntoIterator<Item = &'a str>,
        checks: impl IntoIterator<Item = (&'a str, Subject)>,
    ) -> Self {
        Self {
            requirements: requirements.into_iter().map(str::to_owned).collect(),
            checks: checks.into_iter().map(|(id, subject)| (id.to_owned(), subject)).collect(),
        }
    }
}
