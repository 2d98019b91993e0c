//! The state of one conversion.

use std::collections::BTreeSet;

use super::{
    Limits,
    dialect::Dialect,
    document::Document,
    report::{Effect, Report},
};

/// Levels of a recursive schema that are inlined if the provider does not support references.
pub(super) const MAX_RECURSION: usize = 2;

/// Why a schema cannot be written in a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConversionError {
    /// It accepts no value.
    Never,
    /// The dialect does not support it.
    Unfit {
        /// Location as a JSON pointer.
        at: String,
        /// The reason.
        why: String,
    },
}

/// Context of a schema that affects its rules.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SchemaContext {
    /// Depth below the root.
    pub(super) depth: usize,
    /// Whether the enclosing property is optional.
    pub(super) optional: bool,
}

impl SchemaContext {
    pub(super) fn inside(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

/// The state of one conversion.
pub(super) struct Converter<'a> {
    pub(super) document: &'a Document,
    pub(super) dialect: Dialect,
    pub(super) limits: &'a Limits,
    pub(super) report: Report,
    /// The definitions that are currently being inlined.
    pub(super) inlining: Vec<usize>,
    /// The referenced definitions.
    pub(super) used: BTreeSet<usize>,
    /// Number of schemas that may still be written.
    pub(super) budget: usize,
}

impl<'a> Converter<'a> {
    pub(super) fn new(document: &'a Document, dialect: Dialect, limits: &'a Limits) -> Self {
        Self {
            document,
            dialect,
            limits,
            report: Report::default(),
            inlining: Vec::new(),
            used: BTreeSet::new(),
            budget: limits.written + document.size,
        }
    }

    /// Records a change that the provider's rules require.
    pub(super) fn record(
        &mut self,
        at: &str,
        keyword: &str,
        became: impl Into<std::borrow::Cow<'static, str>>,
        effect: Effect,
    ) {
        self.report.add(at, keyword, became, self.dialect.rule(), effect);
    }

    /// Fails in strict mode, which can be replaced by another dialect. Otherwise records that the keyword is dropped.
    pub(super) fn drop_keyword(&mut self, at: &str, keyword: &str, why: &str) -> Result<(), ConversionError> {
        if self.dialect == Dialect::OpenAiStrict {
            return Err(ConversionError::Unfit { at: at.to_owned(), why: why.to_owned() });
        }
        self.record(at, keyword, "dropped", Effect::Wider);
        Ok(())
    }
}
