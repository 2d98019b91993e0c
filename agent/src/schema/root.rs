//! The root schema of arguments, which is always one object.

use serde_json::{Map, Value};

use super::{
    converter::{ConversionError, Converter, SchemaContext},
    dialect::Dialect,
    document::{Node, Types},
    merge,
    report::Effect,
    strict,
    union::{self, Union},
};

/// Maximum length of an argument name for Anthropic, which accepts `[A-Za-z0-9_.-]` (Messages API, tools).
const MAX_NAME: usize = 64;

/// The written schema of arguments.
#[derive(Debug)]
pub(super) struct Arguments {
    /// The schema. Gemini accepts none for a tool without arguments.
    pub(super) schema: Option<Value>,
    /// Renamed arguments: new name, old name.
    pub(super) renamed: Vec<(String, String)>,
}

impl Converter<'_> {
    /// Writes the whole document.
    pub(super) fn arguments(&mut self) -> Result<Arguments, ConversionError> {
        let Union { mut node, inlined, note, .. } = self.root_object()?;
        let renamed = if self.dialect == Dialect::Anthropic { self.rename(&mut node) } else { Vec::new() };
        if let Some(note) = note {
            let description = node.annotations.description.get_or_insert_default();
            if !description.is_empty() {
                description.push('\n');
            }
            description.push_str(&note);
        }
        self.inlining.extend(inlined);
        let mut schema = if self.dialect.is_verbatim() {
            match self.verbatim(&node) {
                Value::Object(map) => map,
                _ => return Err(ConversionError::Never),
            }
        } else {
            let written = self.object(&node, SchemaContext::default())?;
            self.annotate(written.map, &node.annotations, written.notes, &node.at)
        };
        self.inlining.clear();
        let definitions = self.definitions()?;
        if !definitions.is_empty() {
            schema.insert("$defs".into(), definitions.into());
        }
        if self.dialect == Dialect::OpenAiStrict {
            strict::within_limits(&schema)?;
        }
        let empty = self.dialect == Dialect::Gemini && schema.keys().all(|key| key == "type");
        Ok(Arguments { schema: (!empty).then(|| schema.into()), renamed })
    }

    /// The root as one object without `$ref`, `allOf`, `anyOf` and `oneOf`.
    pub(super) fn root_object(&mut self) -> Result<Union, ConversionError> {
        let document = self.document;
        let mut root = document.root.clone();
        if root.never {
            return Err(ConversionError::Never);
        }
        if root.types.is_none() {
            self.record(&root.at, "type", "became `object`, as arguments must be an object", Effect::Equal);
        }
        let types = root.types.unwrap_or(Types::OBJECT).and(Types::OBJECT);
        if types.is_empty() {
            return Err(ConversionError::Never);
        }
        root.types = Some(types);
        self.simplify_root(&mut root);
        let keyword = [
            ("$ref", root.reference.is_some()),
            ("oneOf", !root.one_of.is_empty()),
            ("anyOf", !root.any_of.is_empty()),
            ("allOf", !root.all_of.is_empty()),
        ]
        .into_iter()
        .find_map(|(keyword, there)| there.then_some(keyword));
        let Some(keyword) = keyword.or_else(|| (!self.dialect.is_verbatim()).then_some("")) else {
            let node = root.restricted_to(Types::OBJECT);
            return Ok(Union { node, inlined: Vec::new(), note: None, narrowed: Vec::new() });
        };
        let parts = self.alternatives_at_root(&root)?;
        if parts.is_empty() {
            return Err(ConversionError::Never);
        }
        let mut union = union::merge(&parts);
        union.node.annotations = merge::annotations(&root.annotations, &union.node.annotations);
        // Inlined definitions may contain these keywords again.
        self.simplify_root(&mut union.node);
        if !keyword.is_empty() {
            let effect = if parts.len() > 1 { Effect::Wider } else { Effect::Equal };
            self.record(&root.at, keyword, "became one object with the properties of all branches", effect);
        }
        for name in &union.narrowed {
            let became = "became constrained in all branches, not only in some";
            self.record(&root.at, name, became, Effect::Narrower);
        }
        Ok(union)
    }

    /// Removes `enum` and `not`, which OpenAI does not accept at the root.
    fn simplify_root(&mut self, root: &mut Node) {
        if self.dialect == Dialect::Anthropic {
            return;
        }
        if root.values.take().is_some() {
            self.record(&root.at, "enum", "dropped", Effect::Wider);
        }
        if self.dialect == Dialect::OpenAiLoose && root.not.take().is_some() {
            self.record(&root.at, "not", "dropped", Effect::Wider);
        }
    }

    /// Renames arguments for Anthropic, which checks only the names at the root.
    fn rename(&mut self, node: &mut Node) -> Vec<(String, String)> {
        let legal = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
        let fits = |name: &str| !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(legal);
        let mut taken: Vec<String> = node.properties.iter().map(|(name, _)| name.clone()).collect();
        let mut renamed: Vec<(String, String)> = Vec::new();
        for (name, property) in &mut node.properties {
            if fits(name) {
                continue;
            }
            let letters = name.chars().map(|letter| if legal(letter) { letter } else { '_' });
            let short: String = letters.take(MAX_NAME - 4).collect();
            let short = if short.is_empty() { "_".to_owned() } else { short };
            let mut new = short.clone();
            let mut count = 2;
            while taken.contains(&new) {
                new = format!("{short}_{count}");
                count += 1;
            }
            taken.push(new.clone());
            self.report.add(&property.at, name, format!("was renamed to `{new}`"), self.dialect.rule(), Effect::Equal);
            let old = std::mem::replace(name, new.clone());
            renamed.push((new, old));
        }
        if !renamed.is_empty() {
            self.rename_elsewhere(node, &renamed);
        }
        renamed
    }

    /// Applies new names in other keywords of the root. Keywords that may depend on names are removed.
    fn rename_elsewhere(&mut self, node: &mut Node, renamed: &[(String, String)]) {
        let new_name = |name: &str| {
            let found = renamed.iter().find(|(_, old)| old == name);
            found.map_or(name, |(new, _)| new).to_owned()
        };
        node.required.iter_mut().for_each(|name| *name = new_name(name));
        for (name, needed) in &mut node.dependent_required {
            *name = new_name(name);
            needed.iter_mut().for_each(|name| *name = new_name(name));
        }
        for value in node.values.iter_mut().flatten().filter_map(Value::as_object_mut) {
            *value = std::mem::take(value).into_iter().map(|(name, value)| (new_name(&name), value)).collect();
        }
        let at = std::sync::Arc::clone(&node.at);
        for (keyword, there) in [
            ("not", node.not.take().is_some()),
            ("if", node.condition.take().is_some()),
            ("propertyNames", node.names.take().is_some()),
            ("patternProperties", !std::mem::take(&mut node.patterns).is_empty()),
            ("dependentSchemas", !std::mem::take(&mut node.dependent_schemas).is_empty()),
        ] {
            if there {
                self.record(&at, keyword, "dropped, as it may depend on renamed arguments", Effect::Wider);
            }
        }
    }

    /// The directly and indirectly referenced schemas.
    fn definitions(&mut self) -> Result<Map<String, Value>, ConversionError> {
        let document = self.document;
        let mut written = Map::new();
        let mut done = std::collections::BTreeSet::new();
        while let Some(number) = self.used.iter().find(|number| !done.contains(*number)).copied() {
            done.insert(number);
            let definition = &document.definitions[number];
            let schema = if self.dialect.is_verbatim() {
                self.verbatim(&definition.node)
            } else {
                match self.subset(&definition.node, SchemaContext { depth: 1, optional: false }) {
                    Ok(map) => map.into(),
                    Err(ConversionError::Never) => {
                        self.drop_keyword(&definition.node.at, "$defs", "a definition that accepts no value")?;
                        self.anything()?.into()
                    }
                    Err(unfit) => return Err(unfit),
                }
            };
            written.insert(definition.name.clone(), schema);
        }
        Ok(written)
    }
}
