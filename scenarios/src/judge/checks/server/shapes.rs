//! The shapes of messages: one check per kind of message or part. The shapes are data, in `scenarios/shapes/`. A message is
//! compared with the shapes of the revision in which it was sent, and a fault is reported by one check.

use crate::judge::check::{Check, Rule, Scope};

/// A check of definitions in `scenarios/shapes/`.
const fn shape(
    id: &'static str,
    requirement: &'static str,
    definitions: &'static [&'static str],
    expected: &'static str,
) -> Check {
    Check { id, requirement, scope: Scope::Always, expected, rule: Rule::Shape(definitions) }
}

pub(super) const CHECKS: &[Check] = &[
    // Messages.
    shape(
        "shape-request",
        "shapes/request",
        &["request", "request-params", "request-meta", "paginated-params", "task-params"],
        "a request of the server has an id, a method and parameters of their types",
    ),
    shape(
        "shape-notification",
        "shapes/notification",
        &["notification"],
        "a notification has a method, and its parameters are an object",
    ),
    shape(
        "shape-notification-meta",
        "shapes/notification-meta",
        &["notification-meta"],
        "the id of a subscription is a string or an integer",
    ),
    shape(
        "shape-response",
        "shapes/response",
        &["result-response"],
        "a response has an id that is a string or an integer",
    ),
    shape(
        "shape-error",
        "shapes/error",
        &["error-response", "error", "client-capabilities"],
        "an error has an integer code, a message, and the data that its code requires",
    ),
    shape("shape-result", "shapes/result", &["result"], "a result is an object with the members that all results have"),
    shape(
        "shape-result-meta",
        "shapes/result-meta",
        &["result-meta"],
        "the metadata of a result has the defined types",
    ),
    // Initialization and discovery.
    shape(
        "shape-initialize-result",
        "shapes/initialize-result",
        &["initialize-result"],
        "the result of `initialize` has protocolVersion, capabilities and serverInfo",
    ),
    shape(
        "shape-discover-result",
        "shapes/discover-result",
        &["discover-result"],
        "the result of `server/discover` has supportedVersions, capabilities and its other members",
    ),
    shape(
        "shape-implementation",
        "shapes/implementation",
        &["implementation"],
        "serverInfo has a name and a version, and its other members have their types",
    ),
    shape(
        "shape-server-capabilities",
        "shapes/server-capabilities",
        &["server-capabilities"],
        "every capability is an object, and its flags are booleans",
    ),
    // Tools.
    shape(
        "shape-list-tools-result",
        "shapes/list-tools-result",
        &["list-tools-result"],
        "the result of `tools/list` has an array of tools, and its cursor is a string",
    ),
    shape(
        "shape-tool",
        "shapes/tool",
        &["tool"],
        "every tool has a name and an inputSchema, and its other members have their types",
    ),
    shape(
        "shape-tool-input-schema",
        "shapes/tool-input-schema",
        &["tool-input-schema"],
        "every inputSchema has the type \"object\", and its keywords have their types",
    ),
    shape(
        "shape-tool-output-schema",
        "shapes/tool-output-schema",
        &["tool-output-schema"],
        "every outputSchema is an object, until 2025-11-25 of the type \"object\"",
    ),
    shape(
        "shape-tool-annotations",
        "shapes/tool-annotations",
        &["tool-annotations"],
        "hints are booleans, and the title is a string",
    ),
    shape(
        "shape-tool-execution",
        "shapes/tool-execution",
        &["tool-execution"],
        "taskSupport is \"forbidden\", \"optional\" or \"required\"",
    ),
    shape(
        "shape-call-tool-result",
        "shapes/call-tool-result",
        &["call-tool-result"],
        "the result of a call has an array of content, isError is a boolean, and structuredContent has its type",
    ),
    // Content.
    shape("shape-content-block", "shapes/content-block", &["content-block"], "every content has a known type"),
    shape("shape-text-content", "shapes/text-content", &["text-content"], "text content has a text"),
    shape(
        "shape-image-content",
        "shapes/image-content",
        &["image-content"],
        "image content has base64 data and a mimeType",
    ),
    shape(
        "shape-audio-content",
        "shapes/audio-content",
        &["audio-content"],
        "audio content has base64 data and a mimeType",
    ),
    shape(
        "shape-resource-link",
        "shapes/resource-link",
        &["resource-link"],
        "a resource link has a uri and a name, and its other members have their types",
    ),
    shape(
        "shape-embedded-resource",
        "shapes/embedded-resource",
        &["embedded-resource"],
        "an embedded resource has a resource",
    ),
    shape(
        "shape-annotations",
        "shapes/annotations",
        &["annotations"],
        "audience has roles, and priority is a number from 0 to 1",
    ),
    shape("shape-icon", "shapes/icon", &["icon"], "an icon has a src, and its other members have their types"),
    // Resources.
    shape(
        "shape-list-resources-result",
        "shapes/list-resources-result",
        &["list-resources-result"],
        "the result of `resources/list` has an array of resources, and its cursor is a string",
    ),
    shape(
        "shape-resource",
        "shapes/resource",
        &["resource"],
        "every resource has a uri and a name, and its other members have their types",
    ),
    shape(
        "shape-list-resource-templates-result",
        "shapes/list-resource-templates-result",
        &["list-resource-templates-result"],
        "the result of `resources/templates/list` has an array of templates, and its cursor is a string",
    ),
    shape(
        "shape-resource-template",
        "shapes/resource-template",
        &["resource-template"],
        "every template has a uriTemplate and a name, and its other members have their types",
    ),
    shape(
        "shape-read-resource-result",
        "shapes/read-resource-result",
        &["read-resource-result"],
        "the result of `resources/read` has an array of contents",
    ),
    shape(
        "shape-resource-contents",
        "shapes/resource-contents",
        &["resource-contents"],
        "contents have a uri, and either text or a base64 blob",
    ),
    // Prompts and completion.
    shape(
        "shape-list-prompts-result",
        "shapes/list-prompts-result",
        &["list-prompts-result"],
        "the result of `prompts/list` has an array of prompts, and its cursor is a string",
    ),
    shape(
        "shape-prompt",
        "shapes/prompt",
        &["prompt"],
        "every prompt has a name, and its other members have their types",
    ),
    shape(
        "shape-prompt-argument",
        "shapes/prompt-argument",
        &["prompt-argument"],
        "every argument of a prompt has a name, and `required` is a boolean",
    ),
    shape(
        "shape-get-prompt-result",
        "shapes/get-prompt-result",
        &["get-prompt-result"],
        "the result of `prompts/get` has an array of messages",
    ),
    shape(
        "shape-prompt-message",
        "shapes/prompt-message",
        &["prompt-message"],
        "every message of a prompt has a role and content",
    ),
    shape(
        "shape-completion-result",
        "shapes/completion-result",
        &["completion-result"],
        "the result of a completion has at most 100 values, and total and hasMore have their types",
    ),
    // Notifications.
    shape(
        "shape-progress-notification",
        "shapes/progress-notification",
        &["progress-params"],
        "progress has the token and a number, total is a number, and message is a string",
    ),
    shape(
        "shape-log-notification",
        "shapes/log-notification",
        &["log-params"],
        "a log message has a known level and data, and its logger is a string",
    ),
    shape(
        "shape-cancelled-notification",
        "shapes/cancelled-notification",
        &["cancelled-params"],
        "a cancellation has the id of a request, and its reason is a string",
    ),
    shape(
        "shape-list-changed-notification",
        "shapes/list-changed-notification",
        &["list-changed-params"],
        "the parameters of a notification about a changed list are an object with metadata of its type",
    ),
    shape(
        "shape-resource-updated-notification",
        "shapes/resource-updated-notification",
        &["resource-updated-params"],
        "a notification about an updated resource has its uri",
    ),
    shape(
        "shape-elicitation-complete-notification",
        "shapes/elicitation-complete-notification",
        &["elicitation-complete-params"],
        "a completed elicitation has its elicitationId",
    ),
    shape(
        "shape-task-status-notification",
        "shapes/task-status-notification",
        &["task-status-params"],
        "a notification about a task has the members of the task",
    ),
    // Subscriptions and input requests.
    shape(
        "shape-subscription-acknowledgement",
        "shapes/subscription-acknowledgement",
        &["acknowledged-params"],
        "an acknowledgement has the accepted filter",
    ),
    shape(
        "shape-subscription-result",
        "shapes/subscription-result",
        &["listen-result"],
        "the result of a subscription has its id in the metadata",
    ),
    shape(
        "shape-input-required-result",
        "shapes/input-required-result",
        &["input-required-result"],
        "inputRequests is an object, and requestState is a string",
    ),
    shape(
        "shape-input-request",
        "shapes/input-request",
        &["input-request"],
        "an input request has a known method and its parameters",
    ),
    // Requests of the server.
    shape(
        "shape-sampling-request",
        "shapes/sampling-request",
        &["create-message-params"],
        "a sampling request has messages and maxTokens, and its other members have their types",
    ),
    shape(
        "shape-sampling-message",
        "shapes/sampling-message",
        &["sampling-message", "sampling-content"],
        "a sampling message has a role and content of a known type",
    ),
    shape(
        "shape-tool-use-content",
        "shapes/tool-use-content",
        &["tool-use-content"],
        "a tool use has an id, a name and an input",
    ),
    shape(
        "shape-tool-result-content",
        "shapes/tool-result-content",
        &["tool-result-content"],
        "a tool result has the id of its tool use and content",
    ),
    shape(
        "shape-elicitation-form",
        "shapes/elicitation-form",
        &["elicit-form-params"],
        "a form has a message and a requestedSchema",
    ),
    shape(
        "shape-elicitation-schema",
        "shapes/elicitation-schema",
        &["elicitation-schema"],
        "a form has fields of the defined types",
    ),
    shape(
        "shape-elicitation-url",
        "shapes/elicitation-url",
        &["elicit-url-params"],
        "an elicitation by URL has a message, a URL and, in 2025-11-25, an elicitationId",
    ),
    shape(
        "shape-roots-request",
        "shapes/roots-request",
        &["roots-params"],
        "the parameters of `roots/list` are an object with metadata of its type",
    ),
    // Tasks.
    shape(
        "shape-task",
        "shapes/task",
        &["task"],
        "a task has an id, a known status, two timestamps and a ttl, and its other members have their types",
    ),
    shape(
        "shape-task-result",
        "shapes/task-result",
        &["task-result", "create-task-result"],
        "the result of `tasks/get`, `tasks/cancel` or a call with a task has the members of the task",
    ),
    shape(
        "shape-list-tasks-result",
        "shapes/list-tasks-result",
        &["list-tasks-result"],
        "the result of `tasks/list` has an array of tasks, and its cursor is a string",
    ),
];
