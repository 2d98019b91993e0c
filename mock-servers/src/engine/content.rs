//! Content blocks of messages.

use serde_json::{Map, Value};

use super::{server_lists::add, template::TemplateContext};
use crate::script::{Content, LinkBlock, MediaBlock, ResourceBlock, TextBlock};

/// The block, with its placeholders filled.
pub(crate) fn block(content: &Content, context: &TemplateContext<'_>) -> Value {
    let block = match content {
        Content::Text(text) => text_block(text, context),
        Content::Image(image) => media(image, "image", context),
        Content::Audio(audio) => media(audio, "audio", context),
        Content::ResourceLink(link) => link_block(link, context),
        Content::Resource(resource) => resource_block(resource, context),
    };
    Value::Object(block)
}

fn text_block(block: &TextBlock, context: &TemplateContext<'_>) -> Map<String, Value> {
    let members = [
        ("text", Some(context.fill_text(&block.text).into())),
        ("annotations", filled(&block.annotations, context)),
        ("_meta", meta(&block.meta, context)),
    ];
    typed("text", members)
}

fn media(block: &MediaBlock, kind: &str, context: &TemplateContext<'_>) -> Map<String, Value> {
    let members = [
        ("data", Some(context.fill_text(&block.data).into())),
        ("mimeType", Some(context.fill_text(&block.mime_type).into())),
        ("annotations", filled(&block.annotations, context)),
        ("_meta", meta(&block.meta, context)),
    ];
    typed(kind, members)
}

fn link_block(block: &LinkBlock, context: &TemplateContext<'_>) -> Map<String, Value> {
    let members = [
        ("uri", Some(context.fill_text(&block.uri).into())),
        ("name", Some(context.fill_text(&block.name).into())),
        ("title", text(&block.title, context)),
        ("description", text(&block.description, context)),
        ("mimeType", text(&block.mime_type, context)),
        ("size", block.size.map(Value::from)),
        ("annotations", filled(&block.annotations, context)),
        ("icons", filled(&block.icons, context)),
        ("_meta", meta(&block.meta, context)),
    ];
    typed("resource_link", members)
}

fn resource_block(block: &ResourceBlock, context: &TemplateContext<'_>) -> Map<String, Value> {
    let mut resource = Map::new();
    add(
        &mut resource,
        [
            ("uri", Some(context.fill_text(&block.uri).into())),
            ("mimeType", text(&block.mime_type, context)),
            ("text", text(&block.text, context)),
            ("blob", text(&block.blob, context)),
        ],
    );
    let members = [
        ("resource", Some(resource.into())),
        ("annotations", filled(&block.annotations, context)),
        ("_meta", meta(&block.meta, context)),
    ];
    typed("resource", members)
}

fn typed<const N: usize>(kind: &str, members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let mut block = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    add(&mut block, members);
    block
}

fn text(text: &Option<String>, context: &TemplateContext<'_>) -> Option<Value> {
    text.as_ref().map(|text| context.fill_text(text).into())
}

fn filled(value: &Option<Value>, context: &TemplateContext<'_>) -> Option<Value> {
    value.as_ref().map(|value| context.fill(value))
}

fn meta(meta: &Option<Map<String, Value>>, context: &TemplateContext<'_>) -> Option<Value> {
    meta.as_ref().map(|meta| context.fill_map(meta).into())
}
