//! The deliberate differences between the shapes and the official schemas, with their reasons.

use mcp_workbench_scenarios::model::Revision;
use serde_json::{Value, json};

/// A deliberate difference. Its example shows it in one revision.
pub(crate) struct Difference {
    /// Why the shapes differ.
    pub(crate) reason: &'static str,
    /// Whether the shapes accept the value, which the schema then rejects, or the other way round.
    pub(crate) accepted: bool,
    /// The official definition of the example.
    pub(crate) schema: &'static str,
    pub(crate) revision: Revision,
    pub(crate) example: fn() -> Value,
    /// Whether a changed value differs for this reason: the official definition, the place and the revision.
    matches: fn(&str, &str, Revision) -> bool,
}

/// Official definitions that are not compared, and the reason.
pub(crate) const NOT_COMPARED: &[(&[&str], &str)] = &[
    (
        &[
            "JSONRPCMessage",
            "JSONRPCResponse",
            "JSONRPCBatchRequest",
            "JSONRPCBatchResponse",
            "ClientRequest",
            "ClientNotification",
            "ClientResult",
            "ServerRequest",
            "ServerNotification",
            "ServerResult",
            "Request",
            "Notification",
            "PaginatedRequest",
        ],
        "a union or a base of messages that are compared one by one",
    ),
    (
        &[
            "CallToolResultResponse",
            "CompleteResultResponse",
            "DiscoverResultResponse",
            "GetPromptResultResponse",
            "ListPromptsResultResponse",
            "ListResourceTemplatesResultResponse",
            "ListResourcesResultResponse",
            "ListToolsResultResponse",
            "ReadResourceResultResponse",
            "SubscriptionsListenResultResponse",
        ],
        "an envelope and a result, which are compared",
    ),
    (
        &[
            "BaseMetadata",
            "Icons",
            "PaginatedResult",
            "CacheableResult",
            "InputResponseRequestParams",
            "Annotated",
            "TaskAugmentedRequestParams",
        ],
        "a base of definitions that are compared",
    ),
    (
        &[
            "EmptyResult",
            "GetTaskPayloadResult",
            "CancelTaskResult",
            "SubscribeRequestParams",
            "UnsubscribeRequestParams",
        ],
        "the same as another definition",
    ),
    (
        &[
            "Cursor",
            "LoggingLevel",
            "ProgressToken",
            "RequestId",
            "ResultType",
            "Role",
            "TaskStatus",
            "JSONArray",
            "JSONObject",
            "JSONValue",
            "MetaObject",
        ],
        "a simple type, which is compared as a member of others",
    ),
    (
        &[
            "HeaderMismatchError",
            "InternalError",
            "InvalidParamsError",
            "InvalidRequestError",
            "MethodNotFoundError",
            "ParseError",
            "MissingRequiredClientCapabilityError",
            "UnsupportedProtocolVersionError",
            "URLElicitationRequiredError",
        ],
        "an error with one code; JSONRPCErrorResponse and Error are compared",
    ),
    (
        &[
            "EnumSchema",
            "SingleSelectEnumSchema",
            "UntitledSingleSelectEnumSchema",
            "UntitledMultiSelectEnumSchema",
            "TitledMultiSelectEnumSchema",
        ],
        "an alternative of PrimitiveSchemaDefinition, which is compared",
    ),
    (&["InputRequests", "InputResponses"], "objects of InputRequest and InputResponse, which are compared"),
    (&["RelatedTaskMetadata"], "no other definition refers to it"),
];

pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "the id of an error is null or missing if the request could not be read (JSON-RPC 2.0, \"Response object\"; \
                 2025-03-26, basic/transports#sending-messages-to-the-server)",
        accepted: true,
        schema: "JSONRPCErrorResponse",
        revision: Revision::V2026_07_28,
        example: || json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "m" } }),
        matches: |schema, place, _| {
            matches!(schema, "JSONRPCErrorResponse" | "JSONRPCError") && matches!(place, "" | "/id")
        },
    },
    Difference {
        reason: "a subschema may be a boolean (JSON Schema, \"JSON Schema Documents\")",
        accepted: true,
        schema: "Tool",
        revision: Revision::V2025_11_25,
        example: || json!({ "name": "a", "inputSchema": { "type": "object", "properties": { "x": true } } }),
        matches: |_, place, _| place.contains("Schema/properties/"),
    },
    Difference {
        reason: "a completion has at most 100 values in all revisions (server/utilities/completion#completion-results)",
        accepted: false,
        schema: "CompleteResult",
        revision: Revision::V2024_11_05,
        example: || json!({ "completion": { "values": vec!["a"; 101] } }),
        matches: |schema, place, _| schema == "CompleteResult" && place == "/completion/values",
    },
    Difference {
        reason: "a result that needs input has the type `input_required` (2026-07-28, basic/index#resulttype)",
        accepted: false,
        schema: "InputRequiredResult",
        revision: Revision::V2026_07_28,
        example: || json!({ "resultType": "complete" }),
        matches: |schema, place, _| schema == "InputRequiredResult" && place == "/resultType",
    },
    Difference {
        reason: "an enum is an array of strings: the schema takes every string field for one without an enum, too",
        accepted: false,
        schema: "PrimitiveSchemaDefinition",
        revision: Revision::V2025_11_25,
        example: || json!({ "type": "string", "enum": 7 }),
        matches: |_, place, _| ["/enum", "/oneOf", "/enumNames"].iter().any(|member| place.contains(member)),
    },
    Difference {
        reason: "a number of a form may be a fraction (client/elicitation#requested-schema has the type `number`)",
        accepted: true,
        schema: "ElicitResult",
        revision: Revision::V2025_11_25,
        example: || json!({ "action": "accept", "content": { "a": 1.5 } }),
        matches: |schema, place, _| matches!(schema, "ElicitResult" | "InputResponse") && place.contains("/content/"),
    },
    Difference {
        reason: "a JSON value may be null or a fraction, which the generated schema leaves out",
        accepted: true,
        schema: "ServerCapabilities",
        revision: Revision::V2026_07_28,
        example: || json!({ "logging": { "a": null } }),
        matches: |_, place, revision| revision.is_modern() && place.contains("/extra"),
    },
    Difference {
        reason: "contents are text or a blob, not both (server/resources#resource-contents)",
        accepted: false,
        schema: "ReadResourceResult",
        revision: Revision::V2025_11_25,
        example: || json!({ "contents": [{ "uri": "a:1", "text": "t", "blob": "aGk=" }] }),
        matches: |_, _, _| false,
    },
    Difference {
        reason: "characters beyond ASCII are in use in URIs (RFC 3987)",
        accepted: true,
        schema: "Root",
        revision: Revision::V2025_11_25,
        example: || json!({ "uri": "file:///<a>" }),
        matches: |_, _, _| false,
    },
];

/// Whether a difference at this place is listed.
pub(crate) fn is_listed(revision: Revision, schema: &str, place: &str, accepted: bool) -> bool {
    let mut candidates = DIFFERENCES.iter().filter(|difference| difference.accepted == accepted);
    candidates.any(|difference| (difference.matches)(schema, place, revision))
}
