//! The objects of SARIF 2.1.0 that the report uses, with the names of the specification.

use std::collections::BTreeMap;

use serde::Serialize;

/// `sarifLog` (3.13).
#[derive(Debug, Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun; 1],
}

impl Log {
    pub(super) fn new(run: SarifRun) -> Self {
        let schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
        Self { schema, version: "2.1.0", runs: [run] }
    }
}

/// `run` (3.14).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRun {
    pub(super) tool: Tool,
    pub(super) automation_details: AutomationDetails,
    pub(super) invocations: Vec<Invocation>,
    pub(super) results: Vec<SarifResult>,
    pub(super) column_kind: &'static str,
}

/// `tool` (3.18).
#[derive(Debug, Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

/// `toolComponent` (3.19).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    pub(super) name: &'static str,
    pub(super) version: String,
    pub(super) information_uri: &'static str,
    pub(super) rules: Vec<ReportingDescriptor>,
}

/// `runAutomationDetails` (3.17).
#[derive(Debug, Serialize)]
pub(super) struct AutomationDetails {
    pub(super) id: String,
}

/// `invocation` (3.20).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_execution_notifications: Vec<Notification>,
}

/// `notification` (3.58).
#[derive(Debug, Serialize)]
pub(super) struct Notification {
    pub(super) level: &'static str,
    pub(super) message: Message,
}

/// `reportingDescriptor` (3.49): a rule.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportingDescriptor {
    pub(super) id: String,
    pub(super) short_description: Message,
    pub(super) help: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help_uri: Option<String>,
    pub(super) default_configuration: Configuration,
}

/// `reportingConfiguration` (3.50).
#[derive(Debug, Serialize)]
pub(super) struct Configuration {
    pub(super) level: &'static str,
}

/// `result` (3.27).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResult {
    pub(super) rule_id: String,
    pub(super) rule_index: usize,
    pub(super) level: &'static str,
    pub(super) message: Message,
    pub(super) locations: Vec<Location>,
    pub(super) partial_fingerprints: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) suppressions: Option<Vec<Suppression>>,
}

/// `suppression` (3.35).
#[derive(Debug, Serialize)]
pub(super) struct Suppression {
    kind: &'static str,
    justification: &'static str,
}

impl Suppression {
    pub(super) fn baseline() -> Self {
        Self { kind: "external", justification: "listed in the baseline of known failures" }
    }
}

/// `message` (3.11) or `multiformatMessageString` (3.12), as plain text.
#[derive(Debug, Serialize)]
pub(super) struct Message {
    pub(super) text: String,
}

/// `location` (3.28).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    pub(super) physical_location: PhysicalLocation,
    pub(super) logical_locations: Vec<LogicalLocation>,
}

/// `physicalLocation` (3.29).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: Artifact,
    pub(super) region: Region,
}

/// `artifactLocation` (3.4).
#[derive(Debug, Serialize)]
pub(super) struct Artifact {
    pub(super) uri: String,
}

/// `region` (3.30).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: u32,
}

/// `logicalLocation` (3.33).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub(super) fully_qualified_name: String,
    pub(super) kind: &'static str,
}
