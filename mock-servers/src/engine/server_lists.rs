//! The current tools, resources, resource templates and prompts.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    Engine, Output,
    features::SchemaType,
    item_list::{ItemList, Page},
    uri_template::UriTemplate,
};
use crate::script::{Change, Prompt, Resource, ResourceTemplate, Script, Tool};

/// The four lists.
#[derive(Debug, Clone)]
pub(crate) struct ServerLists {
    pub(crate) tools: ItemList<Tool>,
    pub(crate) resources: ItemList<Resource>,
    pub(crate) templates: ItemList<ResourceTemplate>,
    pub(crate) prompts: ItemList<Prompt>,
    /// Compiled patterns of the script's templates.
    pub(crate) patterns: Vec<UriTemplate>,
    /// Compiled input schemas of tools, created when needed.
    pub(crate) validators: HashMap<String, Result<jsonschema::Validator, String>>,
    /// Whether the server declares the tasks of 2025-11-25.
    tasks: bool,
}

/// Kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl List {
    /// Each list has cursors of its own.
    pub(crate) const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts];

    /// The member of the result.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The shape of its items.
    pub(crate) fn shape(self) -> SchemaType {
        match self {
            Self::Tools => SchemaType::Tool,
            Self::Resources => SchemaType::Resource,
            Self::ResourceTemplates => SchemaType::ResourceTemplate,
            Self::Prompts => SchemaType::Prompt,
        }
    }
}

impl ServerLists {
    /// Moves the items out of a script.
    pub(crate) fn from_script(script: &mut Script, tasks: bool) -> Self {
        let generate = script.generate;
        if tasks {
            script.tools.iter_mut().for_each(name_task_support);
        }
        let mut lists = Self {
            tools: ItemList::new(std::mem::take(&mut script.tools), generate),
            resources: ItemList::new(std::mem::take(&mut script.resources), generate),
            templates: ItemList::new(std::mem::take(&mut script.resource_templates), generate),
            prompts: ItemList::new(std::mem::take(&mut script.prompts), generate),
            patterns: Vec::new(),
            validators: HashMap::new(),
            tasks,
        };
        lists.read_templates();
        lists
    }

    pub(crate) fn page(&self, list: List, from: usize, count: usize) -> Option<Page> {
        match list {
            List::Tools => self.tools.page(from, count),
            List::Resources => self.resources.page(from, count),
            List::ResourceTemplates => self.templates.page(from, count),
            List::Prompts => self.prompts.page(from, count),
        }
    }

    fn change(&mut self, change: &Change) {
        let mut put = change.put.clone();
        if self.tasks {
            put.iter_mut().for_each(name_task_support);
        }
        self.tools.change(&put, &change.remove);
        if let Some(change) = &change.resources {
            self.resources.change(&change.put, &change.remove);
        }
        if let Some(change) = &change.prompts {
            self.prompts.change(&change.put, &change.remove);
        }
        if let Some(change) = &change.resource_templates {
            self.templates.change(&change.put, &change.remove);
            self.read_templates();
        }
        self.validators.clear();
    }

    fn read_templates(&mut self) {
        self.patterns = self.templates.written().map(|template| UriTemplate::new(&template.uri_template)).collect();
    }
}

impl Engine {
    /// Changes the lists, and notifies clients if the script requires it.
    pub(crate) fn change(&mut self, change: &Change, out: &mut Vec<Output>) {
        self.items.lists.change(change);
        self.items.fast_path.close();
        if change.announce {
            for method in announced(change) {
                self.announce(method, None, out);
            }
        }
    }
}

/// Adds a script's task support to the definition of a tool (2025-11-25, tasks, tool-level negotiation).
fn name_task_support(tool: &mut Tool) {
    if let (None, Some(task)) = (&tool.execution, &tool.task) {
        tool.execution = Some(json!({ "taskSupport": task.support }));
    }
}

/// The notifications that announce a change.
pub(crate) fn announced(change: &Change) -> impl Iterator<Item = &'static str> {
    let resources = change.resources.is_some() || change.resource_templates.is_some();
    let prompts = change.prompts.is_some();
    let tools = !change.put.is_empty() || !change.remove.is_empty() || !(resources || prompts);
    let all = [
        (tools, "notifications/tools/list_changed"),
        (resources, "notifications/resources/list_changed"),
        (prompts, "notifications/prompts/list_changed"),
    ];
    all.into_iter().filter_map(|(contains_all, method)| contains_all.then_some(method))
}

/// Adds the members with a value.
pub(crate) fn add<const N: usize>(
    definition: &mut serde_json::Map<String, Value>,
    members: [(&str, Option<Value>); N],
) {
    for (name, value) in members {
        if let Some(value) = value {
            definition.insert(name.to_owned(), value);
        }
    }
}
