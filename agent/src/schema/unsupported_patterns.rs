//! Removes regular expressions that a provider rejects.
//!
//! Without its pattern a schema accepts more values. A negation or an exclusive choice of it would accept fewer values than
//! the server, so these keywords are removed too.

use std::collections::HashMap;

use super::{
    Provider,
    annotations::DescriptionNotes,
    document::{Document, Node},
    pattern::PatternError,
    report::{Effect, Report},
};

/// Removes and reports unsupported patterns.
pub(super) fn remove_unsupported_patterns(document: &mut Document, provider: Provider, report: &mut Report) {
    let mut remover = PatternRemover { provider, report, rejections: HashMap::new(), affected: Vec::new() };
    if !remover.find_affected(document) {
        return;
    }
    remover.node(&mut document.root);
    for definition in &mut document.definitions {
        remover.node(&mut definition.node);
    }
}

struct PatternRemover<'a> {
    provider: Provider,
    report: &'a mut Report,
    /// The result of checking each pattern.
    rejections: HashMap<String, Option<PatternError>>,
    /// Whether each definition, or one that it refers to, changes.
    affected: Vec<bool>,
}

impl PatternRemover<'_> {
    /// Finds the affected definitions; returns whether any pattern is removed.
    fn find_affected(&mut self, document: &Document) -> bool {
        let mut own = Vec::with_capacity(document.definitions.len());
        for definition in &document.definitions {
            own.push(self.has_rejected(&definition.node));
        }
        let any = own.contains(&true) || self.has_rejected(&document.root);
        self.affected = own;
        let mut references = vec![Vec::new(); document.definitions.len()];
        for (definition, references) in document.definitions.iter().zip(&mut references) {
            collect_references(&definition.node, references);
        }
        let mut settled = !any;
        while !settled {
            settled = true;
            for (number, references) in references.iter().enumerate() {
                if !self.affected[number] && references.iter().any(|other| self.affected[*other]) {
                    (self.affected[number], settled) = (true, false);
                }
            }
        }
        any
    }

    fn has_rejected(&mut self, node: &Node) -> bool {
        let own = node.pattern.iter().chain(node.patterns.iter().map(|(pattern, _)| pattern));
        own.into_iter().any(|pattern| self.rejection(pattern).is_some())
            || node.children().any(|child| self.has_rejected(child))
    }

    fn refers_to_affected(&self, node: &Node) -> bool {
        node.reference.is_some_and(|number| self.affected[number])
            || node.children().any(|child| self.refers_to_affected(child))
    }

    fn changes(&mut self, node: &Node) -> bool {
        self.has_rejected(node) || self.refers_to_affected(node)
    }

    fn rejection(&mut self, pattern: &str) -> Option<PatternError> {
        if let Some(known) = self.rejections.get(pattern) {
            return *known;
        }
        let found = PatternError::find(self.provider, pattern);
        self.rejections.insert(pattern.to_owned(), found);
        found
    }

    fn record_dropped(&mut self, node: &Node, keyword: &str) {
        let why = "without the removed pattern it would accept fewer values";
        self.report.add(&node.at, keyword, "dropped", why, Effect::Wider);
    }

    /// Removes patterns; returns whether the schema accepts more values than before.
    fn node(&mut self, node: &mut Node) -> bool {
        let mut wider = node.reference.is_some_and(|number| self.affected[number]);
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
            self.record_dropped(node, "unevaluatedProperties");
        }
        wider
    }

    fn own_pattern(&mut self, node: &mut Node) -> bool {
        let Some(pattern) = &node.pattern else { return false };
        let Some(why) = self.rejection(pattern) else { return false };
        let became = match why {
            PatternError::Invalid => "dropped",
            PatternError::Unsupported => {
                let mut notes = DescriptionNotes::default();
                notes.add(&format!("Matches the regular expression {pattern}"));
                node.annotations.description = notes.after(node.annotations.description.take());
                "moved to the description"
            }
        };
        self.report.add(&node.at, "pattern", became, why.why(), Effect::Wider);
        node.pattern = None;
        true
    }

    /// Removes rejected patterns of names. Their properties would become additional ones, so rules for those are removed too.
    fn names(&mut self, node: &mut Node) -> bool {
        let before = node.patterns.len();
        let rejected: Vec<_> = node.patterns.iter().map(|(pattern, _)| self.rejection(pattern)).collect();
        let mut kept = rejected.iter().map(Option::is_none);
        node.patterns.retain(|_| kept.next().unwrap_or(true));
        if node.patterns.len() == before {
            return false;
        }
        for why in rejected.into_iter().flatten() {
            self.report.add(&node.at, "patternProperties", "dropped", why.why(), Effect::Wider);
        }
        if node.additional.take().is_some() {
            self.record_dropped(node, "additionalProperties");
        }
        true
    }

    /// Handles keywords that accept fewer values if a nested schema accepts more.
    fn negative(&mut self, node: &mut Node) -> bool {
        let mut wider = false;
        if node.not.as_ref().is_some_and(|not| self.changes(not)) {
            node.not = None;
            self.record_dropped(node, "not");
            wider = true;
        }
        if let Some(condition) = &mut node.condition {
            if self.changes(&condition.when) {
                node.condition = None;
                self.record_dropped(node, "if");
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
                self.record_dropped(node, "maxContains");
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
                let why = "without the removed pattern several branches may match";
                self.report.add(&node.at, "oneOf", "became `anyOf`", why, Effect::Wider);
            } else {
                self.record_dropped(node, "oneOf");
            }
        }
        wider || choices
    }
}

fn collect_references(node: &Node, references: &mut Vec<usize>) {
    references.extend(node.reference);
    node.children().for_each(|child| collect_references(child, references));
}
