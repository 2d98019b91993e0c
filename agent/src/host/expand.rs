//! Texts of the user: prompts as commands (`/mcp__server__prompt a "b c"`), and mentioned resources (`@server:uri`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Host;
use crate::{
    filter::{ContentPart, ModelContent, blocks_for_model},
    mentions,
    prompts::PromptError,
};

/// An expanded text, for the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expansion {
    /// The messages of the prompt, or the text itself as a message of the user.
    pub messages: Vec<Message>,
    /// The mentioned resources, each once.
    pub mentions: Vec<MentionedContent>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// `user` or `assistant`.
    pub role: String,
    /// Its content, filtered and limited like the result of a tool.
    pub content: ModelContent,
}

/// A mentioned resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MentionedContent {
    /// The server.
    pub server: String,
    /// The URI.
    pub uri: String,
    /// Its content, filtered and limited.
    pub content: ModelContent,
    /// Why it could not be read.
    pub error: Option<String>,
}

/// Why a text cannot be expanded.
#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    /// The command is unknown or invalid, or its request failed.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl Host {
    /// Expands a text: runs it if it is a command, and reads the resources that it mentions. A resource that cannot be read
    /// does not fail the others.
    ///
    /// # Errors
    /// If the text is a command and fails.
    pub async fn expand(&self, text: &str) -> Result<Expansion, ExpandError> {
        if text.trim_start().starts_with('/') {
            let (_, result) = self.inner.prompts.run(text).await?;
            return Ok(Expansion { messages: self.messages(&result).await, mentions: Vec::new() });
        }
        let content = ModelContent { parts: vec![ContentPart::Text { text: text.to_owned() }], is_error: false };
        let messages = vec![Message { role: "user".to_owned(), content }];
        let mut mentioned = Vec::new();
        for resource in mentions::read(text, &self.inner.resources).await {
            let (content, error) = match &resource.contents {
                Ok(contents) => (self.resource(contents).await, None),
                Err(error) => (ModelContent::default(), Some(error.to_string())),
            };
            mentioned.push(MentionedContent { server: resource.server, uri: resource.uri, content, error });
        }
        Ok(Expansion { messages, mentions: mentioned })
    }

    async fn messages(&self, result: &Map<String, Value>) -> Vec<Message> {
        let mut messages = Vec::new();
        for message in result.get("messages").and_then(Value::as_array).into_iter().flatten() {
            let role = message.get("role").and_then(Value::as_str).unwrap_or("user").to_owned();
            // A few servers send an array of blocks.
            let blocks = match message.get("content") {
                Some(Value::Array(blocks)) => blocks.clone(),
                Some(block) => vec![block.clone()],
                None => Vec::new(),
            };
            messages.push(Message { role, content: self.content(&blocks).await });
        }
        messages
    }

    /// The content of a `resources/read` result.
    async fn resource(&self, result: &Map<String, Value>) -> ModelContent {
        let contents = result.get("contents").and_then(Value::as_array).into_iter().flatten();
        let block = |contents: &Value| serde_json::json!({ "type": "resource", "resource": contents });
        self.content(&contents.map(block).collect::<Vec<_>>()).await
    }

    async fn content(&self, blocks: &[Value]) -> ModelContent {
        self.limit(blocks_for_model(blocks, None, false, self.inner.options.capabilities)).await.0
    }
}
