//! What each revision has: the one table of what came and went, and how a message is made to fit a revision.
//!
//! The table holds what the mock sends and not every revision has, from the specification's changelogs and schemas (a
//! test compares it with those). A script that wants anachronisms gets them: see [`crate::Script::anachronisms`].

use serde_json::{Map, Value, json};

use super::MODERN;

const MARCH: &str = "2025-03-26";
const JUNE: &str = "2025-06-18";
const NOVEMBER: &str = "2025-11-25";

/// The shapes of which some revisions lack a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Annotations,
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    Implementation,
    Progress,
    Prompt,
    PromptArgument,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    ServerCapabilities,
    TextContent,
    Tool,
}

/// A thing, the revision that brought it, and the one that took it away.
type Row<T> = (T, &'static str, Option<&'static str>);

/// The members that came or went. What is not here has always been there.
const MEMBERS: [Row<(Shape, &str)>; 32] = [
    ((Shape::Annotations, "lastModified"), JUNE, None),
    ((Shape::AudioContent, "_meta"), JUNE, None),
    ((Shape::CallToolResult, "structuredContent"), JUNE, None),
    ((Shape::EmbeddedResource, "_meta"), JUNE, None),
    ((Shape::ImageContent, "_meta"), JUNE, None),
    ((Shape::Implementation, "title"), JUNE, None),
    ((Shape::Implementation, "description"), NOVEMBER, None),
    ((Shape::Implementation, "icons"), NOVEMBER, None),
    ((Shape::Implementation, "websiteUrl"), NOVEMBER, None),
    ((Shape::Progress, "message"), MARCH, None),
    ((Shape::Prompt, "_meta"), JUNE, None),
    ((Shape::Prompt, "icons"), NOVEMBER, None),
    ((Shape::Prompt, "title"), JUNE, None),
    ((Shape::PromptArgument, "title"), JUNE, None),
    ((Shape::Resource, "_meta"), JUNE, None),
    ((Shape::Resource, "icons"), NOVEMBER, None),
    ((Shape::Resource, "title"), JUNE, None),
    ((Shape::ResourceContents, "_meta"), JUNE, None),
    ((Shape::ResourceLink, "icons"), NOVEMBER, None),
    ((Shape::ResourceTemplate, "_meta"), JUNE, None),
    ((Shape::ResourceTemplate, "icons"), NOVEMBER, None),
    ((Shape::ResourceTemplate, "title"), JUNE, None),
    ((Shape::ServerCapabilities, "completions"), MARCH, None),
    ((Shape::ServerCapabilities, "extensions"), MODERN, None),
    ((Shape::ServerCapabilities, "tasks"), NOVEMBER, Some(MODERN)),
    ((Shape::TextContent, "_meta"), JUNE, None),
    ((Shape::Tool, "_meta"), JUNE, None),
    ((Shape::Tool, "annotations"), MARCH, None),
    ((Shape::Tool, "execution"), NOVEMBER, Some(MODERN)),
    ((Shape::Tool, "icons"), NOVEMBER, None),
    ((Shape::Tool, "outputSchema"), JUNE, None),
    ((Shape::Tool, "title"), JUNE, None),
];

/// The blocks of content that have not always been there.
const BLOCKS: [Row<Shape>; 2] = [(Shape::AudioContent, MARCH, None), (Shape::ResourceLink, JUNE, None)];

/// The messages of the server's own that have not always been there, or are no more. What 2026-07-28 asks for in a
/// result it still has.
const METHODS: [Row<&str>; 2] =
    [("elicitation/create", JUNE, None), ("notifications/elicitation/complete", NOVEMBER, Some(MODERN))];

/// The revision spoken, as far as it decides what is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect<'a> {
    revision: &'a str,
    anachronisms: bool,
}

impl<'a> Dialect<'a> {
    pub(crate) fn new(revision: &'a str, anachronisms: bool) -> Self {
        Self { revision, anachronisms }
    }

    /// Whether a message of the server's own may be sent. One that no revision knows is the script's own business.
    pub(crate) fn has_method(self, method: &str) -> bool {
        METHODS.iter().find(|row| row.0 == method).is_none_or(|row| self.is_in(row))
    }

    /// Whether a tool's arguments that do not fit are refused with a result (2025-11-25, changelog, SEP-1303; before,
    /// with an error: 2025-06-18, tools, error handling).
    pub(crate) fn refuses_arguments_by_result(self) -> bool {
        self.revision >= NOVEMBER
    }

    /// Takes away what the revision does not have.
    pub(crate) fn fit(self, shape: Shape, value: &mut Value) {
        if let Some(members) = value.as_object_mut() {
            self.fit_members(shape, members);
        }
    }

    /// The same, for the members of an object.
    pub(crate) fn fit_members(self, shape: Shape, members: &mut Map<String, Value>) {
        for row in MEMBERS.iter().filter(|row| row.0.0 == shape && !self.is_in(row)) {
            members.shift_remove(row.0.1);
        }
        match shape {
            Shape::CallToolResult => self.fit_tool_result(members),
            Shape::Prompt => {
                for argument in items(members, "arguments") {
                    self.fit(Shape::PromptArgument, argument);
                }
            }
            _ => {}
        }
        if let Some(contents) = members.get_mut("resource").filter(|_| shape == Shape::EmbeddedResource) {
            self.fit(Shape::ResourceContents, contents);
        }
        if let Some(annotations) = members.get_mut("annotations").filter(|_| shape != Shape::Tool) {
            self.fit(Shape::Annotations, annotations);
        }
    }

    fn fit_tool_result(self, members: &mut Map<String, Value>) {
        // It was an object until 2026-07-28 (changelog, SEP-2106).
        if self.revision < MODERN
            && !self.anachronisms
            && members.get("structuredContent").is_some_and(|content| !content.is_object())
        {
            members.shift_remove("structuredContent");
        }
        for block in items(members, "content") {
            self.fit_block(block);
        }
    }

    /// Makes a block of content fit; one that the revision does not have becomes a text that names it.
    pub(crate) fn fit_block(self, block: &mut Value) {
        let shape = match block.get("type").and_then(Value::as_str) {
            Some("text") => Shape::TextContent,
            Some("image") => Shape::ImageContent,
            Some("audio") => Shape::AudioContent,
            Some("resource_link") => Shape::ResourceLink,
            Some("resource") => Shape::EmbeddedResource,
            _ => return,
        };
        if BLOCKS.iter().any(|row| row.0 == shape && !self.is_in(row)) {
            let named = block.get("uri").or_else(|| block.get("mimeType")).and_then(Value::as_str).unwrap_or_default();
            let kind = if shape == Shape::AudioContent { "audio" } else { "resource link" };
            *block = json!({ "type": "text", "text": format!("[{kind}: {named}]") });
        } else {
            self.fit(shape, block);
        }
    }

    fn is_in<T>(self, (_, since, until): &Row<T>) -> bool {
        self.anachronisms || (self.revision >= *since && until.is_none_or(|until| self.revision < until))
    }
}

fn items<'a>(members: &'a mut Map<String, Value>, name: &str) -> impl Iterator<Item = &'a mut Value> {
    members.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

#[cfg(test)]
mod tests;
