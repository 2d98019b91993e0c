//! Prompts of servers as slash commands: `/mcp__server__prompt a b`.
//!
//! Names are qualified like those of tools ([`client::names`]); they are looked up, never split. Values follow in the order of
//! the prompt's arguments, separated by whitespace. Quotes enclose values with whitespace. The last argument takes the rest.

mod command;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use client::{Manager, Naming, may_belong_to, qualified_name};
use futures::future::join_all;
use serde_json::{Map, Value};

pub use self::command::{CommandError, values};
use crate::lists::{Kind, Lists, RequestError};

/// The prompts of a manager's servers. Lists are fetched on demand and cached until a `list_changed` notification.
#[derive(Debug)]
pub struct Prompts {
    lists: Lists,
    naming: Naming,
}

/// A prompt that a server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Its server.
    pub server: String,
    /// The definition from the server.
    pub wire: Value,
}

impl Prompt {
    /// The name on the server.
    #[must_use]
    pub fn name(&self) -> &str {
        self.wire.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Its arguments, and whether each is required.
    pub fn arguments(&self) -> impl Iterator<Item = (&str, bool)> {
        let arguments = self.wire.get("arguments").and_then(Value::as_array).into_iter().flatten();
        arguments.filter_map(|argument| {
            let required = argument.get("required").and_then(Value::as_bool).unwrap_or(false);
            Some((argument.get("name")?.as_str()?, required))
        })
    }
}

/// The prompts of all servers.
#[derive(Debug, Default)]
pub struct Table {
    /// By command name, without the slash.
    pub commands: BTreeMap<String, Prompt>,
    /// Servers whose lists could not be fetched.
    pub missing: BTreeMap<String, RequestError>,
}

/// Why a slash command failed.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The command is unknown, or its values are invalid.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl Prompts {
    /// Prompts of this manager's servers, as commands named by `naming`.
    #[must_use]
    pub fn new(manager: Manager, naming: impl Into<Naming>) -> Self {
        Self { lists: Lists::new(manager), naming: naming.into() }
    }

    /// The prompts of all servers, with a timeout of ten seconds per server. If a server lists a name twice, the first wins.
    pub async fn all(&self) -> Table {
        let servers = self.lists.servers();
        let lists = join_all(servers.iter().map(|server| self.lists.get_with_timeout(server, Kind::Prompts))).await;
        let mut table = Table::default();
        for (server, list) in servers.into_iter().zip(lists) {
            match list {
                Ok(list) => {
                    for wire in list.iter() {
                        let prompt = Prompt { server: server.clone(), wire: wire.clone() };
                        let name = qualified_name(&server, prompt.name(), self.naming);
                        table.commands.entry(name).or_insert(prompt);
                    }
                }
                Err(error) => drop(table.missing.insert(server, error)),
            }
        }
        table
    }

    /// Runs a command: returns the prompt and the result of `prompts/get`.
    ///
    /// # Errors
    /// If the command is unknown, its values are invalid, or the request fails.
    pub async fn run(&self, typed: &str) -> Result<(Prompt, Map<String, Value>), PromptError> {
        let (name, rest) = command::split(typed)?;
        let mut table = self.all().await;
        let Some(prompt) = table.commands.remove(name) else {
            let server = table.missing.keys().find(|server| may_belong_to(name, server, self.naming)).cloned();
            if let Some(error) = server.and_then(|server| table.missing.remove(&server)) {
                return Err(error.into());
            }
            return Err(command::unknown_command(name, table.commands.keys()).into());
        };
        let arguments = command::arguments(&prompt, name, values(rest)?)?;
        let connection = self.lists.connection(&prompt.server).await.map_err(RequestError::from)?;
        let result = connection.get_prompt(prompt.name(), arguments).await.map_err(RequestError::from)?;
        Ok((prompt, result))
    }
}
