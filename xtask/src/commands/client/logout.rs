//! `client logout` and `client clear`: what is kept is forgotten, and given back to the authorization server.

use std::{process::ExitCode, sync::Arc};

use client::auth::{AuthSettings, LoggedOut, Revocation, credentials::CredentialKey, store::CredentialStore};
use futures::future::join_all;
use serde_json::{Value, json};
use url::Url;

use super::{
    access, config, say,
    trouble::{Trouble, settle},
};
use crate::{
    failure::{CommandResult, Failure},
    interrupt,
};

/// The arguments of `client logout`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The URL of the server, or its name in the configuration.
    #[arg(value_name = "URL|NAME")]
    server: String,
    #[command(flatten)]
    files: config::Files,
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// The arguments of `client clear`.
#[derive(Debug, clap::Args)]
pub(crate) struct ClearArgs {
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// Forgets one server, also where what is kept for it cannot be read, and whatever its authorization server says.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(interrupt::runtime()?.block_on(forget(args)), args.json)
}

async fn forget(args: &Args) -> Result<ExitCode, Trouble> {
    let url = config::url(&args.server).map_or_else(|| config::place(&args.files, &args.server), Ok)?;
    let key = CredentialKey::of_url(&url);
    let url = key.url.clone();
    let left = leave(key, access::store()?).await?;
    if args.json {
        say::json(&as_json(&url, &left))?;
    } else {
        say::text(&in_words(&url, &left))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Forgets every server whose entry can be read, and tells of the others.
pub(crate) fn clear(args: &ClearArgs) -> CommandResult {
    settle(interrupt::runtime()?.block_on(clear_all(args)), args.json)
}

async fn clear_all(args: &ClearArgs) -> Result<ExitCode, Trouble> {
    let store = access::store()?;
    let listing = store.list().await?;
    // They are asked at the same time: one that does not answer costs no more than its own time.
    let left = join_all(listing.keys.iter().map(|key| leave(key.clone(), store.clone()))).await;
    let mut told = Vec::new();
    for (key, left) in listing.keys.iter().zip(left) {
        let left = left?;
        match args.json {
            true => told.push(as_json(&key.url, &left)),
            false => say::text(&in_words(&key.url, &left))?,
        }
    }
    if args.json {
        say::json(&json!({ "servers": told, "broken": access::broken(&listing) }))?;
    } else if listing.keys.is_empty() {
        say::text("there were no credentials")?;
    }
    access::told_of(listing, args.json)
}

async fn leave(key: CredentialKey, store: Arc<dyn CredentialStore>) -> Result<LoggedOut, Trouble> {
    let url = Url::parse(&key.url).map_err(|cause| Trouble::input("invalid-url", cause.into()))?;
    Ok(access::authorizer(&url, key, AuthSettings::default(), store, None)?.logout().await?)
}

fn as_json(url: &str, left: &LoggedOut) -> Value {
    let mut told =
        json!({ "url": url, "removed": left.removed, "revoked": matches!(left.revocation, Revocation::Done) });
    if let Revocation::Failed(error) = &left.revocation {
        told["problem"] = Failure::environment(error.clone()).message().into();
    }
    told
}

fn in_words(url: &str, left: &LoggedOut) -> String {
    if !left.removed {
        return format!("there were no credentials for {url}");
    }
    let revoked = match &left.revocation {
        Revocation::Done => "and the authorization server has revoked them".to_owned(),
        Revocation::NotOffered => "which the authorization server offers no way to revoke".to_owned(),
        Revocation::Nothing => "which could not be read, and so not be revoked".to_owned(),
        Revocation::Failed(error) => {
            format!("which could not be revoked ({})", Failure::environment(error.clone()).message())
        }
    };
    format!("forgot the credentials for {url}, {revoked}")
}
