//! Selection of the rule that handles a message.

use serde_json::{Map, Value};

use super::{
    SessionKey,
    message::{CLIENT_RESPONSE, INVALID_JSON, INVALID_MESSAGE},
};
use crate::script::{Action, Rule, When};

/// The rules of a script, and their counters.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    rules: Vec<(Rule, u64)>,
    run: u64,
}

/// A message with its revision and session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchInput<'a> {
    pub(crate) message: &'a Value,
    /// The revision of the message.
    pub(crate) revision: &'a str,
    pub(crate) session: Option<SessionKey>,
}

/// The rule that decides about a message.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    /// The actions.
    pub(crate) actions: Vec<Action>,
    /// The number of messages that the rule's other fields have matched.
    pub(crate) nth: u64,
    /// The index of the rule in the script.
    pub(crate) rule: usize,
}

impl Rules {
    pub(crate) fn new(rules: Vec<Rule>, run: u64) -> Self {
        Self { rules: rules.into_iter().map(|rule| (rule, 0)).collect(), run }
    }

    pub(crate) fn set_run(&mut self, run: u64) {
        self.run = run;
    }

    /// The actions of the rule at this index.
    pub(crate) fn actions(&self, rule: usize) -> Option<&[Action]> {
        self.rules.get(rule).map(|(rule, _)| rule.actions.as_slice())
    }

    /// The number of this run of the server's process.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    /// Resets the counters.
    pub(crate) fn reset(&mut self) {
        self.rules.iter_mut().for_each(|(_, met)| *met = 0);
    }

    /// The first rule that matches decides. All matching rules count the message, because `nth` counts the messages that
    /// match the other fields.
    pub(crate) fn decide(&mut self, arrived: MatchInput<'_>) -> Option<Decision> {
        let mut decision = None;
        for (at, (rule, met)) in self.rules.iter_mut().enumerate() {
            if !matches(&rule.when, arrived, self.run) {
                continue;
            }
            *met += 1;
            if rule.when.counts(*met) && decision.is_none() {
                decision = Some(Decision { actions: rule.actions.clone(), nth: *met, rule: at });
            }
        }
        decision
    }
}

/// Whether all fields except the counters match.
pub(crate) fn matches(when: &When, arrived: MatchInput<'_>, run: u64) -> bool {
    let MatchInput { message, revision, session } = arrived;
    let method = message.get("method").and_then(Value::as_str);
    // GET, DELETE and invalid input are not messages, and responses have no method, so only rules that name them match.
    if matches!(method, Some("GET" | "DELETE" | INVALID_JSON | INVALID_MESSAGE | CLIENT_RESPONSE))
        && when.method.is_none()
    {
        return false;
    }
    let param = |name| message.get("params").and_then(|params| params.get(name));
    let tool = || (method == Some("tools/call")).then(|| param("name").and_then(Value::as_str)).flatten();
    let text = |name| param(name).and_then(Value::as_str);
    let fills = matches!(method, Some("tools/call" | "prompts/get"));
    // Keys are counted from 0, in the order in which sessions are opened.
    when.run.is_none_or(|expected| expected == run)
        && when.session.is_none_or(|expected| session.is_some_and(|SessionKey(key)| key + 1 == expected))
        && when.method.as_deref().is_none_or(|expected| method == Some(expected))
        && when.tool.as_deref().is_none_or(|expected| tool() == Some(expected))
        && when.prompt.as_deref().is_none_or(|expected| method == Some("prompts/get") && text("name") == Some(expected))
        && when.uri.as_deref().is_none_or(|expected| text("uri") == Some(expected))
        && when.revisions.as_ref().is_none_or(|expected| expected.iter().any(|expected| expected == revision))
        && when.resumed.is_none_or(|expected| param("lastEventId").is_some() == expected)
        && when.cursor.as_deref().is_none_or(|expected| text("cursor") == Some(expected))
        && when.arguments.as_ref().is_none_or(|expected| {
            fills && param("arguments").and_then(Value::as_object).is_some_and(|given| contains_all(given, expected))
        })
}

/// Whether the object has these members, among others.
fn contains_all(given: &Map<String, Value>, expected: &Map<String, Value>) -> bool {
    expected.iter().all(|(name, value)| given.get(name) == Some(value))
}
