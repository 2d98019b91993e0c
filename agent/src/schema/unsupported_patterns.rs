//! Takes the regular expressions out of a schema that a provider would refuse.
//!
//! Without its pattern a schema allows more. Whatever says that something must not fit such a schema, or fit only one of
//! several, would then allow less than the server does, so that is opened as well.

use std::collections::HashMap;

use super::{
    Provider,
    annotations::DescriptionNotes,
    document::{Document, Node},
    pattern::PatternError,
    report::{Effect, Report},
};

/// Takes them out, and tells of each.
pub(super) fn sift(document: &mut Document, provider: Provider, report: &mut Report) {
    let mut sieve = PatternRemover { provider, report, refusals: HashMap::new(), touched: Vec::new() };
    if !sieve.touches(document) {
        return;
    }
    sieve.node(&mut document.root);
    for definition in &mut document.definitions {
        sieve.node(&mut definition.node);
    }
}

struct PatternRemover<'a> {
    provider: Provider,
    report: &'a mut Report,
    /// Why each pattern is refused, if it is.
    refusals: HashMap<String, Option<PatternError>>,
    /// Whether something is taken out of each definition, or of one that it refers to.
    touched: Vec<bool>,
}

impl PatternRemover<'_> {
    /// Whether there is anything to take out; and of which definitions.
    fn touches(&mut self, document: &Document) -> bool {
        let mut own = Vec::with_capacity(document.definitions.len());
        for definition in &document.definitions {
            own.push(self.has_refused(&definition.node));
        }
        let any = own.contains(&true) || self.has_refused(&document.root);
        self.touched = own;
        let mut references = vec![Vec::new(); document.definitions.len()];
        for (definition, references) in document.definitions.iter().zip(&mut references) {
            collect_references(&definition.node, references);
        }
        let mut settled = !any;
        while !settled {
            settled = true;
            for (number, references) in references.iter().enumerate() {
                if !self.touched[number] && references.iter().any(|other| self.touched[*other]) {
                    (self.touched[number], settled) = (true, false);
                }
            }
        }
        any
    }

    fn has_refused(&mut self, node: &Node) -> bool {
        let own = node.pattern.iter().chain(node.patterns.iter().map(|(pattern, _)| pattern));
        own.into_iter().any(|pattern| self.refusal(pattern).is_some())
            || node.children().any(|child| self.has_refused(child))
    }

    fn refers_to_touched(&self, node: &Node) -> bool {
        node.reference.is_some_and(|number| self.touched[number])
            || node.children().any(|child| self.refers_to_touched(child))
    }

    /// Whether something would be taken out of it.
    fn changes(&mut self, node: &Node) -> bool {
        self.has_refused(node) || self.refers_to_touched(node)
    }

    fn refusal(&mut self, pattern: &str) -> Option<PatternError> {
        if let Some(known) = self.refusals.get(pattern) {
            return *known;
        }
        let found = PatternError::find(self.provider, pattern);
        self.refusals.insert(pattern.to_owned(), found);
        found
    }

    fn opened(&mut self, node: &Node, keyword: &str) {
        let why = "without a pattern that the provider refuses it would allow less";
        self.report.add(&node.at, keyword, "dropped", why, Effect::Wider);
    }

    /// Whether it allows more than before.
    fn node(&mut self, node: &mut Node) -> bool {
        let mut wider = node.reference.is_some_and(|number| self.touched[number]);
        wider |= self.own_pattern(node);
        wider |= self.names(node);
        let boxed = [&mut node.items, &mut node.additional, &mut node.names];
        for child in boxed.into_iter().chain([&mut node.unevaluated_properties, &mut node.unevaluated_items]).flatten()
        {
            wider |= self.node(child);
        }
        let named = node.properties.iter_mut().chain(&mut node.patterns).chain(&mut node.dependent_schemas);
        for child in
            named.map(|(_, child)| child).chain(&mut node.prefix).chain(&mut node.all_of).chain(&mut node.any_of)
        {
            wider |= self.node(child);
        }
        wider |= self.negative(node);
        if wider && node.unevaluated_properties.take().is_some() {
            self.opened(node, "unevaluatedProperties");
        }
        wider
    }

    fn own_pattern(&mut self, node: &mut Node) -> bool {
        let Some(pattern) = &node.pattern else { return false };
        let Some(why) = self.refusal(pattern) else { return false };
        let became = match why {
            PatternError::Unreadable => "dropped",
            PatternError::Uncommon => {
                let mut remarks = DescriptionNotes::default();
                remarks.add(&format!("Matches the regular expression {pattern}"));
                node.words.description = remarks.after(node.words.description.take());
                "said in the description"
            }
        };
        self.report.add(&node.at, "pattern", became, why.why(), Effect::Wider);
        node.pattern = None;
        true
    }

    /// Properties whose names match what is refused are no longer known, so that nothing may be said of those that are unknown.
    fn names(&mut self, node: &mut Node) -> bool {
        let before = node.patterns.len();
        let refused: Vec<_> = node.patterns.iter().map(|(pattern, _)| self.refusal(pattern)).collect();
        let mut kept = refused.iter().map(Option::is_none);
        node.patterns.retain(|_| kept.next().unwrap_or(true));
        if node.patterns.len() == before {
            return false;
        }
        for why in refused.into_iter().flatten() {
            self.report.add(&node.at, "patternProperties", "dropped", why.why(), Effect::Wider);
        }
        if node.additional.take().is_some() {
            self.opened(node, "additionalProperties");
        }
        true
    }

    /// Keywords under which more means less.
    fn negative(&mut self, node: &mut Node) -> bool {
        let mut wider = false;
        if node.not.as_ref().is_some_and(|not| self.changes(not)) {
            node.not = None;
            self.opened(node, "not");
            wider = true;
        }
        if let Some(condition) = &mut node.condition {
            if self.changes(&condition.when) {
                node.condition = None;
                self.opened(node, "if");
                wider = true;
            } else {
                for branch in [&mut condition.then, &mut condition.otherwise].into_iter().flatten() {
                    wider |= self.node(branch);
                }
            }
        }
        if let Some(contains) = &mut node.contains
            && self.node(&mut contains.node)
        {
            wider = true;
            if contains.count.max.take().is_some() {
                self.opened(node, "maxContains");
            }
        }
        let mut choices = false;
        for choice in &mut node.one_of {
            choices |= self.node(choice);
        }
        if choices {
            let choices = std::mem::take(&mut node.one_of);
            if node.any_of.is_empty() {
                node.any_of = choices;
                let why = "without a pattern that the provider refuses several may fit";
                self.report.add(&node.at, "oneOf", "became `anyOf`", why, Effect::Wider);
            } else {
                self.opened(node, "oneOf");
            }
        }
        wider || choices
    }
}

fn collect_references(node: &Node, references: &mut Vec<usize>) {
    references.extend(node.reference);
    node.children().for_each(|child| collect_references(child, references));
}
