//! The state of one conversion.

use std::collections::BTreeSet;

use super::{
    Limits,
    dialect::Dialect,
    document::Document,
    report::{Effect, Report},
};

/// How often a schema that refers to itself is written out inside of itself where the provider knows no references.
pub(super) const UNROLLED: usize = 2;

/// Why a schema, or a part of one, cannot be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConversionError {
    /// It allows nothing.
    Never,
    /// The dialect cannot say it at all.
    Unfit {
        /// Where.
        at: String,
        /// Why.
        why: String,
    },
}

/// Where a schema stands, as far as rules depend on it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SchemaContext {
    /// How deep inside of the root.
    pub(super) depth: usize,
    /// Whether the nearest property around it may be left out.
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
    /// The definitions that were written out around the present place.
    pub(super) trail: Vec<usize>,
    /// The definitions that something refers to.
    pub(super) used: BTreeSet<usize>,
    /// How many more parts may be written.
    pub(super) budget: usize,
}

impl<'a> Converter<'a> {
    pub(super) fn new(document: &'a Document, dialect: Dialect, limits: &'a Limits) -> Self {
        Self {
            document,
            dialect,
            limits,
            report: Report::default(),
            trail: Vec::new(),
            used: BTreeSet::new(),
            budget: limits.written + document.size,
        }
    }

    /// Tells of something that the provider's rules ask for.
    pub(super) fn record(
        &mut self,
        at: &str,
        keyword: &str,
        became: impl Into<std::borrow::Cow<'static, str>>,
        effect: Effect,
    ) {
        self.report.add(at, keyword, became, self.dialect.rule(), effect);
    }

    /// Gives up on the dialect, if it is one that something else can take the place of; where it is not, says that the
    /// keyword is lost.
    pub(super) fn lost(&mut self, at: &str, keyword: &str, why: &str) -> Result<(), ConversionError> {
        if self.dialect == Dialect::OpenAiStrict {
            return Err(ConversionError::Unfit { at: at.to_owned(), why: why.to_owned() });
        }
        self.record(at, keyword, "dropped", Effect::Wider);
        Ok(())
    }
}
