//! Decides whether a tool may be called: by rules, then tool annotations, then approval by the user.
//!
//! **Order.** The first of seven steps that applies decides: global deny, server deny, server ask, server allow, global ask,
//! global allow, and the annotations of the tool, which allow or ask ([`Hints::decision`]). So deny rules always win, and
//! rules of one server win over rules for all servers.
//!
//! **Rules** have one of these forms:
//!
//! | rule | applies to |
//! | --- | --- |
//! | `<server>/<tool>` | the pair; split at the first `/` |
//! | `mcp__<server>__<tool>` | the pair; the *rule* is split at the first `__` after the prefix |
//! | `mcp__<server>` | all tools of the server |
//! | `mcp__…___<26 characters>` | the tool with this qualified name (`client::names`), without wildcards |
//! | `Elicit(<server>)` | elicitation requests of the server |
//! | `<tool>` | that tool; only in the rules of one server |
//!
//! Server and tool are case-sensitive patterns of complete names: `*` matches any run of characters, `?` any one character,
//! and `\` escapes the next character.
//!
//! A qualified name is never split: `mcp__a__b__c` could be the tool `b__c` of `a` or the tool `c` of `a__b`. An ambiguous
//! deny or ask rule has all its possible meanings: it also matches the qualified name that models see, and server and tool
//! joined by `__`. An allow rule only has the meaning of the table.
//!
//! An invalid rule is an error ([`RuleErrors`]) and is never skipped. A caller that continues nevertheless uses
//! [`Permissions::deny_all`].
//!
//! The user approves one call or the [`Session`]; [`Gate`] requests the approval.

mod configured;
mod explanation;
mod gate;
mod glob;
mod hints;
mod request;
mod rule;
mod session;
mod target;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

pub use explanation::{Decider, Explanation, Step, StepResult};
pub use gate::{
    Approver, ChannelApprover, DenyAllApprover, ExplanationCache, Gate, GateOutcome, PendingApproval, approval_channel,
};
pub use glob::GlobError;
pub use hints::{HintUse, Hints};
pub use request::{ApprovalChoice, ApprovalRequest, ApprovalResponse};
pub use rule::{Rule, RuleErrorKind};
pub use session::Session;
pub use target::{PermissionTarget, PermissionTargetName};

use crate::filter::printable;
use rule::Reading;

/// The decision about a tool call or an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionDecision {
    /// Allowed.
    Allow,
    /// The user must approve it.
    Ask,
    /// Denied.
    Deny,
}

impl fmt::Display for PermissionDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// Unparsed rules of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleTexts {
    /// Allow rules.
    pub allow: Vec<String>,
    /// Ask rules.
    pub ask: Vec<String>,
    /// Deny rules.
    pub deny: Vec<String>,
}

/// The rules of one scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
}

/// An invalid rule and its location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule `{}` ({}{list}[{index}]) {problem}", printable(text),
    server.as_ref().map(|server| format!("server `{}`, ", printable(server))).unwrap_or_default())]
pub struct RuleError {
    /// The rule.
    pub text: String,
    /// The server whose rules contain it; `None` for global rules.
    pub server: Option<String>,
    /// The list that contains it.
    pub list: PermissionDecision,
    /// Index in that list.
    pub index: usize,
    /// The reason, with the remedy.
    #[source]
    pub problem: RuleErrorKind,
}

/// All invalid rules, at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct RuleErrors(pub Vec<RuleError>);

impl Rules {
    /// Parses the global rules.
    ///
    /// # Errors
    /// All invalid rules.
    pub fn global(texts: &RuleTexts) -> Result<Self, RuleErrors> {
        Self::read(texts, None)
    }

    /// Parses the rules of one server.
    ///
    /// # Errors
    /// All rules that are invalid or apply to another server.
    pub fn for_server(texts: &RuleTexts, server: &str) -> Result<Self, RuleErrors> {
        Self::read(texts, Some(server))
    }

    fn read(texts: &RuleTexts, server: Option<&str>) -> Result<Self, RuleErrors> {
        let mut errors = Vec::new();
        let mut list = |list: PermissionDecision, texts: &[String]| -> Vec<Rule> {
            let mut rules = Vec::with_capacity(texts.len());
            for (index, text) in texts.iter().enumerate() {
                match server.map_or_else(|| Rule::global(text), |server| Rule::for_server(text, server)) {
                    Ok(rule) => rules.push(rule),
                    Err(problem) => {
                        let server = server.map(str::to_owned);
                        errors.push(RuleError { text: text.clone(), server, list, index, problem });
                    }
                }
            }
            rules
        };
        let rules = Self {
            deny: list(PermissionDecision::Deny, &texts.deny),
            ask: list(PermissionDecision::Ask, &texts.ask),
            allow: list(PermissionDecision::Allow, &texts.allow),
        };
        if errors.is_empty() { Ok(rules) } else { Err(RuleErrors(errors)) }
    }

    fn list(&self, decision: PermissionDecision) -> &[Rule] {
        match decision {
            PermissionDecision::Allow => &self.allow,
            PermissionDecision::Ask => &self.ask,
            PermissionDecision::Deny => &self.deny,
        }
    }
}

/// Global rules, rules of each server, and the use of annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    global: Rules,
    servers: BTreeMap<String, Rules>,
    hints: HintUse,
    deny_all: bool,
}

impl Permissions {
    /// Permissions with global rules.
    #[must_use]
    pub fn new(global: Rules) -> Self {
        Self { global, ..Self::default() }
    }

    /// Permissions that deny everything, for invalid rules.
    #[must_use]
    pub fn deny_all() -> Self {
        Self { deny_all: true, ..Self::default() }
    }

    /// Sets the rules of one server.
    #[must_use]
    pub fn with_server(mut self, server: impl Into<String>, rules: Rules) -> Self {
        self.servers.insert(server.into(), rules);
        self
    }

    /// Sets the use of annotations.
    #[must_use]
    pub fn with_hints(self, hints: HintUse) -> Self {
        Self { hints, ..self }
    }

    /// Decides, and reports the matching rules of every step.
    #[must_use]
    pub fn explain(&self, target: &PermissionTarget<'_>) -> Explanation {
        if self.deny_all {
            return Explanation::deny_all(target.name());
        }
        let steps = Step::RULES.map(|step| {
            let (decision, server) = (step.decision(), step.is_server());
            let rules = if server { self.servers.get(target.server()) } else { Some(&self.global) };
            let reading = if decision == PermissionDecision::Allow { Reading::Narrow } else { Reading::Wide };
            let list = rules.map(|rules| rules.list(decision)).unwrap_or_default();
            let matched = list.iter().filter(|rule| rule.applies(target, reading));
            StepResult { step, rules: list.len(), matched: matched.map(|rule| rule.text().to_owned()).collect() }
        });
        let hints = match target {
            PermissionTarget::Tool { tool, .. } => Some(Hints::new(tool)),
            PermissionTarget::Elicitation { .. } => None,
        };
        Explanation::new(target.name(), steps.to_vec(), hints, self.hints)
    }
}
