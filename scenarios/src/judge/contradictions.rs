//! Compares the report of a client with the frames: a client cannot have received what no server sent.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{derived::features, transcript::Transcript};
use crate::{
    evidence::{Outcome, StepOutcome},
    model::{Call, ClientStep, Scenario},
};

/// The first reported success that the frames rule out.
pub(super) fn contradiction(scenario: &Scenario, transcript: &Transcript<'_>) -> Option<String> {
    // What was omitted may be what the report says.
    if transcript.evidence.omitted_frames > 0 {
        return None;
    }
    let report = Report::new(scenario, transcript);
    report.connections().or_else(|| report.lists()).or_else(|| report.calls()).or_else(|| report.features())
}

struct Report<'t, 'a> {
    transcript: &'t Transcript<'a>,
    steps: &'t [ClientStep],
    /// The name of the server, if there is only one.
    only: Option<&'t str>,
}

impl<'t, 'a> Report<'t, 'a> {
    fn new(scenario: &'t Scenario, transcript: &'t Transcript<'a>) -> Self {
        let mut names = scenario.scripts().map(|(name, _)| name);
        let only = names.next().filter(|_| names.next().is_none());
        Self { transcript, steps: scenario.steps.client(), only }
    }

    /// The reported values with their steps.
    fn values(&self) -> impl Iterator<Item = (Option<&'t ClientStep>, &'t StepOutcome, &'t Value)> {
        self.transcript.evidence.steps.iter().filter_map(|outcome| match &outcome.outcome {
            Outcome::Value(value) => Some((outcome.step.and_then(|index| self.steps.get(index)), outcome, value)),
            Outcome::Error(_) | Outcome::Skipped(_) => None,
        })
    }

    fn connections(&self) -> Option<String> {
        // Clients of a stateless revision may connect without a message.
        if self.transcript.evidence.revision.is_modern() {
            return None;
        }
        let answered = self.transcript.requests().iter().filter(|one| one.result().is_some());
        let answered: HashSet<&str> = answered.map(|one| one.request.frame.server.as_str()).collect();
        let mut connected = self.values().flat_map(|(step, outcome, value)| match step {
            Some(ClientStep::Connect(_) | ClientStep::Reconnect(_)) | None => {
                connected_servers(outcome, value, self.only)
            }
            Some(_) => vec![],
        });
        let server = connected.find(|server| !answered.contains(server))?;
        Some(format!("the client reported a connection to `{server}`, which never accepted one"))
    }

    fn lists(&self) -> Option<String> {
        let listed = self.transcript.requests_of("tools/list").filter(|one| one.result().is_some());
        let listed: HashSet<&str> = listed.map(|one| one.request.frame.server.as_str()).collect();
        self.values().find_map(|(step, _, value)| {
            let Some(ClientStep::List(list)) = step else { return None };
            let mut tools = value.get("tools")?.as_array()?.iter();
            let server = |tool: &'t Value| tool.get("server").and_then(Value::as_str);
            let server = tools.find_map(|tool| server(tool).or(list.server.as_deref()).or(self.only))?;
            (!listed.contains(server))
                .then(|| format!("the client reported tools of `{server}`, which never listed any"))
        })
    }

    fn calls(&self) -> Option<String> {
        let mut results: HashMap<(&str, &str), usize> = HashMap::new();
        for one in self.transcript.requests_of("tools/call").filter(|one| one.result().is_some()) {
            if let Some(tool) = one.request.tool() {
                *results.entry((one.request.frame.server.as_str(), tool)).or_default() += 1;
            }
        }
        self.values().find_map(|(step, _, _)| {
            let call = self.called(step?).filter(|call| !call.qualified)?;
            let server = call.server.as_deref().or(self.only)?;
            match results.get_mut(&(server, call.tool.as_str())).filter(|left| **left > 0) {
                Some(left) => {
                    *left -= 1;
                    None
                }
                None => Some(format!("the client reported a result of `{}` that `{server}` never sent", call.tool)),
            }
        })
    }

    /// Results for resources, prompts and completion that no server sent.
    fn features(&self) -> Option<String> {
        let modern = self.transcript.evidence.revision.is_modern();
        self.values().find_map(|(step, _, value)| {
            let request = features::request(step?, modern)?;
            let server = request.server.or(self.only)?;
            // Without the capability, a list is empty and no request is sent.
            if let Some(items) = request.items
                && value.get(items).and_then(Value::as_array).is_none_or(Vec::is_empty)
            {
                return None;
            }
            let mut sent = self.transcript.requests_of(request.method);
            let is_sent = sent.any(|one| one.result().is_some() && request.matches(server, one));
            (!is_sent)
                .then(|| format!("the client reported a result of `{}` that `{server}` never sent", request.method))
        })
    }

    /// The call whose result a step returns.
    fn called(&self, step: &'t ClientStep) -> Option<&'t Call> {
        match step {
            ClientStep::Call(call) => Some(call),
            ClientStep::Finish(finish) => self.steps.iter().find_map(|step| match step {
                ClientStep::Start(call) if call.name.as_deref().unwrap_or(&call.tool) == finish.call => Some(call),
                _ => None,
            }),
            _ => None,
        }
    }
}

/// The servers to which a reported value says that the client connected.
fn connected_servers<'t>(outcome: &'t StepOutcome, value: &'t Value, only: Option<&'t str>) -> Vec<&'t str> {
    let name = |value: &'t Value| value.get("server").and_then(Value::as_str);
    if let Some(connected) = value.get("connected").and_then(Value::as_array) {
        return connected.iter().filter_map(name).collect();
    }
    // Without a revision it is the value of a disconnect.
    let server = name(value).or(outcome.server.as_deref()).or(only);
    server.filter(|_| value.get("revision").is_some()).into_iter().collect()
}
