//! Builder methods of resources and prompts.

use crate::script::{
    Content, Prompt, PromptArgument, PromptMessage, Resource, ResourcePart, ResourceTemplate, Role, TextBlock,
};

impl Resource {
    /// A resource with this URI, and the URI as its text.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }

    /// The same with this text added.
    #[must_use]
    pub fn holds(mut self, text: impl Into<String>) -> Self {
        self.contents.push(part(text));
        self
    }

    /// The same with this media type.
    #[must_use]
    pub fn typed(self, mime_type: impl Into<String>) -> Self {
        Self { mime_type: Some(mime_type.into()), ..self }
    }
}

impl ResourceTemplate {
    /// A resource template (RFC 6570) whose resources have their URI as text.
    pub fn new(uri_template: impl Into<String>) -> Self {
        Self { uri_template: uri_template.into(), ..Self::default() }
    }

    /// The same with this text added; `{{variables.name}}` is the value of the template's `{name}`.
    #[must_use]
    pub fn holds(mut self, text: impl Into<String>) -> Self {
        self.contents.push(part(text));
        self
    }
}

impl Prompt {
    /// A prompt with this name, and the name as its message.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with a required argument.
    #[must_use]
    pub fn takes(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(PromptArgument { name: argument.into(), required: true, ..PromptArgument::default() });
        self
    }

    /// The same with this user message; `{{arguments.name}}` is the value of an argument.
    #[must_use]
    pub fn says(self, text: impl Into<String>) -> Self {
        self.message(Role::User, text)
    }

    /// The same with this assistant message.
    #[must_use]
    pub fn answers(self, text: impl Into<String>) -> Self {
        self.message(Role::Assistant, text)
    }

    fn message(mut self, role: Role, text: impl Into<String>) -> Self {
        let content = Content::Text(TextBlock { text: text.into(), ..TextBlock::default() });
        self.messages.push(PromptMessage { role, content });
        self
    }
}

fn part(text: impl Into<String>) -> ResourcePart {
    ResourcePart { text: Some(text.into()), ..ResourcePart::default() }
}
