//! Resources that a text mentions as `@server:uri`.
//!
//! A mention begins with `@` where no word goes on (an address like `me@server:x` is none), then the name of a server that
//! there is, a colon, and the URI up to the next blank; a URI with blanks stands in angle brackets. What closes a sentence or
//! a bracket behind it does not belong to it. In place of a URI a resource can be named by its `name`.

mod parse;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, ops::Range};

use futures::{StreamExt as _, stream};
use serde_json::{Map, Value};

pub use self::parse::{Mention, mentions};
use crate::{lists::AskError, resources::Resources};

/// How many different resources of one text are read.
const MAX_MENTIONS: usize = 32;
/// How many are read at the same time.
const AT_ONCE: usize = 8;
/// How many places to go on with are suggested.
const SUGGESTIONS: usize = 50;

/// A resource that a text mentions, and what it holds.
#[derive(Debug)]
pub struct Mentioned {
    /// The server.
    pub server: String,
    /// The URI that was read.
    pub uri: String,
    /// Where in the text it is mentioned, in bytes; more than once, perhaps.
    pub places: Vec<Range<usize>>,
    /// The result of `resources/read`, or why there is none.
    pub contents: Result<Map<String, Value>, MentionError>,
}

/// Why a resource that is mentioned was not read.
#[derive(Debug, thiserror::Error)]
pub enum MentionError {
    /// The server was asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// It was not asked: the text mentions too many.
    #[error("the text mentions more than {MAX_MENTIONS} resources; this one was not read")]
    TooMany,
}

/// Reads what a text mentions. Each resource is read once, in the order of the text, and one that fails costs only itself.
pub async fn read(text: &str, resources: &Resources) -> Vec<Mentioned> {
    let mut places: BTreeMap<(String, String), Vec<Range<usize>>> = BTreeMap::new();
    for mention in mentions(text, &resources.servers()) {
        places.entry((mention.server, mention.uri)).or_default().push(mention.place);
    }
    let mut wanted: Vec<_> = places.into_iter().collect();
    wanted.sort_by_key(|(_, places)| places[0].start);
    let reading = wanted.into_iter().enumerate().map(|(number, ((server, uri), places))| async move {
        if number >= MAX_MENTIONS {
            return Mentioned { server, uri, places, contents: Err(MentionError::TooMany) };
        }
        let uri = named(resources, &server, uri).await;
        let contents = resources.read(&server, &uri).await.map_err(MentionError::from);
        Mentioned { server, uri, places, contents }
    });
    stream::iter(reading).buffered(AT_ONCE).collect().await
}

/// The URI of what is mentioned: itself, if it is one, or that of the resource of this name.
async fn named(resources: &Resources, server: &str, mentioned: String) -> String {
    if url::Url::parse(&mentioned).is_ok() {
        return mentioned;
    }
    // A list that cannot be read leaves the mention as it is: the server says what is wrong with it.
    let Ok(list) = resources.list(server).await else { return mentioned };
    let field = |resource: &Value, name: &str| resource.get(name).and_then(Value::as_str).map(str::to_owned);
    if list.iter().any(|one| field(one, "uri").as_deref() == Some(&mentioned)) {
        return mentioned;
    }
    let found = list.iter().find(|one| field(one, "name").as_deref() == Some(&mentioned));
    found.and_then(|found| field(found, "uri")).unwrap_or(mentioned)
}

/// What a mention that is being written can go on as: names of servers up to the colon, URIs of the server after it. The
/// server is asked for its list only then.
///
/// # Errors
/// If the server's list cannot be read.
pub async fn suggestions(written: &str, resources: &Resources) -> Result<Vec<String>, AskError> {
    let written = written.strip_prefix('@').unwrap_or(written);
    let servers = resources.servers();
    let Some((server, beginning)) = parse::server_of(written, &servers) else {
        let fitting = servers.into_iter().filter(|server| server.starts_with(written));
        return Ok(fitting.take(SUGGESTIONS).map(|server| format!("@{server}:")).collect());
    };
    let list = resources.list(server).await?;
    let beginning = beginning.to_lowercase();
    let fits = |resource: &Value| {
        let field = |name: &str| resource.get(name).and_then(Value::as_str).unwrap_or_default().to_lowercase();
        field("uri").starts_with(&beginning) || field("name").contains(&beginning)
    };
    let uris = list.iter().filter(|resource| fits(resource)).filter_map(|resource| resource.get("uri")?.as_str());
    Ok(uris.take(SUGGESTIONS).map(|uri| parse::write(server, uri)).collect())
}
