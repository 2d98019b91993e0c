//! Resources: the scenarios of the catalog and the requirement register.

use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use scenarios::{catalog::built_in_files, requirements::Register};
use serde_json::json;

use crate::{
    tools::{requirement, scenarios as listing},
    workbench::Workbench,
};

const SCENARIOS: &str = "mcp-workbench://scenarios";
const REQUIREMENTS: &str = "mcp-workbench://requirements";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

pub(super) fn list() -> Vec<Resource> {
    vec![
        Resource::new(SCENARIOS, "scenarios")
            .with_title("Scenarios")
            .with_description("All scenarios of the catalog: id, title and requirement.")
            .with_mime_type(JSON),
        Resource::new(REQUIREMENTS, "requirements")
            .with_title("Requirements")
            .with_description("The ids of all requirements that verdicts cite.")
            .with_mime_type(JSON),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SCENARIOS}/{{+id}}"), "scenario")
            .with_title("Scenario")
            .with_description("Source of one scenario, `pagination/two-pages` for example.")
            .with_mime_type(YAML),
        ResourceTemplate::new(format!("{REQUIREMENTS}/{{+id}}"), "requirement")
            .with_title("Requirement")
            .with_description("One requirement: level, rule, source and scenarios.")
            .with_mime_type(JSON),
    ]
}

pub(super) fn read(workbench: &Workbench, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("unknown resource `{uri}`"), Some(json!({ "uri": uri })));
    let (text, mime) = if uri == SCENARIOS {
        (json!({ "scenarios": listing::all(workbench) }).to_string(), JSON)
    } else if uri == REQUIREMENTS {
        (json!({ "requirements": Register::built_in().ids().collect::<Vec<_>>() }).to_string(), JSON)
    } else if let Some(id) = uri.strip_prefix(SCENARIOS).and_then(|rest| rest.strip_prefix('/')) {
        (scenario(id).ok_or_else(unknown)?, YAML)
    } else if let Some(id) = uri.strip_prefix(REQUIREMENTS).and_then(|rest| rest.strip_prefix('/')) {
        let found = requirement::explain(workbench, id, None).map_err(|_| unknown())?;
        (serde_json::to_string(&found).map_err(|error| ErrorData::internal_error(error.to_string(), None))?, JSON)
    } else {
        return Err(unknown());
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(mime)]))
}

/// The source of a scenario.
fn scenario(id: &str) -> Option<String> {
    let wanted = format!("catalog/{id}.yaml");
    let (_, bytes) = built_in_files().find(|(path, _)| *path == wanted)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}
