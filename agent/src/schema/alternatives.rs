//! A schema as a list of simple ones, of which a value has to satisfy one.
//!
//! Each of them has one type and no `$ref`, `allOf`, `anyOf` or `oneOf` left at its own level, or is a reference that the
//! provider keeps. Schemas inside of them are left as they are until it is their turn.

use super::{
    converter::{ConversionError, Converter, SchemaContext, UNROLLED},
    dialect::Dialect,
    document::{Annotations, Node, Types},
    merge,
    report::Effect,
};

/// More combinations than this are not made.
const MAX_ALTERNATIVES: usize = 48;

/// One of the simple schemas.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) node: Node,
    /// The definitions that it was made from.
    pub(super) entered: Vec<usize>,
}

impl Part {
    fn new(node: Node) -> Self {
        Self { node, entered: Vec::new() }
    }
}

impl Converter<'_> {
    /// The simple schemas that a schema consists of. None: it allows nothing.
    pub(super) fn alternatives(&mut self, node: &Node, place: SchemaContext) -> Result<Vec<Part>, ConversionError> {
        let parts = self.combined(node, place, &mut Vec::new())?;
        let mut simple = Vec::new();
        for part in parts {
            self.split(part, &mut simple);
        }
        Ok(simple)
    }

    /// The same with no reference left, for the root of arguments.
    pub(super) fn alternatives_at_root(&mut self, node: &Node) -> Result<Vec<Part>, ConversionError> {
        let parts = self.resolved(node, SchemaContext::default(), &mut Vec::new())?;
        let mut simple = Vec::new();
        for part in parts {
            self.split(part, &mut simple);
        }
        Ok(simple)
    }

    fn combined(
        &mut self,
        node: &Node,
        place: SchemaContext,
        path: &mut Vec<usize>,
    ) -> Result<Vec<Part>, ConversionError> {
        if node.never {
            return Ok(Vec::new());
        }
        if let Some(number) = node.reference.filter(|_| node.is_reference_alone())
            && self.keeps(number, place)
        {
            return Ok(vec![Part::new(node.clone())]);
        }
        let mut base = Node {
            words: Annotations::default(),
            reference: None,
            all_of: Vec::new(),
            any_of: Vec::new(),
            one_of: Vec::new(),
            ..node.clone()
        };
        self.drop_logic(&mut base)?;
        let trivial = base.is_any();
        let mut parts = vec![Part::new(base)];
        if let Some(number) = node.reference {
            let target = self.entered(node, number, place, path)?;
            parts = self.cross(parts, target, &node.at, "$ref")?;
        }
        for branch in &node.all_of {
            let branch = self.resolved(branch, place, path)?;
            parts = self.cross(parts, branch, &node.at, "allOf")?;
        }
        // A choice that stands alone may keep its references; one that is merged with something else may not.
        let alone = trivial && node.reference.is_none() && node.all_of.is_empty();
        for (keyword, list) in [("anyOf", &node.any_of), ("oneOf", &node.one_of)] {
            if list.is_empty() {
                continue;
            }
            let other = if keyword == "anyOf" { &node.one_of } else { &node.any_of };
            let mut choices = Vec::new();
            for branch in list {
                let found = if alone && other.is_empty() {
                    self.combined(branch, place, path)?
                } else {
                    self.resolved(branch, place, path)?
                };
                choices.extend(found.into_iter().map(|mut part| {
                    part.node.words = merge::words(&branch.words, &part.node.words);
                    part
                }));
            }
            if keyword == "oneOf" {
                self.tell_choice(node);
            }
            parts = self.cross(parts, choices, &node.at, keyword)?;
        }
        Ok(parts)
    }

    /// The simple schemas of a branch that is to be merged: its references are followed, whatever the provider keeps.
    fn resolved(
        &mut self,
        branch: &Node,
        place: SchemaContext,
        path: &mut Vec<usize>,
    ) -> Result<Vec<Part>, ConversionError> {
        let mut parts = match branch.reference.filter(|_| branch.is_reference_alone()) {
            Some(number) => self.entered(branch, number, place, path)?,
            None => {
                // Inside of it, too, nothing may stay a reference.
                let parts = self.combined(branch, place, path)?;
                let mut followed = Vec::new();
                for part in parts {
                    match part.node.reference {
                        Some(number) => followed.extend(self.entered(&part.node, number, place, path)?),
                        None => followed.push(part),
                    }
                }
                followed
            }
        };
        for part in &mut parts {
            // What a branch calls unevaluated is so within that branch (2020-12, core, 11.3).
            part.node.settle_unevaluated();
            part.node.words = merge::words(&branch.words, &part.node.words);
        }
        Ok(parts)
    }

    /// The simple schemas of a definition, written out in place of a reference to it.
    fn entered(
        &mut self,
        node: &Node,
        number: usize,
        place: SchemaContext,
        path: &mut Vec<usize>,
    ) -> Result<Vec<Part>, ConversionError> {
        let times = self.trail.iter().filter(|known| **known == number).count();
        if path.contains(&number) || times >= UNROLLED || self.budget == 0 {
            let name = &self.document.definitions[number].name;
            let why = format!("`{name}` is written out where it stands, and goes on in itself too far for that");
            self.lost(&node.at, "$ref", &why)?;
            return Ok(vec![Part::new(self.opened(number, &node.at))]);
        }
        path.push(number);
        let document = self.document;
        let parts = self.resolved(&document.definitions[number].node, place, path);
        path.pop();
        let mut parts = parts?;
        parts.iter_mut().for_each(|part| part.entered.push(number));
        Ok(parts)
    }

    /// A schema of the same types as a definition, with nothing said of what is in it.
    fn opened(&self, number: usize, at: &std::sync::Arc<str>) -> Node {
        let target = &self.document.definitions[number].node;
        let types = self.types_at_a_glance(target, UNROLLED).filter(|types| *types != Types::all());
        let description = "What may be in here goes on in the same way as around it.".to_owned();
        let words = Annotations { description: Some(description), ..Annotations::default() };
        Node { types, words, ..Node::any(at) }
    }

    /// The types of what a schema allows, as far as they are said in it or a few references away.
    fn types_at_a_glance(&self, node: &Node, far: usize) -> Option<Types> {
        if node.types.is_some() {
            return node.types;
        }
        if let Some(number) = node.reference.filter(|_| far > 0) {
            return self.types_at_a_glance(&self.document.definitions[number].node, far - 1);
        }
        let choices = if node.any_of.is_empty() { &node.one_of } else { &node.any_of };
        if choices.is_empty() {
            return Some(node.types_of_keywords()).filter(|types| !types.is_empty());
        }
        choices.iter().try_fold(Types::default(), |types, one| Some(types.with(self.types_at_a_glance(one, far)?)))
    }

    fn keeps(&self, number: usize, place: SchemaContext) -> bool {
        match self.dialect {
            Dialect::OpenAiStrict | Dialect::OpenAiLoose | Dialect::Anthropic => true,
            Dialect::Gemini => false,
            // Cyclic references may only be used within properties that are not required.
            Dialect::GeminiJson => place.optional || !self.document.definitions[number].recursive,
        }
    }

    /// What one list and the other both allow, each with each.
    fn cross(
        &mut self,
        left: Vec<Part>,
        right: Vec<Part>,
        at: &str,
        keyword: &str,
    ) -> Result<Vec<Part>, ConversionError> {
        if left.len() * right.len() > MAX_ALTERNATIVES {
            self.lost(at, keyword, "the choices in it have too many combinations")?;
            return Ok(left);
        }
        let mut parts = Vec::new();
        let mut conflicts = Vec::new();
        for one in &left {
            for other in &right {
                let node = if one.node.is_any() && other.node.reference.is_some() {
                    other.node.clone()
                } else {
                    merge::both(&one.node, &other.node, &mut conflicts)
                };
                if !node.never {
                    let entered = one.entered.iter().chain(&other.entered).copied().collect();
                    parts.push(Part { node, entered });
                }
            }
        }
        for conflict in conflicts {
            self.lost(at, conflict, "two schemas that both have to be satisfied cannot be said as one")?;
        }
        Ok(parts)
    }

    /// Takes off what the dialect has no words for.
    fn drop_logic(&mut self, base: &mut Node) -> Result<(), ConversionError> {
        if self.dialect.is_full() {
            return Ok(());
        }
        let at = std::sync::Arc::clone(&base.at);
        if base.not.take().is_some() {
            self.lost(&at, "not", "`not` is not supported")?;
        }
        if base.condition.take().is_some() {
            self.lost(&at, "if", "`if` is not supported")?;
        }
        if !std::mem::take(&mut base.dependent_schemas).is_empty() {
            self.lost(&at, "dependentSchemas", "`dependentSchemas` is not supported")?;
        }
        Ok(())
    }

    fn tell_choice(&mut self, node: &Node) {
        let document = self.document;
        let target = |branch: &'_ Node| -> Node {
            match branch.reference.filter(|_| branch.is_reference_alone()) {
                Some(number) => document.definitions[number].node.clone(),
                None => branch.clone(),
            }
        };
        let typed = |branch: Node| Node { types: branch.types.or(node.types), ..branch };
        let branches: Vec<Node> = node.one_of.iter().take(MAX_ALTERNATIVES).map(target).map(typed).collect();
        let apart = node.one_of.len() <= MAX_ALTERNATIVES
            && branches
                .iter()
                .enumerate()
                .all(|(number, one)| branches[number + 1..].iter().all(|other| merge::are_apart(one, other)));
        let effect = if apart { Effect::Equal } else { Effect::Wider };
        self.record(&node.at, "oneOf", "became `anyOf`", effect);
    }

    /// One schema for each type.
    fn split(&mut self, mut part: Part, into: &mut Vec<Part>) {
        if part.node.reference.is_some() {
            into.push(part);
            return;
        }
        part.node.settle_unevaluated();
        let of_values =
            part.node.values.as_ref().map(|values| {
                values.iter().fold(Types::default(), |types, value| types.with(Types::from_value(value)))
            });
        let types = match (part.node.types, of_values) {
            (Some(types), Some(of_values)) => types.and(of_values),
            (Some(types), None) => types,
            (None, Some(of_values)) => of_values,
            (None, None) => {
                let spoken_of = part.node.types_of_keywords();
                if !spoken_of.is_empty() {
                    // JSON Schema lets values of all other types pass, which is never what was meant.
                    let at = std::sync::Arc::clone(&part.node.at);
                    let named: Vec<_> = spoken_of.names().collect();
                    let became = format!("became {}, as its keywords say", named.join(" or "));
                    self.record(&at, "type", became, Effect::Narrower);
                }
                spoken_of
            }
        };
        if types.is_empty() {
            if part.node.values.is_none() {
                // Of which type a format speaks is not told, and nothing else is there to tell it.
                if part.node.format.take().is_some() {
                    let at = std::sync::Arc::clone(&part.node.at);
                    self.record(&at, "format", "dropped", Effect::Wider);
                }
                into.push(part);
            }
            return;
        }
        for one in types.each() {
            let node = part.node.restricted_to(one);
            if node.values.as_ref().is_none_or(|values| !values.is_empty()) {
                into.push(Part { node, entered: part.entered.clone() });
            }
        }
    }
}
