//! A permission decision and its reasons.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{HintUse, Hints, PermissionDecision, PermissionTargetName};
use crate::filter::printable;

/// A step of the decision, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Deny rules for all servers.
    GlobalDeny,
    /// Deny rules of the server.
    ServerDeny,
    /// Ask rules of the server.
    ServerAsk,
    /// Allow rules of the server.
    ServerAllow,
    /// Ask rules for all servers.
    GlobalAsk,
    /// Allow rules for all servers.
    GlobalAllow,
    /// Annotations of the tool; otherwise the user is asked.
    Default,
}

impl Step {
    /// The steps with rules, in order.
    pub(super) const RULES: [Self; 6] =
        [Self::GlobalDeny, Self::ServerDeny, Self::ServerAsk, Self::ServerAllow, Self::GlobalAsk, Self::GlobalAllow];

    /// The decision of a rule in this step.
    #[must_use]
    pub fn decision(self) -> PermissionDecision {
        match self {
            Self::GlobalDeny | Self::ServerDeny => PermissionDecision::Deny,
            Self::ServerAllow | Self::GlobalAllow => PermissionDecision::Allow,
            Self::ServerAsk | Self::GlobalAsk | Self::Default => PermissionDecision::Ask,
        }
    }

    pub(super) fn is_server(self) -> bool {
        matches!(self, Self::ServerDeny | Self::ServerAsk | Self::ServerAllow)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            _ => write!(f, "{} {}", if self.is_server() { "server" } else { "global" }, self.decision()),
        }
    }
}

/// The matching rules of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    /// The step.
    pub step: Step,
    /// Number of rules in this step.
    pub rules: usize,
    /// The matching rules.
    pub matched: Vec<String>,
}

/// The source of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decider {
    /// A rule.
    Rule {
        /// The step of the rule.
        step: Step,
        /// The rule.
        text: String,
    },
    /// The last step: no rule matches.
    Default,
    /// The rules are invalid, so everything is denied.
    InvalidRules,
}

/// A permission decision and its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The tool or the elicitation.
    pub target: PermissionTargetName,
    /// The decision.
    pub decision: PermissionDecision,
    /// The source of a decision.
    pub decider: Decider,
    /// The reason, as a sentence without a full stop.
    pub reason: String,
    /// All steps with rules, including those after the deciding one.
    pub steps: Vec<StepResult>,
    /// Annotations of the tool.
    pub hints: Option<Hints>,
    /// Whether annotations may decide.
    pub hint_use: HintUse,
}

impl Explanation {
    pub(super) fn new(
        target: PermissionTargetName,
        steps: Vec<StepResult>,
        hints: Option<Hints>,
        hint_use: HintUse,
    ) -> Self {
        let found = steps.iter().find_map(|taken| Some((taken.step, taken.matched.first()?.clone())));
        let (decision, decider, reason) = match (found, hints, hint_use) {
            (Some((step, text)), ..) => {
                let reason = format!("the {step} rule `{text}` decides");
                (step.decision(), Decider::Rule { step, text }, reason)
            }
            (None, Some(hints), HintUse::AsDefaults) => {
                let (decision, reason) = hints.decision();
                (decision, Decider::Default, reason.to_owned())
            }
            (None, ..) => (PermissionDecision::Ask, Decider::Default, "no rule decides".to_owned()),
        };
        Self { target, decision, decider, reason, steps, hints, hint_use }
    }

    pub(super) fn deny_all(target: PermissionTargetName) -> Self {
        Self {
            target,
            decision: PermissionDecision::Deny,
            decider: Decider::InvalidRules,
            reason: "the rules are invalid, so everything is denied".to_owned(),
            steps: Vec::new(),
            hints: None,
            hint_use: HintUse::default(),
        }
    }
}

impl fmt::Display for Explanation {
    /// Writes one line per step, with control characters escaped and without a final line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            PermissionTargetName::Tool { server, tool, qualified } => {
                write!(f, "tool `{}` of `{}` ({qualified})", printable(tool), printable(server))?;
            }
            PermissionTargetName::Elicitation { server } => {
                write!(f, "elicitation requests of `{}`", printable(server))?
            }
        }
        write!(f, ": {}", self.decision)?;
        let decided = |step| matches!(&self.decider, Decider::Rule { step: decider, .. } if *decider == step);
        for taken in &self.steps {
            write!(f, "\n  {:<13}", taken.step.to_string())?;
            let matched: Vec<_> = taken.matched.iter().map(|text| format!("`{}`", printable(text))).collect();
            match (matched.as_slice(), taken.rules) {
                ([], 0) => f.write_str("no rules")?,
                ([], 1) => f.write_str("the one rule does not match")?,
                ([], count) => write!(f, "none of {count} rules matches")?,
                (matched, _) if decided(taken.step) => write!(f, "{} decides", matched.join(", "))?,
                (matched, _) => write!(f, "{} would match", matched.join(", "))?,
            }
        }
        let decided = self.decider == Decider::Default;
        write!(f, "\n  {:<13}{}", Step::Default.to_string(), if decided { "decides: " } else { "not reached: " })?;
        f.write_str(if decided { &self.reason } else { "a rule decides, regardless of the tool's annotations" })
    }
}
