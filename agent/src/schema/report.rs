//! What a conversion changed, and why.

use std::{borrow::Cow, fmt};

use serde::Serialize;

/// How the values that a schema allows at a place have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The same values as before.
    Equal,
    /// More values than before: the server may refuse what the model was allowed to send.
    Wider,
    /// Fewer values than before: the model cannot say everything that the server takes.
    Narrower,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The place in the source schema, as a JSON pointer (RFC 6901); empty for its root.
    pub at: String,
    /// The keyword.
    pub keyword: String,
    /// What became of it.
    pub became: Cow<'static, str>,
    /// The rule that asked for it.
    pub why: Cow<'static, str>,
    /// What it does to the allowed values.
    pub effect: Effect,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { "/" } else { &self.at };
        let effect = match self.effect {
            Effect::Equal => "allows the same",
            Effect::Wider => "allows more",
            Effect::Narrower => "allows less",
        };
        write!(f, "{at}: `{}` {} ({}): {effect}", self.keyword, self.became, self.why)
    }
}

/// All changes of one conversion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The changes, at most [`Self::MAX_CHANGES`].
    pub changes: Vec<Change>,
    /// How many more there were.
    pub more: usize,
    /// How many of all changes allow more than before.
    pub wider: usize,
    /// How many of all changes allow less than before.
    pub narrower: usize,
}

impl Report {
    /// How many changes are told one by one: a hostile schema could ask for very many.
    pub const MAX_CHANGES: usize = 500;

    pub(super) fn add(
        &mut self,
        at: &str,
        keyword: &str,
        became: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
        effect: Effect,
    ) {
        let change =
            Change { at: at.to_owned(), keyword: keyword.to_owned(), became: became.into(), why: why.into(), effect };
        // What is inlined twice is changed twice, and told once.
        if self.changes.contains(&change) {
            return;
        }
        match effect {
            Effect::Equal => {}
            Effect::Wider => self.wider += 1,
            Effect::Narrower => self.narrower += 1,
        }
        if self.changes.len() < Self::MAX_CHANGES {
            self.changes.push(change);
        } else {
            self.more += 1;
        }
    }

    /// Takes over what another one tells.
    pub(super) fn take(&mut self, other: Self) {
        for change in other.changes {
            self.add(&change.at, &change.keyword, change.became, change.why, change.effect);
        }
        self.more += other.more;
    }
}
