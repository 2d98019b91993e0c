//! Blocks of content as they go out.

use serde_json::{Map, Value};

use super::{catalogue::add, template::Facts};
use crate::script::{Content, LinkBlock, MediaBlock, ResourceBlock, TextBlock};

/// The block, with its placeholders filled.
pub(crate) fn block(content: &Content, facts: &Facts<'_>) -> Value {
    let block = match content {
        Content::Text(text) => text_block(text, facts),
        Content::Image(image) => media(image, "image", facts),
        Content::Audio(audio) => media(audio, "audio", facts),
        Content::ResourceLink(link) => link_block(link, facts),
        Content::Resource(resource) => resource_block(resource, facts),
    };
    Value::Object(block)
}

fn text_block(block: &TextBlock, facts: &Facts<'_>) -> Map<String, Value> {
    let members = [
        ("text", Some(facts.fill_text(&block.text).into())),
        ("annotations", filled(&block.annotations, facts)),
        ("_meta", meta(&block.meta, facts)),
    ];
    typed("text", members)
}

fn media(block: &MediaBlock, kind: &str, facts: &Facts<'_>) -> Map<String, Value> {
    let members = [
        ("data", Some(facts.fill_text(&block.data).into())),
        ("mimeType", Some(facts.fill_text(&block.mime_type).into())),
        ("annotations", filled(&block.annotations, facts)),
        ("_meta", meta(&block.meta, facts)),
    ];
    typed(kind, members)
}

fn link_block(block: &LinkBlock, facts: &Facts<'_>) -> Map<String, Value> {
    let members = [
        ("uri", Some(facts.fill_text(&block.uri).into())),
        ("name", Some(facts.fill_text(&block.name).into())),
        ("title", text(&block.title, facts)),
        ("description", text(&block.description, facts)),
        ("mimeType", text(&block.mime_type, facts)),
        ("size", block.size.map(Value::from)),
        ("annotations", filled(&block.annotations, facts)),
        ("icons", filled(&block.icons, facts)),
        ("_meta", meta(&block.meta, facts)),
    ];
    typed("resource_link", members)
}

fn resource_block(block: &ResourceBlock, facts: &Facts<'_>) -> Map<String, Value> {
    let mut resource = Map::new();
    add(
        &mut resource,
        [
            ("uri", Some(facts.fill_text(&block.uri).into())),
            ("mimeType", text(&block.mime_type, facts)),
            ("text", text(&block.text, facts)),
            ("blob", text(&block.blob, facts)),
        ],
    );
    let members = [
        ("resource", Some(resource.into())),
        ("annotations", filled(&block.annotations, facts)),
        ("_meta", meta(&block.meta, facts)),
    ];
    typed("resource", members)
}

fn typed<const N: usize>(kind: &str, members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let mut block = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    add(&mut block, members);
    block
}

fn text(text: &Option<String>, facts: &Facts<'_>) -> Option<Value> {
    text.as_ref().map(|text| facts.fill_text(text).into())
}

fn filled(value: &Option<Value>, facts: &Facts<'_>) -> Option<Value> {
    value.as_ref().map(|value| facts.fill(value))
}

fn meta(meta: &Option<Map<String, Value>>, facts: &Facts<'_>) -> Option<Value> {
    meta.as_ref().map(|meta| facts.fill_map(meta).into())
}
