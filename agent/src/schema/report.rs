//! Changes of a conversion and their reasons.

use std::{borrow::Cow, fmt};

use serde::Serialize;

/// How the set of accepted values has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The same values.
    Equal,
    /// More values: the server may reject values that the model may send.
    Wider,
    /// Fewer values: the model cannot send every value that the server accepts.
    Narrower,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Location in the source schema as a JSON pointer (RFC 6901); empty for the root.
    pub at: String,
    /// The keyword.
    pub keyword: String,
    /// The result.
    pub became: Cow<'static, str>,
    /// The rule that requires the change.
    pub why: Cow<'static, str>,
    /// Effect on the accepted values.
    pub effect: Effect,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { "/" } else { &self.at };
        let effect = match self.effect {
            Effect::Equal => "accepts the same values",
            Effect::Wider => "accepts more values",
            Effect::Narrower => "accepts fewer values",
        };
        write!(f, "{at}: `{}` {} ({}): {effect}", self.keyword, self.became, self.why)
    }
}

/// All changes of one conversion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The changes, at most [`Self::MAX_CHANGES`].
    pub changes: Vec<Change>,
    /// Number of further changes.
    pub more: usize,
    /// Number of all changes that accept more values.
    pub wider: usize,
    /// Number of all changes that accept fewer values.
    pub narrower: usize,
}

impl Report {
    /// Maximum number of listed changes; a hostile schema could cause very many.
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
        // A schema that is inlined twice is reported once.
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

    pub(super) fn append(&mut self, other: Self) {
        for change in other.changes {
            self.add(&change.at, &change.keyword, change.became, change.why, change.effect);
        }
        self.more += other.more;
    }
}
