//! Every construct that has hurt somebody, one a file in `nasty/`: the schema, and a word on why it is there.

use std::{fs, path::Path};

use client::Tool;
use mcp_workbench_agent::schema::{Options, Provider, convert_all, rules};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::snapshots::summary;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nasty {
    /// Why it is there.
    pub(crate) why: String,
    pub(crate) schema: Value,
    #[serde(skip)]
    pub(crate) name: String,
}

pub(crate) fn all() -> Vec<Nasty> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema/nasty");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let nasty: Nasty = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            Nasty { name: path.file_stem().unwrap().to_str().unwrap().to_owned(), ..nasty }
        })
        .collect()
}

pub(crate) fn tool(schema: Value) -> Tool {
    Tool::read(json!({ "name": "tool", "inputSchema": schema })).unwrap().0
}

#[test]
fn nasty_constructs_for_every_provider() {
    for nasty in all() {
        assert!(!nasty.why.is_empty(), "{}", nasty.name);
        let tool = tool(nasty.schema);
        let mut text = String::new();
        for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::GeminiJsonSchema] {
            let conversion = convert_all(provider, [("tool".to_owned(), &tool)], &Options::default());
            text.push_str(&format!("== {provider}\n{}", summary(&conversion)));
            for tool in &conversion.tools {
                let violations = rules::violations(provider, &tool.definition);
                assert!(violations.is_empty(), "{} {provider}: {violations:#?}\n{:#}", nasty.name, tool.definition);
            }
        }
        insta::with_settings!({ description => nasty.why }, {
            insta::assert_snapshot!(format!("nasty-{}", nasty.name), text);
        });
    }
}
