//! The features of each revision: rules in [`Rules::new`], members in tables.
//!
//! The tables contain what mock servers send and some revisions lack, from the specification's changelogs and schemas (a
//! test compares them). [`crate::Script::anachronisms`] sends members regardless of the revision.

use evidence::Revision;
use serde_json::{Map, Value, json};

use super::revision::effective_revision;

const MARCH: Revision = Revision::V2025_03_26;
const JUNE: Revision = Revision::V2025_06_18;
const NOVEMBER: Revision = Revision::V2025_11_25;
const JULY: Revision = Revision::V2026_07_28;

/// The rules of a revision that differ between revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Messages may be sent in JSON-RPC batches (2025-03-26, basic, messages, batching).
    pub(crate) batches: bool,
    /// Tasks are part of the protocol (2025-11-25, basic, utilities, tasks).
    pub(crate) tasks: bool,
    /// HTTP requests after `initialize` name the revision in `MCP-Protocol-Version` (2025-06-18, transports).
    pub(crate) version_header: bool,
    /// Events have ids, and streams can be resumed (2025-03-26 to 2025-11-25, transports, resumability).
    pub(crate) resumption: bool,
    /// Streams begin with an event that has an id and no data (2025-11-25, transports, sending messages, 6).
    pub(crate) priming_events: bool,
    /// Arguments that do not match the input schema are reported in a result (2025-11-25, changelog, SEP-1303), and not
    /// with an error (2025-06-18, tools, error handling).
    pub(crate) argument_errors_in_results: bool,
    /// Errors for a request whose id cannot be read have the id `null`, as in JSON-RPC 2.0, and not none.
    pub(crate) null_ids: bool,
    /// `structuredContent` may be any value and not only an object (2026-07-28, changelog, SEP-2106).
    pub(crate) any_structured_content: bool,
}

impl Rules {
    pub(crate) const fn new(revision: Revision) -> Self {
        let first = Self {
            batches: false,
            tasks: false,
            version_header: false,
            resumption: false,
            priming_events: false,
            argument_errors_in_results: false,
            null_ids: true,
            any_structured_content: false,
        };
        match revision {
            Revision::V2024_11_05 => first,
            Revision::V2025_03_26 => Self { batches: true, resumption: true, ..first },
            Revision::V2025_06_18 => Self { version_header: true, resumption: true, ..first },
            Revision::V2025_11_25 => Self {
                tasks: true,
                version_header: true,
                resumption: true,
                priming_events: true,
                argument_errors_in_results: true,
                null_ids: false,
                ..first
            },
            Revision::V2026_07_28 => Self {
                version_header: true,
                argument_errors_in_results: true,
                null_ids: false,
                any_structured_content: true,
                ..first
            },
        }
    }

    /// The rules of a revision by its name.
    pub(crate) fn named(revision: &str) -> Self {
        Self::new(effective_revision(revision))
    }

    /// The rules of a revision by its name, if it exists.
    pub(crate) fn known(revision: &str) -> Option<Self> {
        revision.parse().ok().map(Self::new)
    }
}

/// The types of the schema of which some revisions lack a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaType {
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

/// A feature, the revision that added it, and the one that removed it.
type Row<T> = (T, Revision, Option<Revision>);

/// The members that were added or removed. All others exist in every revision.
const MEMBERS: [Row<(SchemaType, &str)>; 32] = [
    ((SchemaType::Annotations, "lastModified"), JUNE, None),
    ((SchemaType::AudioContent, "_meta"), JUNE, None),
    ((SchemaType::CallToolResult, "structuredContent"), JUNE, None),
    ((SchemaType::EmbeddedResource, "_meta"), JUNE, None),
    ((SchemaType::ImageContent, "_meta"), JUNE, None),
    ((SchemaType::Implementation, "title"), JUNE, None),
    ((SchemaType::Implementation, "description"), NOVEMBER, None),
    ((SchemaType::Implementation, "icons"), NOVEMBER, None),
    ((SchemaType::Implementation, "websiteUrl"), NOVEMBER, None),
    ((SchemaType::Progress, "message"), MARCH, None),
    ((SchemaType::Prompt, "_meta"), JUNE, None),
    ((SchemaType::Prompt, "icons"), NOVEMBER, None),
    ((SchemaType::Prompt, "title"), JUNE, None),
    ((SchemaType::PromptArgument, "title"), JUNE, None),
    ((SchemaType::Resource, "_meta"), JUNE, None),
    ((SchemaType::Resource, "icons"), NOVEMBER, None),
    ((SchemaType::Resource, "title"), JUNE, None),
    ((SchemaType::ResourceContents, "_meta"), JUNE, None),
    ((SchemaType::ResourceLink, "icons"), NOVEMBER, None),
    ((SchemaType::ResourceTemplate, "_meta"), JUNE, None),
    ((SchemaType::ResourceTemplate, "icons"), NOVEMBER, None),
    ((SchemaType::ResourceTemplate, "title"), JUNE, None),
    ((SchemaType::ServerCapabilities, "completions"), MARCH, None),
    ((SchemaType::ServerCapabilities, "extensions"), JULY, None),
    ((SchemaType::ServerCapabilities, "tasks"), NOVEMBER, Some(JULY)),
    ((SchemaType::TextContent, "_meta"), JUNE, None),
    ((SchemaType::Tool, "_meta"), JUNE, None),
    ((SchemaType::Tool, "annotations"), MARCH, None),
    ((SchemaType::Tool, "execution"), NOVEMBER, Some(JULY)),
    ((SchemaType::Tool, "icons"), NOVEMBER, None),
    ((SchemaType::Tool, "outputSchema"), JUNE, None),
    ((SchemaType::Tool, "title"), JUNE, None),
];

