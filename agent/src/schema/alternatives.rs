//! Resolves a schema into a list of simple schemas, of which a value must satisfy one.
//!
//! A simple schema has one type and no `$ref`, `allOf`, `anyOf` or `oneOf` at its own level, or is a reference that the
//! provider supports. Nested schemas are not resolved.

use super::{
    converter::{ConversionError, Converter, MAX_RECURSION, SchemaContext},
    dialect::Dialect,
    document::{Annotations, Node, Types},
    merge,
    report::Effect,
};

/// Maximum number of combinations.
const MAX_ALTERNATIVES: usize = 48;

/// A simple schema.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) node: Node,
    /// The definitions that were inlined into it.
    pub(super) inlined: Vec<usize>,
}

impl Part {
    fn new(node: Node) -> Self {
        Self { node, inlined: Vec::new() }
    }
}

impl Converter<'_> {
    /// The simple schemas of a schema. An empty list accepts no value.
    pub(super) fn alternatives(&mut self, node: &Node, context: SchemaContext) -> Result<Vec<Part>, ConversionError> {
        let parts = self.combined(node, context, &mut Vec::new())?;
        let mut simple = Vec::new();
        for part in parts {
            self.split(part, &mut simple);
        }
        Ok(simple)
    }

    /// Like [`Self::alternatives`] without references, for the root of arguments.
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
        context: SchemaContext,
        path: &mut Vec<usize>,
    ) -> Result<Vec<Part>, ConversionError> {
        if node.never {
            return Ok(Vec::new());
        }
        if let Some(number) = node.reference.filter(|_| node.is_reference_alone())
            && self.keeps(number, context)
        {
            return Ok(vec![Part::new(node.clone())]);
        }
        let mut base = Node {
            annotations: Annotations::default(),
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
            let target = self.inlined(node, number, context, path)?;
            parts = self.cross(parts, target, &node.at, "$ref")?;
        }
        for branch in &node.all_of {
            let branch = self.resolved(branch, context, path)?;
            parts = self.cross(parts, branch, &node.at, "allOf")?;
        }
        // References of a choice may stay unless the choice is merged with other keywords.
        let alone = trivial && node.reference.is_none() && node.all_of.is_empty();
        for (keyword, list) in [("anyOf", &node.any_of), ("oneOf", &node.one_of)] {
            if list.is_empty() {
                continue;
            }
            let other = if keyword == "anyOf" { &node.one_of } else { &node.any_of };
            let mut choices = Vec::new();
            for branch in list {
                let found = if alone && other.is_empty() {
                    self.combined(branch, context, path)?
                } else {
                    self.resolved(branch, context, path)?
                };
                choices.extend(found.into_iter().map(|mut part| {
                    part.node.annotations = merge::annotations(&branch.annotations, &part.node.annotations);
                    part
                }));
            }
            if keyword == "oneOf" {
                self.record_choice(node);
            }
            parts = self.cross(parts, choices, &node.at, keyword)?;
        }
        Ok(parts)
    }

    /// The simple schemas of a branch, with all references resolved so that it can be merged.
    fn resolved(
        &mut self,
        branch: &Node,
        context: SchemaContext,
        path: &mut Vec<usize>,
    ) -> Result<Vec<Part>, ConversionError> {
        let mut parts = match branch.reference.filter(|_| branch.is_reference_alone()) {
            Some(number) => self.inlined(branch, number, context, path)?,
            None => {
                // Alternatives of the branch may still be references.
                let parts = self.combined(branch, context, path)?;
                let mut followed = Vec::new();
                for part in parts {
                    match part.node.reference {
                        Some(number) => followed.extend(self.inlined(&part.node, number, context, path)?),
                        None => followed.push(part),
                    }
                }
                followed
            }
        };
        for part in &mut parts {
            // Unevaluated keywords apply within their branch (2020-12, core, 11.3).
            part.node.settle_unevaluated();
            part.node.annotations = merge::annotations(&branch.annotations, &part.node.annotations);
        }
        Ok(parts)
    }

    /// The simple schemas of a definition, inlined in context of a reference.
    fn inlined(
        &mut self,
        node: &Node,
        number: usize,
        context: SchemaContext,
        path: &mut Vec<usize>,
    ) -> Result<Vec<Part>, ConversionError> {
        let times = self.inlining.iter().filter(|known| **known == number).count();
        if path.contains(&number) || times >= MAX_RECURSION || self.budget == 0 {
            let name = &self.document.definitions[number].name;
            let why = format!("`{name}` is recursive and cannot be inlined further");
            self.drop_keyword(&node.at, "$ref", &why)?;
            return Ok(vec![Part::new(self.opened(number, &node.at))]);
        }
        path.push(number);
        let document = self.document;
        let parts = self.resolved(&document.definitions[number].node, context, path);
        path.pop();
        let mut parts = parts?;
        parts.iter_mut().for_each(|part| part.inlined.push(number));
        Ok(parts)
    }

    /// A schema with the types of a definition and no other constraints.
    fn opened(&self, number: usize, at: &std::sync::Arc<str>) -> Node {
        let target = &self.document.definitions[number].node;
        let types = self.stated_types(target, MAX_RECURSION).filter(|types| *types != Types::all());
        let description = "Same structure as the enclosing object.".to_owned();
        let annotations = Annotations { description: Some(description), ..Annotations::default() };
        Node { types, annotations, ..Node::any(at) }
    }

    /// The types of a schema if they are stated in it or within `far` references.
    fn stated_types(&self, node: &Node, far: usize) -> Option<Types> {
        if node.types.is_some() {
            return node.types;
        }
        if let Some(number) = node.reference.filter(|_| far > 0) {
            return self.stated_types(&self.document.definitions[number].node, far - 1);
        }
        let choices = if node.any_of.is_empty() { &node.one_of } else { &node.any_of };
        if choices.is_empty() {
            return Some(node.types_of_keywords()).filter(|types| !types.is_empty());
        }
        choices.iter().try_fold(Types::default(), |types, one| Some(types.with(self.stated_types(one, far)?)))
    }

    fn keeps(&self, number: usize, context: SchemaContext) -> bool {
        match self.dialect {
            Dialect::OpenAiStrict | Dialect::OpenAiLoose | Dialect::Anthropic => true,
            Dialect::Gemini => false,
            // Cyclic references may only be used within properties that are not required.
            Dialect::GeminiJson => context.optional || !self.document.definitions[number].recursive,
        }
    }

    /// Combines each schema of one list with each of the other.
    fn cross(
        &mut self,
        left: Vec<Part>,
        right: Vec<Part>,
        at: &str,
        keyword: &str,
    ) -> Result<Vec<Part>, ConversionError> {
        if left.len() * right.len() > MAX_ALTERNATIVES {
            self.drop_keyword(at, keyword, "too many combinations of choices")?;
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
                    let inlined = one.inlined.iter().chain(&other.inlined).copied().collect();
                    parts.push(Part { node, inlined });
                }
            }
        }
        for conflict in conflicts {
            self.drop_keyword(at, conflict, "the two required schemas cannot be merged")?;
        }
        Ok(parts)
    }

    /// Removes logic keywords that the dialect does not support.
    fn drop_logic(&mut self, base: &mut Node) -> Result<(), ConversionError> {
        if self.dialect.is_verbatim() {
            return Ok(());
        }
        let at = std::sync::Arc::clone(&base.at);
        if base.not.take().is_some() {
            self.drop_keyword(&at, "not", "`not` is not supported")?;
        }
        if base.condition.take().is_some() {
            self.drop_keyword(&at, "if", "`if` is not supported")?;
        }
        if !std::mem::take(&mut base.dependent_schemas).is_empty() {
            self.drop_keyword(&at, "dependentSchemas", "`dependentSchemas` is not supported")?;
        }
        Ok(())
    }

    fn record_choice(&mut self, node: &Node) {
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
                .all(|(number, one)| branches[number + 1..].iter().all(|other| merge::are_disjoint(one, other)));
        let effect = if apart { Effect::Equal } else { Effect::Wider };
        self.record(&node.at, "oneOf", "became `anyOf`", effect);
    }

    /// Splits a schema by type.
    fn split(&mut self, mut part: Part, into: &mut Vec<Part>) {
        if part.node.reference.is_some() {
            into.push(part);
            return;
        }
        part.node.settle_unevaluated();
        let value_types =
            part.node.values.as_ref().map(|values| {
                values.iter().fold(Types::default(), |types, value| types.with(Types::from_value(value)))
            });
        let types = match (part.node.types, value_types) {
            (Some(types), Some(value_types)) => types.and(value_types),
            (Some(types), None) => types,
            (None, Some(value_types)) => value_types,
            (None, None) => {
                let implied = part.node.types_of_keywords();
                if !implied.is_empty() {
                    // JSON Schema accepts values of all other types, which authors do not intend.
                    let at = std::sync::Arc::clone(&part.node.at);
                    let named: Vec<_> = implied.names().collect();
                    let became = format!("became {}, as its keywords imply", named.join(" or "));
                    self.record(&at, "type", became, Effect::Narrower);
                }
                implied
            }
        };
        if types.is_empty() {
            if part.node.values.is_none() {
                // Without a type, a format has no meaning.
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
                into.push(Part { node, inlined: part.inlined.clone() });
            }
        }
    }
}
