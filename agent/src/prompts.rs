//! Prompts of servers as commands of a chat: `/mcp__server__prompt a b`.
//!
//! The names are those of tools ([`client::names`]), looked up and never split. Values follow in the order of the prompt's
//! arguments, apart by blanks; one with blanks stands in quotes, and the last argument takes what is left.

mod command;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use client::{Manager, Naming, qualified_name};
use futures::future::join_all;
use serde_json::{Map, Value};

pub use self::command::{CommandError, values};
use crate::lists::{AskError, Kind, Lists};

/// The prompts of the servers of a manager. Lists are read when they are wanted, and kept until their server says that they
/// have changed.
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
    /// Everything that the server says of it.
    pub wire: Value,
}

impl Prompt {
    /// The name that the server knows it by.
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
    /// By the name of their command, without the slash.
    pub commands: BTreeMap<String, Prompt>,
    /// The servers whose lists could not be read, and why.
    pub missing: BTreeMap<String, AskError>,
}

/// Why a command of a chat was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The text is no such command, or its values do not fit.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The server was asked.
    #[error(transparent)]
    Ask(#[from] AskError),
}

impl Prompts {
    /// Those of these servers, as commands with such names.
    #[must_use]
    pub fn new(manager: Manager, naming: impl Into<Naming>) -> Self {
        Self { lists: Lists::new(manager), naming: naming.into() }
    }

    /// The prompts of all servers. None keeps the others waiting for longer than ten
    /// seconds; of two prompts of one server with one name the first counts.
    pub async fn all(&self) -> Table {
        let servers = self.lists.servers();
        let asked = join_all(servers.iter().map(|server| self.lists.get_in_time(server, Kind::Prompts))).await;
        let mut table = Table::default();
        for (server, list) in servers.into_iter().zip(asked) {
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

    /// Carries out what a person typed: the result of `prompts/get`, as it came, and the prompt that it is of.
    ///
    /// # Errors
    /// If the text is no command of a prompt, its values do not fit, or the server refuses.
    pub async fn run(&self, typed: &str) -> Result<(Prompt, Map<String, Value>), PromptError> {
        let (name, rest) = command::split(typed)?;
        let mut table = self.all().await;
        let Some(prompt) = table.commands.remove(name) else {
            return Err(command::unknown(name, table.commands.keys()).into());
        };
        let arguments = command::arguments(&prompt, name, values(rest)?)?;
        let connection = self.lists.connection(&prompt.server).await.map_err(AskError::from)?;
        let filled = connection.get_prompt(prompt.name(), arguments).await.map_err(AskError::from)?;
        Ok((prompt, filled))
    }
}
