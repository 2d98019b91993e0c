//! Whether a tool may be called: rules, hints and a person, in this order.
//!
//! **The order.** Seven steps, of which the first that has something to say decides: global deny, server deny, server ask,
//! server allow, global ask, global allow, and at last the hints of the tool, which allow or ask ([`Hints::verdict`]). So
//! nothing beats a rule that denies, and what is said of one server beats what is said of all.
//!
//! **A rule** is one of
//!
//! | rule | is about |
//! | --- | --- |
//! | `<server>/<tool>` | the pair; it is split at the first `/` |
//! | `mcp__<server>__<tool>` | the pair; the *rule* is split at the first `__` after the prefix |
//! | `mcp__<server>` | all tools of the server |
//! | `mcp__…___<26 characters>` | the one tool that has this qualified name (`client::names`); nothing in it is a wildcard |
//! | `Elicit(<server>)` | what the server asks of the person |
//! | `<tool>` | that tool, among the rules of one server alone |
//!
//! Server and tool are patterns of whole names as their server and the configuration spell them: `*` is any run of
//! characters, `?` any one of them, `\` takes the meaning from the next. Upper and lower case differ.
//!
//! A qualified name is never split: `mcp__a__b__c` could be the tool `b__c` of `a` or the tool `c` of `a__b`. Where the text
//! of a rule could mean more than one thing, a rule that denies or asks is taken for all of them: it also matches against
//! the qualified name as it is shown to models, and against server and tool simply joined. A rule that allows is only taken
//! for what it surely means, the pair of the table.
//!
//! A rule that cannot be read is an error ([`RuleErrors`]) and never left out. Whoever goes on in spite of it goes on with
//! [`Permissions::refuse_everything`].
//!
//! A person who is asked answers once or for the [`Session`]; [`Gate`] does the asking.

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

pub use explanation::{Decider, Explanation, Step, StepTaken};
pub use gate::{Approver, ChannelApprover, DenyAllApprover, Gate, GateOutcome, PendingApproval, approval_channel};
pub use glob::GlobError;
pub use hints::{HintUse, Hints};
pub use request::{Answer, ApprovalRequest, ApprovalResponse};
pub use rule::{Rule, RuleProblem};
pub use session::Session;
pub use target::{PermissionTarget, PermissionTargetName};

use crate::filter::printable;
use rule::Reading;

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionDecision {
    /// It may be done.
    Allow,
    /// A person is to be asked.
    Ask,
    /// It must not be done.
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

/// Rules as they are written in a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleTexts {
    /// What may be done.
    pub allow: Vec<String>,
    /// What a person is to be asked about.
    pub ask: Vec<String>,
    /// What must not be done.
    pub deny: Vec<String>,
}

/// The rules of one scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
}

/// A rule that means nothing, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{}` ({}{list}[{index}]) {problem}", printable(text),
    server.as_ref().map(|server| format!("server `{}`, ", printable(server))).unwrap_or_default())]
pub struct RuleError {
    /// The rule.
    pub text: String,
    /// The server among whose rules it stands; none for those of all servers.
    pub server: Option<String>,
    /// The list in which it stands.
    pub list: PermissionDecision,
    /// Its index in that list.
    pub index: usize,
    /// Why it means nothing, with advice.
    #[source]
    pub problem: RuleProblem,
}

/// All rules that mean nothing; at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct RuleErrors(pub Vec<RuleError>);

impl Rules {
    /// Reads the rules for all servers.
    ///
    /// # Errors
    /// All rules that mean nothing.
    pub fn global(texts: &RuleTexts) -> Result<Self, RuleErrors> {
        Self::read(texts, None)
    }

    /// Reads the rules of one server.
    ///
    /// # Errors
    /// All rules that mean nothing, or are about another server.
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

    /// The rules of this list.
    fn list(&self, verdict: PermissionDecision) -> &[Rule] {
        match verdict {
            PermissionDecision::Allow => &self.allow,
            PermissionDecision::Ask => &self.ask,
            PermissionDecision::Deny => &self.deny,
        }
    }
}

/// The rules for all servers and those of each, and what the hints of tools may say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    global: Rules,
    servers: BTreeMap<String, Rules>,
    hints: HintUse,
    refused: bool,
}

impl Permissions {
    /// Rules for all servers.
    #[must_use]
    pub fn new(global: Rules) -> Self {
        Self { global, ..Self::default() }
    }

    /// What there is where the rules could not be read: everything is denied.
    #[must_use]
    pub fn refuse_everything() -> Self {
        Self { refused: true, ..Self::default() }
    }

    /// The same, with these rules for one server.
    #[must_use]
    pub fn with_server(mut self, server: impl Into<String>, rules: Rules) -> Self {
        self.servers.insert(server.into(), rules);
        self
    }

    /// The same, with this said about the hints of tools.
    #[must_use]
    pub fn with_hints(self, hints: HintUse) -> Self {
        Self { hints, ..self }
    }

    /// Decides, and tells how: every step, what matched in it, and which decided.
    #[must_use]
    pub fn explain(&self, target: &PermissionTarget<'_>) -> Explanation {
        if self.refused {
            return Explanation::refused(target.about());
        }
        let steps = Step::RULES.map(|step| {
            let (verdict, server) = (step.verdict(), step.is_server());
            let rules = if server { self.servers.get(target.server()) } else { Some(&self.global) };
            let reading = if verdict == PermissionDecision::Allow { Reading::Narrow } else { Reading::Wide };
            let list = rules.map(|rules| rules.list(verdict)).unwrap_or_default();
            let matched = list.iter().filter(|rule| rule.applies(target, reading));
            StepTaken { step, rules: list.len(), matched: matched.map(|rule| rule.text().to_owned()).collect() }
        });
        let hints = match target {
            PermissionTarget::Tool { tool, .. } => Some(Hints::new(tool)),
            PermissionTarget::Elicitation { .. } => None,
        };
        Explanation::new(target.about(), steps.to_vec(), hints, self.hints)
    }
}
