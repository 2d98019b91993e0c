//! Writes schemas for providers that support nearly all of JSON Schema 2020-12: OpenAI without strict mode, and Anthropic.

use serde_json::{Map, Value, json};

use super::{
    annotations::DescriptionNotes,
    converter::Converter,
    dialect::Dialect,
    document::{Bound, Node, Range, Types},
    report::Effect,
};

impl Converter<'_> {
    /// Writes a schema with all its keywords.
    pub(super) fn verbatim(&mut self, node: &Node) -> Value {
        if node.never {
            return json!({ "not": {} });
        }
        let mut map = Map::new();
        if let Some(number) = node.reference {
            self.used.insert(number);
            map.insert("$ref".into(), self.reference_to(number));
        }
        if let Some(types) = node.types {
            let mut names: Vec<Value> = types.names().map(Value::from).collect();
            let list = names.len() != 1;
            map.insert("type".into(), if list { names.into() } else { names.swap_remove(0) });
        }
        if let Some(values) = &node.values {
            map.insert("enum".into(), values.clone().into());
        }
        scalars(&mut map, node);
        self.verbatim_arrays(&mut map, node);
        self.verbatim_objects(&mut map, node);
        self.verbatim_logic(&mut map, node);
        Value::Object(self.annotate(map, &node.annotations, DescriptionNotes::default(), &node.at))
    }

    pub(super) fn reference_to(&self, number: usize) -> Value {
        Value::String(format!("#/$defs/{}", self.document.definitions[number].name))
    }

    fn verbatim_arrays(&mut self, map: &mut Map<String, Value>, node: &Node) {
        if !node.prefix.is_empty() {
            map.insert("prefixItems".into(), self.verbatim_list(&node.prefix));
        }
        if let Some(items) = &node.items {
            map.insert("items".into(), if items.never { false.into() } else { self.verbatim(items) });
        } else if self.dialect == Dialect::OpenAiLoose && node.types.is_some_and(|types| types.covers(Types::ARRAY)) {
            map.insert("items".into(), json!({}));
            self.record(&node.at, "items", "added", Effect::Equal);
        }
        range(map, node.item_count, "minItems", "maxItems");
        if node.unique {
            map.insert("uniqueItems".into(), true.into());
        }
        if let Some(contains) = &node.contains {
            map.insert("contains".into(), self.verbatim(&contains.node));
            range(map, contains.count, "minContains", "maxContains");
        }
        if let Some(items) = &node.unevaluated_items {
            map.insert("unevaluatedItems".into(), if items.never { false.into() } else { self.verbatim(items) });
        }
    }

    fn verbatim_objects(&mut self, map: &mut Map<String, Value>, node: &Node) {
        if !node.properties.is_empty() {
            map.insert("properties".into(), self.verbatim_map(&node.properties));
        } else if self.dialect == Dialect::OpenAiLoose && node.types.is_some_and(|types| types.covers(Types::OBJECT)) {
            map.insert("properties".into(), json!({}));
            self.record(&node.at, "properties", "added", Effect::Equal);
        }
        if !node.patterns.is_empty() {
            map.insert("patternProperties".into(), self.verbatim_map(&node.patterns));
        }
        if !node.required.is_empty() {
            map.insert("required".into(), node.required.clone().into());
        }
        for (keyword, child) in
            [("additionalProperties", &node.additional), ("unevaluatedProperties", &node.unevaluated_properties)]
        {
            if let Some(child) = child {
                map.insert(keyword.into(), if child.never { false.into() } else { self.verbatim(child) });
            }
        }
        if let Some(names) = &node.names {
            map.insert("propertyNames".into(), self.verbatim(names));
        }
        range(map, node.property_count, "minProperties", "maxProperties");
        if !node.dependent_required.is_empty() {
            let dependent: Map<String, Value> =
                node.dependent_required.iter().map(|(name, needed)| (name.clone(), needed.clone().into())).collect();
            map.insert("dependentRequired".into(), dependent.into());
        }
        if !node.dependent_schemas.is_empty() {
            map.insert("dependentSchemas".into(), self.verbatim_map(&node.dependent_schemas));
        }
    }

    fn verbatim_logic(&mut self, map: &mut Map<String, Value>, node: &Node) {
        for (keyword, list) in [("allOf", &node.all_of), ("anyOf", &node.any_of), ("oneOf", &node.one_of)] {
            if !list.is_empty() {
                map.insert(keyword.into(), self.verbatim_list(list));
            }
        }
        if let Some(not) = &node.not {
            map.insert("not".into(), self.verbatim(not));
        }
        if let Some(condition) = &node.condition {
            map.insert("if".into(), self.verbatim(&condition.when));
            for (keyword, branch) in [("then", &condition.then), ("else", &condition.otherwise)] {
                if let Some(branch) = branch {
                    map.insert(keyword.into(), self.verbatim(branch));
                }
            }
        }
    }

    fn verbatim_list(&mut self, nodes: &[Node]) -> Value {
        nodes.iter().map(|node| self.verbatim(node)).collect()
    }

    fn verbatim_map(&mut self, named: &[(String, Node)]) -> Value {
        Value::Object(named.iter().map(|(name, node)| (name.clone(), self.verbatim(node))).collect())
    }
}

fn scalars(map: &mut Map<String, Value>, node: &Node) {
    if let Some(format) = &node.format {
        map.insert("format".into(), format.as_str().into());
    }
    bound(map, node.low.as_ref(), "minimum", "exclusiveMinimum");
    bound(map, node.high.as_ref(), "maximum", "exclusiveMaximum");
    if let Some(multiple) = &node.multiple_of {
        map.insert("multipleOf".into(), multiple.clone().into());
    }
    range(map, node.length, "minLength", "maxLength");
    if let Some(pattern) = &node.pattern {
        map.insert("pattern".into(), pattern.as_str().into());
    }
}

fn bound(map: &mut Map<String, Value>, bound: Option<&Bound>, plain: &str, exclusive: &str) {
    if let Some(bound) = bound {
        map.insert(if bound.exclusive { exclusive } else { plain }.into(), bound.value.clone().into());
    }
}

fn range(map: &mut Map<String, Value>, range: Range, min: &str, max: &str) {
    for (keyword, end) in [(min, range.min), (max, range.max)] {
        if let Some(end) = end {
            map.insert(keyword.into(), end.into());
        }
    }
}