/// The content blocks that were added.
const BLOCKS: [Row<SchemaType>; 2] = [(SchemaType::AudioContent, MARCH, None), (SchemaType::ResourceLink, JUNE, None)];

/// The server's messages that were added or removed. Requests that 2026-07-28 sends in results count as present.
const METHODS: [Row<&str>; 2] =
    [("elicitation/create", JUNE, None), ("notifications/elicitation/complete", NOVEMBER, Some(JULY))];

/// The features of one revision, for messages that are about to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RevisionFeatures {
    revision: Revision,
    anachronisms: bool,
}

impl RevisionFeatures {
    pub(crate) fn new(revision: Revision, anachronisms: bool) -> Self {
        Self { revision, anachronisms }
    }

    pub(crate) fn rules(self) -> Rules {
        Rules::new(self.revision)
    }

    /// Whether a message of the server may be sent. Methods that no revision has are up to the script.
    pub(crate) fn has_method(self, method: &str) -> bool {
        METHODS.iter().find(|row| row.0 == method).is_none_or(|row| self.is_in(row))
    }

    /// Removes the members that the revision does not have.
    pub(crate) fn fit(self, shape: SchemaType, value: &mut Value) {
        if let Some(members) = value.as_object_mut() {
            self.fit_members(shape, members);
        }
    }

    /// The same, for the members of an object.
    pub(crate) fn fit_members(self, shape: SchemaType, members: &mut Map<String, Value>) {
        for row in MEMBERS.iter().filter(|row| row.0.0 == shape && !self.is_in(row)) {
            members.shift_remove(row.0.1);
        }
        match shape {
            SchemaType::CallToolResult => self.fit_tool_result(members),
            SchemaType::Prompt => {
                for argument in items(members, "arguments") {
                    self.fit(SchemaType::PromptArgument, argument);
                }
            }
            _ => {}
        }
        if let Some(contents) = members.get_mut("resource").filter(|_| shape == SchemaType::EmbeddedResource) {
            self.fit(SchemaType::ResourceContents, contents);
        }
        if let Some(annotations) = members.get_mut("annotations").filter(|_| shape != SchemaType::Tool) {
            self.fit(SchemaType::Annotations, annotations);
        }
    }

    fn fit_tool_result(self, members: &mut Map<String, Value>) {
        if !self.rules().any_structured_content
            && !self.anachronisms
            && members.get("structuredContent").is_some_and(|content| !content.is_object())
        {
            members.shift_remove("structuredContent");
        }
        for block in items(members, "content") {
            self.fit_block(block);
        }
    }

    /// Fits a content block; one that the revision does not have becomes a text block that names it.
    pub(crate) fn fit_block(self, block: &mut Value) {
        let shape = match block.get("type").and_then(Value::as_str) {
            Some("text") => SchemaType::TextContent,
            Some("image") => SchemaType::ImageContent,
            Some("audio") => SchemaType::AudioContent,
            Some("resource_link") => SchemaType::ResourceLink,
            Some("resource") => SchemaType::EmbeddedResource,
            _ => return,
        };
        if BLOCKS.iter().any(|row| row.0 == shape && !self.is_in(row)) {
            let named = block.get("uri").or_else(|| block.get("mimeType")).and_then(Value::as_str).unwrap_or_default();
            let kind = if shape == SchemaType::AudioContent { "audio" } else { "resource link" };
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
