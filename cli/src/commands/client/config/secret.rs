//! The secret of a registered client: read from the terminal without echo, and stored with the tokens.

use std::{
    io::{BufRead as _, IsTerminal as _, stdin},
    sync::Arc,
};

use agent::config::{Configured, Settings, expand};
use anyhow::anyhow;
use client::auth::{
    credentials::{CredentialKey, Credentials, Secret},
    store::CredentialStore,
};

use crate::{
    commands::client::{access, config, error::ClientCommandError},
    error::CommandError,
    interrupt, print,
    system::HiddenInput,
};

/// A secret, and where it will be stored.
pub(super) struct ClientSecret {
    store: Arc<dyn CredentialStore>,
    key: CredentialKey,
    entry: Credentials,
}

impl ClientSecret {
    /// Reads the secret of a client. Nothing is stored yet.
    pub(super) fn read(url: &str, client_id: &str) -> Result<Self, ClientCommandError> {
        let invalid = |text: String| ClientCommandError::input("invalid-arguments", anyhow!(text));
        let expanded = expand(url, config::variable).map_err(|error| invalid(error.to_string()))?;
        // The secret belongs to one server.
        let url = config::url(&expanded).ok_or_else(|| invalid("not a URL".to_owned()))?;
        let store = access::store()?;
        let secret = line_without_echo(&format!("secret of the client {client_id}: "))?;
        if secret.is_empty() {
            return Err(invalid("the secret is empty".to_owned())
                .with_help("type it, or write it to standard input: `… --client-secret < FILE`"));
        }
        let key = CredentialKey::client_secret(&url, client_id);
        Ok(Self { store, key, entry: Credentials::for_client_secret(client_id, Secret::new(secret)) })
    }

    /// Stores it.
    pub(super) fn store(&self) -> Result<(), ClientCommandError> {
        interrupt::runtime()?.block_on(self.store.save(&self.key, &self.entry))?;
        print::note(&format!("stored the secret in {}", self.store.describe()));
        Ok(())
    }
}

/// The key of the secret of a server's registered client, if its entry names one.
pub(super) fn key(entry: &Configured, settings: &Settings) -> Option<CredentialKey> {
    let (auth, _) = entry.auth_settings(&config::variable, settings).ok()?;
    let server = entry.managed(&config::variable, settings).ok()?;
    let url = config::remote(&entry.name, &server).ok()?;
    Some(CredentialKey::client_secret(&url, &auth.client?.id))
}

/// Deletes a secret, if it is stored.
pub(super) fn remove(key: &CredentialKey) -> Result<(), ClientCommandError> {
    let store = access::store()?;
    if interrupt::runtime()?.block_on(store.remove(key))? {
        print::note(&format!("deleted the secret of its client from {}", store.describe()));
    }
    Ok(())
}

/// A line of standard input. A terminal shows the prompt and not the line.
fn line_without_echo(prompt: &str) -> Result<String, CommandError> {
    let input = stdin();
    if !input.is_terminal() {
        let mut line = String::new();
        input.lock().read_line(&mut line).map_err(CommandError::environment)?;
        return Ok(line.trim_end_matches(['\n', '\r']).to_owned());
    }
    // The echo ends before the prompt, so that an immediate answer is not shown.
    let hidden = HiddenInput::start().map_err(CommandError::environment)?;
    print::prompt(prompt);
    let line = hidden.read_line();
    drop(hidden);
    // The end of the line was not shown either.
    print::note("");
    line.map_err(CommandError::environment)
}
