//! The tools that a server offers at the moment.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::script::{Change, Script, Tool};

/// How many tools a script may have made up: enough to try any client, too few to exhaust the machine.
const MOST_GENERATED: usize = 1_000_000;

/// The tools on offer, in order, each with the definition that lists show.
#[derive(Debug, Clone)]
pub(crate) struct Catalogue {
    tools: Vec<Entry>,
    /// Where the first tool of a name stands: a mock may offer a name twice.
    by_name: HashMap<String, usize>,
}

#[derive(Debug, Clone)]
struct Entry {
    tool: Tool,
    definition: Value,
    /// The definition for those who know the tasks of 2025-11-25, where it is another.
    with_task: Option<Value>,
}

impl Catalogue {
    pub(crate) fn new(script: &Script) -> Self {
        let generated = script.generate.map_or(0, |generate| generate.tools.min(MOST_GENERATED));
        let tools = script.tools.iter().cloned().chain((0..generated).map(generated_tool)).map(Entry::new).collect();
        let mut catalogue = Self { tools, by_name: HashMap::new() };
        catalogue.index();
        catalogue
    }

    pub(crate) fn len(&self) -> usize {
        self.tools.len()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).map(|at| &self.tools[*at].tool)
    }

    /// The definitions at these positions, with or without what 2025-11-25 says about tasks.
    pub(crate) fn page(&self, from: usize, count: usize, tasks: bool) -> Vec<Value> {
        let shown = |entry: &Entry| match &entry.with_task {
            Some(definition) if tasks => definition.clone(),
            _ => entry.definition.clone(),
        };
        self.tools.iter().skip(from).take(count).map(shown).collect()
    }

    /// Puts tools in, takes tools away.
    pub(crate) fn change(&mut self, change: &Change) {
        self.tools.retain(|entry| !change.remove.contains(&entry.tool.name));
        self.index();
        for tool in &change.put {
            let entry = Entry::new(tool.clone());
            match self.by_name.get(&tool.name) {
                Some(at) => self.tools[*at] = entry,
                None => {
                    self.by_name.insert(tool.name.clone(), self.tools.len());
                    self.tools.push(entry);
                }
            }
        }
    }

    fn index(&mut self) {
        self.by_name.clear();
        for (at, entry) in self.tools.iter().enumerate() {
            self.by_name.entry(entry.tool.name.clone()).or_insert(at);
        }
    }
}

impl Entry {
    fn new(tool: Tool) -> Self {
        let definition = definition(&tool);
        let with_task = tool.task.as_ref().map(|task| {
            let mut definition = definition.clone();
            definition["execution"] = json!({ "taskSupport": task.support });
            definition
        });
        Self { tool, definition, with_task }
    }
}

fn generated_tool(number: usize) -> Tool {
    Tool {
        name: format!("tool-{number:05}"),
        description: Some(format!("Made-up tool number {number}.")),
        title: None,
        input_schema: None,
        output_schema: None,
        annotations: None,
        reply: None,
        task: None,
    }
}

/// The tool as `tools/list` shows it.
fn definition(tool: &Tool) -> Value {
    let mut members = Map::new();
    members.insert("name".into(), tool.name.clone().into());
    for (name, text) in [("title", &tool.title), ("description", &tool.description)] {
        if let Some(text) = text {
            members.insert(name.into(), text.clone().into());
        }
    }
    let input = tool.input_schema.clone();
    members.insert("inputSchema".into(), input.unwrap_or_else(default_input_schema));
    for (name, value) in [("outputSchema", &tool.output_schema), ("annotations", &tool.annotations)] {
        if let Some(value) = value {
            members.insert(name.into(), value.clone());
        }
    }
    Value::Object(members)
}

fn default_input_schema() -> Value {
    json!({ "type": "object", "properties": { "text": { "type": "string" } } })
}
