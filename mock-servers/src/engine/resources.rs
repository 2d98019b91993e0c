//! Resources and resource templates: definitions in lists, and `resources/read`.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era,
    dispatch::Dispatch,
    features::SchemaType,
    generated,
    item_list::ListItem,
    message::{Outcome, param},
    server_lists::add,
    template::TemplateContext,
};
use crate::script::{Generate, Resource, ResourcePart, ResourceTemplate};

const MADE_TEMPLATE: &str = "generated://template/";

impl ListItem for Resource {
    fn key(&self) -> &str {
        &self.uri
    }

    fn definition(&self) -> Value {
        let name = self.name.clone().unwrap_or_else(|| self.uri.clone());
        let mut members = Map::new();
        add(
            &mut members,
            [
                ("uri", Some(self.uri.clone().into())),
                ("name", Some(name.into())),
                ("title", self.title.clone().map(Value::from)),
                ("description", self.description.clone().map(Value::from)),
                ("mimeType", self.mime_type.clone().map(Value::from)),
                ("size", self.size.map(Value::from)),
                ("annotations", self.annotations.clone()),
                ("icons", self.icons.clone()),
                ("_meta", self.meta.clone().map(Value::from)),
            ],
        );
        Value::Object(members)
    }

    fn is_listed(&self) -> bool {
        !self.hidden
    }

    fn generated_count(generate: &Generate) -> usize {
        generate.resources
    }

    fn generated_item(number: usize, generate: &Generate) -> Self {
        Self {
            uri: Self::generated_key(number),
            name: Some(format!("resource-{number:05}")),
            description: Some(generated::description("resource", number, generate)),
            mime_type: Some("text/plain".into()),
            ..Self::default()
        }
    }

    fn generated_key(number: usize) -> String {
        format!("generated://resource/{number:05}")
    }
}

impl ListItem for ResourceTemplate {
    fn key(&self) -> &str {
        &self.uri_template
    }

    fn definition(&self) -> Value {
        let name = self.name.clone().unwrap_or_else(|| self.uri_template.clone());
        let mut members = Map::new();
        add(
            &mut members,
            [
                ("uriTemplate", Some(self.uri_template.clone().into())),
                ("name", Some(name.into())),
                ("title", self.title.clone().map(Value::from)),
                ("description", self.description.clone().map(Value::from)),
                ("mimeType", self.mime_type.clone().map(Value::from)),
                ("annotations", self.annotations.clone()),
                ("icons", self.icons.clone()),
                ("_meta", self.meta.clone().map(Value::from)),
            ],
        );
        Value::Object(members)
    }

    fn generated_count(generate: &Generate) -> usize {
        generate.resource_templates
    }

    fn generated_item(number: usize, generate: &Generate) -> Self {
        Self {
            uri_template: Self::generated_key(number),
            name: Some(format!("template-{number:05}")),
            description: Some(generated::description("resource template", number, generate)),
            mime_type: Some("text/plain".into()),
            ..Self::default()
        }
    }

    fn generated_key(number: usize) -> String {
        format!("{MADE_TEMPLATE}{number:05}/{{id}}")
    }
}

impl Engine {
    /// Reads a listed resource, else the first template that matches the URI.
    pub(crate) fn read(&self, dispatch: &Dispatch) -> Outcome {
        let Some(uri) = param(&dispatch.message, "uri").and_then(Value::as_str) else {
            return Outcome::invalid_params("`uri` is missing");
        };
        let context = dispatch.context();
        let contents = if let Some(resource) = self.items.lists.resources.get(uri) {
            parts(&resource.contents, resource.mime_type.as_deref(), uri, &context)
        } else if let Some((template, variables)) = self.template_of(uri) {
            let context = TemplateContext { variables: Some(&variables), ..context };
            parts(&template.contents, template.mime_type.as_deref(), uri, &context)
        } else if made_template(uri).is_some_and(|key| self.items.lists.templates.get(&key).is_some()) {
            parts(&[], Some("text/plain"), uri, &context)
        } else {
            return no_such_resource(dispatch, uri);
        };
        Outcome::Result(self.resource_result(dispatch, contents))
    }

    /// The result with these contents.
    pub(crate) fn resource_result(&self, dispatch: &Dispatch, mut contents: Vec<Value>) -> Value {
        let features = self.features(dispatch);
        contents.iter_mut().for_each(|part| features.fit(SchemaType::ResourceContents, part));
        self.complete(dispatch, Map::from_iter([("contents".to_owned(), contents.into())]))
    }

    fn template_of(&self, uri: &str) -> Option<(&ResourceTemplate, Map<String, Value>)> {
        let mut candidates = self.items.lists.templates.written().zip(&self.items.lists.patterns);
        candidates.find_map(|(template, pattern)| Some((template, pattern.read(uri)?)))
    }
}

/// The key of the generated template that a URI matches.
fn made_template(uri: &str) -> Option<String> {
    let (number, id) = uri.strip_prefix(MADE_TEMPLATE)?.split_once('/')?;
    (!id.is_empty() && !id.contains('/')).then(|| format!("{MADE_TEMPLATE}{number}/{{id}}"))
}

fn parts(parts: &[ResourcePart], mime_type: Option<&str>, uri: &str, context: &TemplateContext<'_>) -> Vec<Value> {
    if parts.is_empty() {
        let part = ResourcePart { text: Some("{{params.uri}}".into()), ..ResourcePart::default() };
        return vec![written(&part, mime_type, uri, context)];
    }
    parts.iter().map(|part| written(part, mime_type, uri, context)).collect()
}

fn written(part: &ResourcePart, mime_type: Option<&str>, uri: &str, context: &TemplateContext<'_>) -> Value {
    let filled = |text: &Option<String>| text.as_ref().map(|text| Value::from(context.fill_text(text)));
    let mut members = Map::new();
    add(
        &mut members,
        [
            ("uri", Some(filled(&part.uri).unwrap_or_else(|| uri.into()))),
            ("mimeType", filled(&part.mime_type).or_else(|| mime_type.map(Value::from))),
            ("text", filled(&part.text)),
            ("blob", filled(&part.blob)),
            ("_meta", part.meta.as_ref().map(|meta| context.fill_map(meta).into())),
        ],
    );
    Value::Object(members)
}

/// 2026-07-28 replaced the code of earlier revisions (resources, error handling).
fn no_such_resource(dispatch: &Dispatch, uri: &str) -> Outcome {
    let code = if dispatch.era == Era::Modern { -32602 } else { -32002 };
    Outcome::Error { code, message: "Resource not found".into(), data: Some(json!({ "uri": uri })) }
}
