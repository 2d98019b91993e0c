//! `client logout` and `client clear`: revoke and delete stored credentials.

use std::{process::ExitCode, sync::Arc};

use client::auth::{AuthSettings, LoggedOut, Revocation, credentials::CredentialKey, store::CredentialStore};
use futures::future::join_all;
use serde_json::{Value, json};
use url::Url;

use super::{
    access, config,
    error::{ClientCommandError, settle},
};
use crate::{
    error::{CommandError, CommandResult},
    interrupt, print,
};

/// The arguments of `client clear`.
#[derive(Debug, clap::Args)]
pub(crate) struct ClearArgs {
    /// Print JSON, including errors.
    #[arg(long)]
    json: bool,
}

/// Deletes the credentials of a server, even if they cannot be read or revoked.
pub(crate) fn run(args: &config::LoginServerArgs) -> CommandResult {
    settle(interrupt::runtime()?.block_on(log_out(args)), args.json)
}

async fn log_out(args: &config::LoginServerArgs) -> Result<ExitCode, ClientCommandError> {
    let url = config::url(&args.server).map_or_else(|| config::server_url(&args.files, &args.server), Ok)?;
    let key = CredentialKey::from_url(&url);
    let url = key.url.clone();
    let left = revoke(key, access::store()?).await?;
    if args.json {
        print::json(&as_json(&url, &left))?;
    } else {
        print::text(&describe(&url, &left))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Deletes all readable credentials, and reports the others.
pub(crate) fn clear(args: &ClearArgs) -> CommandResult {
    settle(interrupt::runtime()?.block_on(clear_all(args)), args.json)
}

async fn clear_all(args: &ClearArgs) -> Result<ExitCode, ClientCommandError> {
    let store = access::store()?;
    let listing = store.list().await?;
    // Concurrently, so that the slowest authorization server determines the time.
    let (secrets, keys): (Vec<_>, Vec<_>) = listing.keys.iter().partition(|key| key.is_client_secret());
    let left = join_all(keys.iter().map(|key| revoke((*key).clone(), store.clone()))).await;
    for key in &secrets {
        store.remove(key).await?;
        if !args.json {
            print::text(&format!("deleted the secret of the client for {}", key.url))?;
        }
    }
    let mut entries = Vec::new();
    for (key, left) in keys.iter().zip(left) {
        let left = left?;
        match args.json {
            true => entries.push(as_json(&key.url, &left)),
            false => print::text(&describe(&key.url, &left))?,
        }
    }
    if args.json {
        print::json(&json!({ "servers": entries, "broken": access::broken(&listing) }))?;
    } else if listing.keys.is_empty() {
        print::text("no stored credentials")?;
    }
    access::broken_entries_result(listing, args.json)
}

async fn revoke(key: CredentialKey, store: Arc<dyn CredentialStore>) -> Result<LoggedOut, ClientCommandError> {
    let url = Url::parse(&key.url).map_err(|cause| ClientCommandError::input("invalid-url", cause.into()))?;
    Ok(access::authorizer(&url, key, AuthSettings::default(), store, None).logout().await?)
}

fn as_json(url: &str, left: &LoggedOut) -> Value {
    let mut entry =
        json!({ "url": url, "removed": left.removed, "revoked": matches!(left.revocation, Revocation::Done) });
    if let Revocation::Failed(error) = &left.revocation {
        entry["problem"] = CommandError::environment(error.clone()).message().into();
    }
    entry
}

fn describe(url: &str, left: &LoggedOut) -> String {
    if !left.removed {
        return format!("no stored credentials for {url}");
    }
    let revoked = match &left.revocation {
        Revocation::Done => "and the authorization server revoked them".to_owned(),
        Revocation::NotOffered => "the authorization server does not support revocation".to_owned(),
        Revocation::Nothing => "they were unreadable, so they could not be revoked".to_owned(),
        Revocation::Failed(error) => {
            format!("revocation failed ({})", CommandError::environment(error.clone()).message())
        }
    };
    format!("deleted the credentials for {url}, {revoked}")
}
