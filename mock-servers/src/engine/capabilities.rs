//! Default capabilities, implied by a script.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era,
    features::{RevisionFeatures, Rules, SchemaType},
    message::RESOURCE_UPDATED,
    revision::{self, effective_revision},
    server_lists::announced,
    skills, tasks,
};
use crate::script::{Action, Script, TaskSupport};

/// Default capabilities that depend on the revision.
#[derive(Debug, Clone, Default)]
pub(crate) struct DefaultCapabilities {
    /// Whether calls may be tasks.
    tasks: bool,
    /// Whether there are skills.
    skills: bool,
}

impl DefaultCapabilities {
    pub(crate) fn new(script: &Script) -> Self {
        if script.capabilities.is_some() {
            return Self::default();
        }
        let tools = || script.tools.iter().filter_map(|tool| tool.task.as_ref());
        let begun = actions(script).any(|action| matches!(action, Action::Task(_)));
        let tasks = begun || tools().any(|task| task.support != TaskSupport::Forbidden);
        Self { tasks, skills: !script.skills.is_empty() }
    }

    pub(crate) fn has_tasks(&self) -> bool {
        self.tasks
    }
}

impl Engine {
    /// The capabilities in this revision.
    pub(crate) fn capabilities_for(&self, revision: &str) -> Map<String, Value> {
        let mut capabilities = self.settings.capabilities.clone();
        let mut extensions = Map::new();
        if self.settings.default_capabilities.tasks && Rules::known(revision).is_some_and(|rules| rules.tasks) {
            let tasks = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
            capabilities.insert("tasks".into(), tasks);
        }
        if self.settings.default_capabilities.tasks && revision::era(revision) == Era::Modern {
            extensions.insert(tasks::EXTENSION.into(), json!({}));
        }
        if self.settings.default_capabilities.skills && revision::era(revision) == Era::Modern {
            extensions.insert(skills::EXTENSION.into(), json!({ "directoryRead": true }));
        }
        if !extensions.is_empty() {
            capabilities.insert("extensions".into(), extensions.into());
        }
        RevisionFeatures::new(effective_revision(revision), self.settings.anachronisms)
            .fit_members(SchemaType::ServerCapabilities, &mut capabilities);
        capabilities
    }

    /// Whether the server declares an extension of 2026-07-28.
    pub(crate) fn has_extension(&self, name: &str) -> bool {
        let spelled_out = self.settings.capabilities.get("extensions").and_then(|extensions| extensions.get(name));
        let implied = match name {
            tasks::EXTENSION => self.settings.default_capabilities.tasks,
            skills::EXTENSION => self.settings.default_capabilities.skills,
            _ => false,
        };
        spelled_out.is_some() || implied
    }

    /// Whether the server declares `directoryRead` of the skills extension.
    pub(crate) fn reads_skill_directories(&self) -> bool {
        let extensions = self.settings.capabilities.get("extensions");
        let said = extensions.and_then(|extensions| extensions.get(skills::EXTENSION)?.get("directoryRead")?.as_bool());
        said.unwrap_or(self.settings.default_capabilities.skills)
    }

    /// Whether the server declares the tasks of 2025-11-25.
    pub(crate) fn has_legacy_tasks(&self) -> bool {
        self.settings.default_capabilities.tasks || self.settings.capabilities.contains_key("tasks")
    }
}

/// The capabilities of all revisions.
pub(crate) fn declared(script: &Script) -> Map<String, Value> {
    script.capabilities.clone().unwrap_or_else(|| implied(script))
}

fn implied(script: &Script) -> Map<String, Value> {
    let mut capabilities = Map::new();
    for area in ["tools", "resources", "prompts"] {
        let changed = changes(script, &format!("notifications/{area}/list_changed"));
        let updated = area == "resources" && updates(script);
        if area == "tools" || changed || updated || offers(script, area) || answers(script, &format!("{area}/")) {
            let mut members = Map::new();
            for (name, contains_all) in [("listChanged", changed), ("subscribe", updated)] {
                if contains_all {
                    members.insert(name.into(), true.into());
                }
            }
            capabilities.insert(area.into(), Value::Object(members));
        }
    }
    for (name, contains_all) in [
        ("completions", completes(script) || answers(script, "completion/")),
        ("logging", logs(script) || answers(script, "logging/")),
    ] {
        if contains_all {
            capabilities.insert(name.into(), json!({}));
        }
    }
    capabilities
}

/// Whether the server has items of this area.
fn offers(script: &Script, area: &str) -> bool {
    let generate = script.generate.unwrap_or_default();
    match area {
        "resources" => {
            let written = !script.resources.is_empty() || !script.resource_templates.is_empty();
            written || !script.skills.is_empty() || generate.resources > 0 || generate.resource_templates > 0
        }
        "prompts" => !script.prompts.is_empty() || generate.prompts > 0,
        _ => false,
    }
}

fn completes(script: &Script) -> bool {
    let mut arguments = script.prompts.iter().flat_map(|prompt| &prompt.arguments);
    arguments.any(|argument| !argument.complete.is_empty())
        || script.resource_templates.iter().any(|template| !template.complete.is_empty())
}

/// Whether a rule is for methods with this prefix.
fn answers(script: &Script, prefix: &str) -> bool {
    script.on.iter().any(|rule| rule.when.method.as_ref().is_some_and(|method| method.starts_with(prefix)))
}

fn updates(script: &Script) -> bool {
    actions(script).any(|action| matches!(action, Action::Update(_)) || sends(action, RESOURCE_UPDATED))
}

fn logs(script: &Script) -> bool {
    actions(script).any(|action| matches!(action, Action::Log(_)) || sends(action, "notifications/message"))
}

/// Whether an action announces that a list has changed.
fn changes(script: &Script, method: &str) -> bool {
    actions(script).any(|action| match action {
        Action::Change(change) => change.announce && announced(change).any(|announced| announced == method),
        other => sends(other, method),
    })
}

fn sends(action: &Action, method: &str) -> bool {
    matches!(action, Action::Notify(notify) if notify.method == method)
}

fn actions(script: &Script) -> impl Iterator<Item = &Action> {
    script.on.iter().flat_map(|rule| &rule.actions)
}
