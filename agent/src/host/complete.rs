//! Completion of texts of the user: names of prompts, values of their arguments, and mentions.

use serde_json::{Map, Value, json};

use super::Host;
use crate::{lists::RequestError, mentions, prompts};

/// Maximum number of completions.
const MAX_COMPLETIONS: usize = 50;

impl Host {
    /// Completions of the last word of a text. After the name of a prompt, its server completes the value of the argument.
    ///
    /// # Errors
    /// If the server cannot be used or the request fails.
    pub async fn complete(&self, text: &str) -> Result<Vec<String>, RequestError> {
        let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        if word.starts_with('@') {
            return mentions::completions(word, &self.inner.resources).await;
        }
        let Some(command) = text.trim_start().strip_prefix('/') else { return Ok(Vec::new()) };
        let mut table = self.inner.prompts.all().await;
        let Some((name, rest)) = command.split_once(char::is_whitespace) else {
            let fitting = table.commands.into_keys().filter(|name| name.starts_with(command));
            return Ok(fitting.take(MAX_COMPLETIONS).map(|name| format!("/{name}")).collect());
        };
        let Some(prompt) = table.commands.remove(name) else { return Ok(Vec::new()) };
        // An open quote has no complete value.
        let Ok(mut values) = prompts::values(rest) else { return Ok(Vec::new()) };
        let begun = if rest.is_empty() || rest.ends_with(char::is_whitespace) {
            String::new()
        } else {
            values.pop().unwrap_or_default()
        };
        let arguments: Vec<&str> = prompt.arguments().map(|(argument, _)| argument).collect();
        let Some(argument) = arguments.get(values.len()) else { return Ok(Vec::new()) };
        let known: Map<String, Value> = arguments
            .iter()
            .zip(values.iter())
            .map(|(name, value)| ((*name).to_owned(), value.as_str().into()))
            .collect();
        let connection = self.connection(&prompt.server).await?;
        // Without the capability, the server would reject the request (2025-11-25, completion, "Capabilities").
        let declared =
            connection.greeting().is_some_and(|greeting| greeting["capabilities"].get("completions").is_some());
        if !declared {
            return Ok(Vec::new());
        }
        let reference = json!({ "type": "ref/prompt", "name": prompt.name() });
        let result = connection.complete(reference, argument, &begun, known).await?;
        let values = result.get("completion").and_then(|completion| completion.get("values")?.as_array().cloned());
        let texts = values.unwrap_or_default().into_iter().filter_map(|value| value.as_str().map(str::to_owned));
        Ok(texts.take(MAX_COMPLETIONS).collect())
    }
}
