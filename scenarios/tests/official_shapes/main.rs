//! Compares the shapes of messages with the official schemas of all revisions: for generated valid and invalid values, the
//! validator and `jsonschema` give the same verdict, apart from the differences in `differences`.
//!
//! The schemas are not part of the repository. They are read from `MCP_SCHEMAS`, or from `shared/spec` beside the
//! repository; without them the tests are reported as ignored.

mod differences;
mod generate;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::ExitCode,
};

use evidence::Direction;
use jsonschema::Validator;
use libtest_mimic::{Arguments, Trial};
use mcp_workbench_scenarios::{
    model::Revision,
    shapes::{Shapes, check, is_base64},
};
use serde_json::{Value, json};

use self::generate::{Generator, mutations};

/// Values that are generated per definition, besides those with all and with no optional members.
const RANDOM_VALUES: usize = 3;
/// Disagreements that a failure prints.
const MAX_PRINTED: usize = 40;

fn main() -> ExitCode {
    let directory = std::env::var_os("MCP_SCHEMAS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec"), PathBuf::from);
    let file = |revision: Revision| directory.join(format!("{revision}.schema.json"));
    let mut tests: Vec<Trial> = Revision::ALL
        .into_iter()
        .map(|revision| {
            let path = file(revision);
            let is_missing = !path.exists();
            Trial::test(format!("agrees_with_the_official_schema_of_{revision}"), move || compare(revision, &path))
                .with_ignored_flag(is_missing)
        })
        .collect();
    let files = Revision::ALL.map(file);
    let is_missing = files.iter().any(|file| !file.exists());
    let all = move || each_difference_exists(&files);
    tests.push(Trial::test("each_listed_difference_exists", all).with_ignored_flag(is_missing));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// A definition of the official schema and our verdict on a value of it.
struct Comparison<'s> {
    schema: &'s str,
    accepts: Box<dyn Fn(&Value) -> bool>,
    /// Other official definitions that a message must satisfy too.
    also: Option<&'s str>,
}

fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn definitions(schema: &Value) -> &serde_json::Map<String, Value> {
    let found = schema.get("$defs").or_else(|| schema.get("definitions"));
    found.and_then(Value::as_object).expect("a schema with definitions")
}

/// The official name of a definition whose name in the data is that of the newest revision.
fn official_name<'s>(known: &serde_json::Map<String, Value>, name: &'s str) -> Option<&'s str> {
    let earlier = [
        ("JSONRPCResultResponse", "JSONRPCResponse"),
        ("JSONRPCErrorResponse", "JSONRPCError"),
        ("ResourceTemplateReference", "ResourceReference"),
        ("LegacyTitledEnumSchema", "EnumSchema"),
    ];
    let earlier = earlier.into_iter().find(|(newer, _)| *newer == name).map(|(_, older)| older);
    [Some(name), earlier].into_iter().flatten().find(|name| known.contains_key(*name))
}

fn comparisons(revision: Revision, known: &serde_json::Map<String, Value>) -> Vec<Comparison<'static>> {
    let shapes = Shapes::in_revision(revision);
    let mut all = Vec::new();
    for (name, schema) in shapes.definitions() {
        let Some(schema) = schema.and_then(|schema| official_name(known, schema)) else { continue };
        let accepts = move |value: &Value| {
            Shapes::in_revision(revision).check_value(name, value).is_some_and(|report| report.faults.is_empty())
        };
        all.push(Comparison { schema, accepts: Box::new(accepts), also: None });
    }
    let requests = shapes.requests().map(|(method, schema, _)| (method, schema, "JSONRPCRequest"));
    let notifications = shapes.notifications().map(|(method, schema)| (method, schema, "JSONRPCNotification"));
    for (method, schema, envelope) in requests.chain(notifications) {
        let direction = direction(known, schema);
        let is_request = envelope == "JSONRPCRequest";
        // A value with another method, or without the id of a request, is another message.
        let accepts = move |value: &Value| {
            value["method"] == method
                && value.get("id").is_some() == is_request
                && check(revision, direction, value, None).faults.is_empty()
        };
        all.push(Comparison { schema, accepts: Box::new(accepts), also: Some(envelope) });
    }
    all
}

