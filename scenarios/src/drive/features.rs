//! The steps for resources, prompts, completion and logging.

use std::collections::BTreeMap;

use client::{CallError, ListErrorKind};
use serde_json::{Map, Value, json};

use super::{
    outcome::{call_error, list_error_kind, step_error},
    session::Session,
};
use crate::{evidence::Outcome, model::ClientStep};

impl Session<'_> {
    /// Executes a step of these features on the named server, or the only one.
    pub(super) async fn feature(&self, step: &ClientStep, server: Option<&str>) -> Outcome {
        let connection = match self.connection(server) {
            Ok(connection) => connection,
            Err(outcome) => return outcome,
        };
        match step {
            ClientStep::Resources(_) => listed("resources", connection.list_resources().await),
            ClientStep::ResourceTemplates(_) => listed("resourceTemplates", connection.list_resource_templates().await),
            ClientStep::Prompts(_) => listed("prompts", connection.list_prompts().await),
            ClientStep::Read(step) => result(connection.read_resource(&step.uri).await),
            ClientStep::Subscribe(step) => done(connection.subscribe_resource(&step.uri).await),
            ClientStep::Unsubscribe(step) => done(connection.unsubscribe_resource(&step.uri).await),
            ClientStep::Prompt(step) => result(connection.get_prompt(&step.name, strings(&step.arguments)).await),
            ClientStep::Complete(step) => {
                let known = strings(&step.context);
                result(connection.complete(step.reference(), &step.argument, &step.value, known).await)
            }
            ClientStep::LogLevel(step) => done(connection.set_log_level(&step.level).await),
            _ => step_error("other", "the step belongs to another feature"),
        }
    }
}

fn listed(member: &str, items: Result<Vec<Value>, ListErrorKind>) -> Outcome {
    match items {
        Ok(items) => Outcome::Value(json!({ member: items })),
        Err(error) => Outcome::Error(list_error_kind(&error)),
    }
}

fn result(result: Result<Map<String, Value>, CallError>) -> Outcome {
    match result {
        Ok(result) => Outcome::Value(result.into()),
        Err(error) => Outcome::Error(call_error(&error)),
    }
}

fn done(result: Result<(), CallError>) -> Outcome {
    match result {
        Ok(()) => Outcome::Value(Value::Null),
        Err(error) => Outcome::Error(call_error(&error)),
    }
}

fn strings(values: &BTreeMap<String, String>) -> Map<String, Value> {
    values.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect()
}
