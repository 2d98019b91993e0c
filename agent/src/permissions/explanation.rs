//! A decision, and how it came about.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{HintUse, Hints, PermissionDecision, PermissionTargetName};
use crate::filter::printable;

/// A step of the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// What all servers are denied.
    GlobalDeny,
    /// What this one is denied.
    ServerDeny,
    /// What this one has to ask for.
    ServerAsk,
    /// What this one may do.
    ServerAllow,
    /// What all servers have to ask for.
    GlobalAsk,
    /// What all servers may do.
    GlobalAllow,
    /// What the tool says about itself; otherwise a person is asked.
    Default,
}

impl Step {
    /// The steps that are about rules, in their order.
    pub(super) const RULES: [Self; 6] =
        [Self::GlobalDeny, Self::ServerDeny, Self::ServerAsk, Self::ServerAllow, Self::GlobalAsk, Self::GlobalAllow];

    pub(super) fn verdict(self) -> PermissionDecision {
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
            _ => write!(f, "{} {}", if self.is_server() { "server" } else { "global" }, self.verdict()),
        }
    }
}

/// What was found in one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTaken {
    /// The step.
    pub step: Step,
    /// How many rules there are in it.
    pub rules: usize,
    /// Those that match, as they were written.
    pub matched: Vec<String>,
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decider {
    /// A rule.
    Rule {
        /// The step in which it stands.
        step: Step,
        /// The rule, as it was written.
        text: String,
    },
    /// The last step: no rule matches.
    Default,
    /// The rules cannot be read, so everything is denied.
    Unreadable,
}

/// A decision, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// What it is about.
    pub about: PermissionTargetName,
    /// What is decided.
    pub verdict: PermissionDecision,
    /// What decided.
    pub decider: Decider,
    /// Why, in a sentence without its end.
    pub reason: String,
    /// Every step about rules, those after the one that decided as well.
    pub steps: Vec<StepTaken>,
    /// What the tool says about itself.
    pub hints: Option<Hints>,
    /// Whether that may decide.
    pub hint_use: HintUse,
}

impl Explanation {
    pub(super) fn new(
        about: PermissionTargetName,
        steps: Vec<StepTaken>,
        hints: Option<Hints>,
        hint_use: HintUse,
    ) -> Self {
        let found = steps.iter().find_map(|taken| Some((taken.step, taken.matched.first()?.clone())));
        let (verdict, decider, reason) = match (found, hints, hint_use) {
            (Some((step, text)), ..) => {
                let reason = format!("the {step} rule `{text}` decides");
                (step.verdict(), Decider::Rule { step, text }, reason)
            }
            (None, Some(hints), HintUse::AsDefaults) => {
                let (verdict, reason) = hints.verdict();
                (verdict, Decider::Default, reason.to_owned())
            }
            (None, ..) => (PermissionDecision::Ask, Decider::Default, "no rule decides".to_owned()),
        };
        Self { about, verdict, decider, reason, steps, hints, hint_use }
    }

    pub(super) fn refused(about: PermissionTargetName) -> Self {
        Self {
            about,
            verdict: PermissionDecision::Deny,
            decider: Decider::Unreadable,
            reason: "the rules cannot be read, so nothing may be done".to_owned(),
            steps: Vec::new(),
            hints: None,
            hint_use: HintUse::default(),
        }
    }
}

impl fmt::Display for Explanation {
    /// Writes a line for each step, without a line feed at the end. Names and rules are written so that no terminal acts
    /// upon them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.about {
            PermissionTargetName::Tool { server, tool, qualified } => {
                write!(f, "tool `{}` of `{}` ({qualified})", printable(tool), printable(server))?;
            }
            PermissionTargetName::Elicitation { server } => write!(f, "what `{}` asks", printable(server))?,
        }
        write!(f, ": {}", self.verdict)?;
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
        f.write_str(if decided { &self.reason } else { "a rule decides, whatever the tool says about itself" })
    }
}