/// The direction of a message: in 2026-07-28 the only notification of clients is not a union.
fn direction(known: &serde_json::Map<String, Value>, schema: &str) -> Direction {
    let clients = ["ClientRequest", "ClientNotification"].map(|union| known[union].to_string());
    let method = known[schema]["properties"]["method"].to_string();
    let by_client = clients.iter().any(|union| union.contains(&format!("/{schema}\"")) || union.contains(&method));
    if by_client { Direction::ClientToServer } else { Direction::ServerToClient }
}

/// A validator of one official definition, with the definitions that it refers to.
fn official(known: &serde_json::Map<String, Value>, names: &[&str]) -> Validator {
    let mut needed: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = names.to_vec();
    while let Some(name) = open.pop() {
        let Some((name, definition)) = known.get_key_value(name) else { continue };
        if needed.insert(name) {
            references(definition, &mut open);
        }
    }
    let defs: BTreeMap<&str, Value> = needed.into_iter().map(|name| (name, rebased(&known[name]))).collect();
    let all: Vec<Value> = names.iter().map(|name| json!({ "$ref": format!("#/$defs/{name}") })).collect();
    let schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": all, "$defs": defs });
    let options = jsonschema::options().should_validate_formats(true).with_format("byte", is_base64);
    options.build(&schema).expect("an official schema is valid")
}

fn references<'s>(value: &'s Value, found: &mut Vec<&'s str>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                found.extend(reference.rsplit('/').next());
            }
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// The schema with references into `$defs`, which older revisions call `definitions`.
fn rebased(value: &Value) -> Value {
    serde_json::from_str(&value.to_string().replace("\"#/definitions/", "\"#/$defs/")).expect("still JSON")
}

fn compare(revision: Revision, path: &Path) -> Result<(), libtest_mimic::Failed> {
    let schema = read(path)?;
    let known = definitions(&schema);
    let comparisons = comparisons(revision, known);
    let mut wrong = not_compared(known, &comparisons);
    let mut compared = 0;
    for comparison in &comparisons {
        let names: Vec<&str> = [Some(comparison.schema), comparison.also].into_iter().flatten().collect();
        let validator = official(known, &names);
        let mut generator = Generator::new(known, comparison.also.is_some());
        for value in generator.values(comparison.schema, RANDOM_VALUES) {
            let mut judge = |pointer: &str, value: &Value| {
                compared += 1;
                let (ours, theirs) = ((comparison.accepts)(value), validator.is_valid(value));
                if ours != theirs && !differences::is_listed(revision, comparison.schema, pointer, ours) {
                    wrong.push(format!(
                        "{} at `{pointer}`: accepted: {ours}, officially: {theirs}: {value}",
                        comparison.schema
                    ));
                }
            };
            judge("", &value);
            mutations(&value, &mut judge);
        }
    }
    if wrong.is_empty() && compared > 10_000 {
        return Ok(());
    }
    let count = wrong.len();
    wrong.truncate(MAX_PRINTED);
    Err(format!("{count} of {compared} values in {revision}:\n{}", wrong.join("\n")).into())
}

/// The official definitions without a comparison, apart from those that are listed.
fn not_compared(known: &serde_json::Map<String, Value>, comparisons: &[Comparison<'_>]) -> Vec<String> {
    let compared: BTreeSet<&str> = comparisons.iter().map(|comparison| comparison.schema).collect();
    let listed = |name: &str| differences::NOT_COMPARED.iter().any(|(names, _)| names.contains(&name));
    let missing = known.keys().filter(|name| !compared.contains(name.as_str()) && !listed(name));
    missing.map(|name| format!("{name} is not compared")).collect()
}

fn each_difference_exists(files: &[PathBuf]) -> Result<(), libtest_mimic::Failed> {
    let mut wrong = Vec::new();
    for difference in differences::DIFFERENCES {
        let (revision, example) = (difference.revision, (difference.example)());
        let position = Revision::ALL.iter().position(|one| *one == revision).expect("a revision");
        let schema = read(&files[position])?;
        let known = definitions(&schema);
        let comparisons = comparisons(revision, known);
        let comparison = comparisons.iter().find(|comparison| comparison.schema == difference.schema);
        let comparison = comparison.ok_or_else(|| format!("{} is not compared", difference.schema))?;
        let names: Vec<&str> = [Some(comparison.schema), comparison.also].into_iter().flatten().collect();
        let (ours, theirs) = ((comparison.accepts)(&example), official(known, &names).is_valid(&example));
        if ours != difference.accepted || theirs == ours {
            wrong
                .push(format!("{} ({}): accepted: {ours}, officially: {theirs}", difference.schema, difference.reason));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
