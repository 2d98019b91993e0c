//! Resources and prompts in the words of a test.

use crate::script::{
    Content, Prompt, PromptArgument, PromptMessage, Resource, ResourcePart, ResourceTemplate, Role, TextBlock,
};

impl Resource {
    /// A resource of this URI, which holds its URI as text.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }

    /// The same with this text in it, after what is there.
    #[must_use]
    pub fn holds(mut self, text: impl Into<String>) -> Self {
        self.contents.push(part(text));
        self
    }

    /// The same of this media type.
    #[must_use]
    pub fn typed(self, mime_type: impl Into<String>) -> Self {
        Self { mime_type: Some(mime_type.into()), ..self }
    }
}

impl ResourceTemplate {
    /// Resources of this template (RFC 6570), each of which holds its URI as text.
    pub fn new(uri_template: impl Into<String>) -> Self {
        Self { uri_template: uri_template.into(), ..Self::default() }
    }

    /// The same with this text in each; `{{variables.name}}` stands for what the template's `{name}` was.
    #[must_use]
    pub fn holds(mut self, text: impl Into<String>) -> Self {
        self.contents.push(part(text));
        self
    }
}

impl Prompt {
    /// A prompt of this name, which says its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with an argument that every request has to carry.
    #[must_use]
    pub fn takes(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(PromptArgument { name: argument.into(), required: true, ..PromptArgument::default() });
        self
    }

    /// The same with this message of the user; `{{arguments.name}}` stands for an argument.
    #[must_use]
    pub fn says(self, text: impl Into<String>) -> Self {
        self.message(Role::User, text)
    }

    /// The same with this message of the model.
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
