//! Resources that a text mentions as `@server:uri`.
//!
//! A mention is `@`, the name of a known server, a colon and the URI up to the next whitespace. A URI with whitespace is
//! enclosed in angle brackets. The `@` must not follow a word (`me@server:x` is an address). Closing punctuation after the
//! URI does not belong to it. The `name` of a resource can replace its URI.

mod parse;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, ops::Range};

use futures::{StreamExt as _, stream};
use serde_json::{Map, Value};

pub use self::parse::{Mention, mentions};
use crate::{lists::RequestError, resources::Resources};

/// Maximum number of different resources that are read for one text.
const MAX_MENTIONS: usize = 32;
/// Maximum number of concurrent reads.
const MAX_CONCURRENT_READS: usize = 8;
/// Maximum number of completions.
const MAX_COMPLETIONS: usize = 50;

/// A resource that a text mentions, and its contents.
#[derive(Debug)]
pub struct MentionedResource {
    /// The server.
    pub server: String,
    /// The URI.
    pub uri: String,
    /// Byte ranges of the mentions in the text.
    pub ranges: Vec<Range<usize>>,
    /// The result of `resources/read`, or the error.
    pub contents: Result<Map<String, Value>, MentionError>,
}

/// Why a mentioned resource was not read.
#[derive(Debug, thiserror::Error)]
pub enum MentionError {
    /// The request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The text mentions too many resources, so no request was sent.
    #[error("the text mentions more than {MAX_MENTIONS} resources; this one was not read")]
    TooMany,
}

/// Reads the mentioned resources, each once, in the order of the text. Failures are independent of each other.
pub async fn read(text: &str, resources: &Resources) -> Vec<MentionedResource> {
    let mut ranges: BTreeMap<(String, String), Vec<Range<usize>>> = BTreeMap::new();
    for mention in mentions(text, &resources.servers()) {
        ranges.entry((mention.server, mention.uri)).or_default().push(mention.range);
    }
    let mut wanted: Vec<_> = ranges.into_iter().collect();
    wanted.sort_by_key(|(_, ranges)| ranges[0].start);
    let reading = wanted.into_iter().enumerate().map(|(number, ((server, uri), ranges))| async move {
        if number >= MAX_MENTIONS {
            return MentionedResource { server, uri, ranges, contents: Err(MentionError::TooMany) };
        }
        let uri = resolve(resources, &server, uri).await;
        let contents = resources.read(&server, &uri).await.map_err(MentionError::from);
        MentionedResource { server, uri, ranges, contents }
    });
    stream::iter(reading).buffered(MAX_CONCURRENT_READS).collect().await
}

/// The mentioned URI, or the URI of the resource with the mentioned name.
async fn resolve(resources: &Resources, server: &str, mentioned: String) -> String {
    if url::Url::parse(&mentioned).is_ok() {
        return mentioned;
    }
    // Without a list the mention is used as the URI, and the server reports the error.
    let Ok(list) = resources.list(server).await else { return mentioned };
    let field = |resource: &Value, name: &str| resource.get(name).and_then(Value::as_str).map(str::to_owned);
    if list.iter().any(|one| field(one, "uri").as_deref() == Some(&mentioned)) {
        return mentioned;
    }
    let found = list.iter().find(|one| field(one, "name").as_deref() == Some(&mentioned));
    found.and_then(|found| field(found, "uri")).unwrap_or(mentioned)
}

/// Completions of an incomplete mention: server names before the colon, then URIs of that server. Only the latter need a
/// request.
///
/// # Errors
/// If the server's list cannot be read.
pub async fn completions(prefix: &str, resources: &Resources) -> Result<Vec<String>, RequestError> {
    let prefix = prefix.strip_prefix('@').unwrap_or(prefix);
    let servers = resources.servers();
    let Some((server, beginning)) = parse::split_server(prefix, &servers) else {
        let fitting = servers.into_iter().filter(|server| server.starts_with(prefix));
        return Ok(fitting.take(MAX_COMPLETIONS).map(|server| format!("@{server}:")).collect());
    };
    let list = resources.list(server).await?;
    let beginning = beginning.to_lowercase();
    let fits = |resource: &Value| {
        let field = |name: &str| resource.get(name).and_then(Value::as_str).unwrap_or_default().to_lowercase();
        field("uri").starts_with(&beginning) || field("name").contains(&beginning)
    };
    let uris = list.iter().filter(|resource| fits(resource)).filter_map(|resource| resource.get("uri")?.as_str());
    Ok(uris.take(MAX_COMPLETIONS).map(|uri| parse::write(server, uri)).collect())
}
