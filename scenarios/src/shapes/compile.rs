//! Resolves the files for one revision: bases are merged, names become positions.

use std::collections::{BTreeMap, HashMap};

use super::{
    Body, Case, Definition, Field, Method, Shapes, Type,
    expression::{Clause, Expression, case, clauses},
    file::{DefinitionEntry, File, MethodEntry, Sender, exists},
};
use crate::model::Revision;

/// Maximum depth of `extends` and of names of simple types.
const MAX_DEPTH: usize = 16;

/// Resolves the files for a revision. The error names the definition and the part that is wrong.
pub(super) fn compile(file: &File, revision: Revision) -> Result<Shapes, String> {
    let entries = file.definitions.iter().filter(|(_, entry)| exists(entry.since, entry.until, revision));
    let entries: BTreeMap<&str, &DefinitionEntry> = entries.map(|(name, entry)| (name.as_str(), entry)).collect();
    let objects = entries.iter().filter(|(_, entry)| entry.kind.is_none());
    let by_name = objects.enumerate().map(|(position, (name, _))| ((*name).to_owned(), position)).collect();
    let compiler = Compiler { all: &file.definitions, entries: &entries, by_name: &by_name, revision };
    let mut definitions = Vec::with_capacity(by_name.len());
    for (name, entry) in entries.iter().filter(|(_, entry)| entry.kind.is_none()) {
        let body = compiler.body(entry).map_err(|error| format!("{name} in {revision}: {error}"))?;
        let (name, schema) = ((*name).to_owned(), entry.schema.clone());
        definitions.push(Definition { name, schema, is_part: entry.part, body });
    }
    let methods = |all: &BTreeMap<String, MethodEntry>| {
        let all = all.iter().filter(|(_, entry)| exists(entry.since, entry.until, revision));
        all.map(|(name, entry)| Ok((name.clone(), compiler.method(name, entry, &definitions)?))).collect()
    };
    let (requests, notifications): (Result<HashMap<_, _>, String>, Result<HashMap<_, _>, String>) =
        (methods(&file.requests), methods(&file.notifications));
    let (requests, notifications) = (requests?, notifications?);
    Ok(Shapes { definitions, by_name, requests, notifications })
}

struct Compiler<'a> {
    /// The definitions of all revisions.
    all: &'a BTreeMap<String, DefinitionEntry>,
    /// Those of the revision.
    entries: &'a BTreeMap<&'a str, &'a DefinitionEntry>,
    by_name: &'a HashMap<String, usize>,
    revision: Revision,
}

impl Compiler<'_> {
    fn body(&self, entry: &DefinitionEntry) -> Result<Body, String> {
        if entry.choose.is_empty() {
            let mut fields = BTreeMap::new();
            self.collect(entry, &mut fields, 0)?;
            return Ok(Body::Object(fields.into_values().collect()));
        }
        let mut cases = Vec::new();
        for text in &entry.choose {
            let (name, conditions) = case(text)?;
            if self.exists(name)? {
                cases.push(Case { conditions, definition: self.position(name)? });
            }
        }
        Ok(Body::Choice(cases))
    }

    /// The fields of a definition and its bases, by name. A field replaces that of a base.
    fn collect(
        &self,
        entry: &DefinitionEntry,
        fields: &mut BTreeMap<String, Field>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("it extends itself".to_owned());
        }
        for base in &entry.extends {
            if self.exists(base)? {
                self.collect(self.entries[base.as_str()], fields, depth + 1)?;
            }
        }
        for (key, text) in &entry.fields {
            let name = key.strip_suffix('?').unwrap_or(key);
            let mut found = clauses(text)?.into_iter().filter(|clause| self.applies(clause));
            let Some(clause) = found.next() else { continue };
            if found.next().is_some() {
                return Err(format!("`{name}` has two types"));
            }
            let kind = self.resolve(&clause.expression, 0)?;
            fields.insert(name.to_owned(), Field { name: name.to_owned(), is_required: !key.ends_with('?'), kind });
        }
        Ok(())
    }

    fn applies(&self, clause: &Clause) -> bool {
        exists(clause.since, clause.until, self.revision)
    }

    /// Whether the revision has a definition. No revision has an unknown one.
    fn exists(&self, name: &str) -> Result<bool, String> {
        if self.all.contains_key(name) {
            Ok(self.entries.contains_key(name))
        } else {
            Err(format!("unknown definition `{name}`"))
        }
    }

    fn position(&self, name: &str) -> Result<usize, String> {
        self.by_name.get(name).copied().ok_or_else(|| format!("unknown definition `{name}`"))
    }

    fn resolve(&self, expression: &Expression, depth: usize) -> Result<Type, String> {
        if depth > MAX_DEPTH {
            return Err("a type names itself".to_owned());
        }
        let inner = |expression: &Expression| self.resolve(expression, depth + 1);
        Ok(match expression {
            Expression::Const(value) => Type::Const(value.clone()),
            Expression::Integer(range) => Type::Integer(*range),
            Expression::Number(range) => Type::Number(*range),
            Expression::Array { of, max } => Type::Array { of: Box::new(inner(of)?), max: *max },
            Expression::Map(of) => Type::Map(Box::new(inner(of)?)),
            Expression::Union(all) => Type::Union(all.iter().map(inner).collect::<Result<_, _>>()?),
            Expression::Name(name) => match name.as_str() {
                "any" => Type::Any,
                "null" => Type::Null,
                "string" => Type::String,
                "boolean" => Type::Boolean,
                "object" => Type::Object,
                "absent" => Type::Absent,
                "uri" => Type::Uri,
                "uri-template" => Type::UriTemplate,
                "base64" => Type::Base64,
                name => match self.entries.get(name).and_then(|entry| entry.kind.as_ref()) {
                    Some(text) => {
                        let clauses = clauses(text)?;
                        let clause = clauses.iter().find(|clause| self.applies(clause));
                        inner(&clause.ok_or_else(|| format!("`{name}` has no type"))?.expression)?
                    }
                    None => Type::Definition(self.position(name)?),
                },
            },
        })
    }

    fn method(&self, name: &str, entry: &MethodEntry, definitions: &[Definition]) -> Result<Method, String> {
        let position = |definition: &str| self.position(definition).map_err(|error| format!("{name}: {error}"));
        let params = position(&entry.params)?;
        let has_required_member = match &definitions[params].body {
            Body::Object(fields) => fields.iter().any(|field| field.is_required),
            Body::Choice(_) => true,
        };
        Ok(Method {
            schema: entry.schema.clone(),
            from_client: entry.from != Sender::Server,
            from_server: entry.from != Sender::Client,
            params,
            params_required: entry.required || has_required_member,
            result: entry.result.as_deref().map(position).transpose()?,
        })
    }
}
