//! What the keys of a server mean together.

use std::{collections::BTreeSet, ops::Range};

use url::Url;

use super::{
    ConfigString, Endpoint, Remote, Server, Stdio, TransportChoice,
    read::{RawServer, ServerType},
};
use crate::config::{keys::Key, shape::Reader, tree::Entry};

/// The keys that only a program has.
const OF_STDIO: [Key; 6] = [Key::Command, Key::Args, Key::Env, Key::EnvVars, Key::Inherit, Key::Cwd];

/// The keys that only a URL has.
const OF_REMOTE: [Key; 8] = [
    Key::Url,
    Key::Headers,
    Key::EnvHeaders,
    Key::BearerVariable,
    Key::HeadersHelper,
    Key::Oauth,
    Key::Scopes,
    Key::Resource,
];

/// The schemes of URLs at which a server can be.
const SCHEMES: [&str; 3] = ["http", "https", "unix"];

/// The server, if the keys make one. Problems go to the reader.
pub(super) fn finish(given: RawServer, reader: &mut Reader<'_>, entry: &Entry) -> Option<Server> {
    check_times(&given, reader);
    check_tools(&given, reader);
    check_headers(&given, reader);
    let kind = kind(&given, reader, entry)?;
    let (foreign, other) = match kind {
        ServerType::Stdio => (&OF_REMOTE[..], "a program"),
        ServerType::Remote(_) => (&OF_STDIO[..], "a URL"),
    };
    for key in foreign {
        // Both of these together were told already.
        if let Some(span) = given.places.get(key).filter(|_| !matches!(key, Key::Command | Key::Url)) {
            let message = format!("`{}` means nothing for a server that is {other}", reader.name(*key));
            reader.error(span, message, "take it away");
        }
    }
    let endpoint = match kind {
        ServerType::Stdio => Endpoint::Stdio(Stdio {
            command: given.command?,
            args: given.args.unwrap_or_default(),
            env: given.env.unwrap_or_default(),
            env_vars: given.env_vars.unwrap_or_default(),
            inherit: given.inherit.unwrap_or_default(),
            cwd: given.cwd,
        }),
        ServerType::Remote(transport) => {
            let url = given.url?;
            check_url(&url, reader);
            Endpoint::Remote(Remote {
                transport,
                url,
                headers: without_places(given.headers),
                env_headers: without_places(given.env_headers),
                bearer_token_variable: given.bearer_variable,
                headers_helper: given.headers_helper.unwrap_or_default(),
            })
        }
    };
    let mut oauth = given.oauth.unwrap_or_default();
    oauth.scopes = oauth.scopes.or(given.scopes);
    oauth.resource = given.resource;
    Some(Server {
        endpoint,
        enabled: given.enabled.unwrap_or(true),
        required: given.required.unwrap_or_default(),
        start: given.start.unwrap_or_default(),
        startup_timeout: given.startup,
        tool_timeout: given.tool,
        protocol: given.protocol.unwrap_or_default(),
        tools: given.tools,
        permissions: given.permissions.unwrap_or_default(),
        oauth,
        always_load: given.always_load.unwrap_or_default(),
        description: given.description,
    })
}

fn without_places<T>(headers: Option<Vec<(String, Range<usize>, T)>>) -> Vec<(String, T)> {
    headers.unwrap_or_default().into_iter().map(|(name, _, value)| (name, value)).collect()
}

/// What kind of server the keys make, whether or not all of them could be read.
fn kind(given: &RawServer, reader: &mut Reader<'_>, entry: &Entry) -> Option<ServerType> {
    let place = |key: Key| given.places.get(&key);
    let (command, url) = (place(Key::Command), place(Key::Url));
    if let (Some(_), Some(url)) = (command, url) {
        reader.error(url, "both a program and a URL", "a server is one of them; keep `command` or `url`");
        return None;
    }
    match (given.kind, command, url) {
        // A type that is unknown was told already.
        (None, ..) if place(Key::Type).is_some() => None,
        (Some(ServerType::Stdio), None, _) => {
            let (span, message) = match url {
                Some(url) => (url, "a server of type `stdio` has no URL"),
                None => (&entry.key_span, "a server of type `stdio` without a `command`"),
            };
            reader.error(span, message, "write `command`, the program to start");
            None
        }
        (Some(ServerType::Remote(transport)), _, None) => {
            let span = command.unwrap_or(&entry.key_span);
            let message = format!("a server of type `{}` without a `url`", transport.as_str());
            reader.error(span, message, "write `url`, where it is");
            None
        }
        (Some(kind), ..) => Some(kind),
        (None, Some(_), _) => Some(ServerType::Stdio),
        (None, _, Some(_)) => Some(ServerType::Remote(TransportChoice::Auto)),
        (None, None, None) if given.unknown => None,
        (None, None, None) => {
            reader.error(&entry.key_span, "a server that is nowhere", "it has a `command` or a `url`");
            None
        }
    }
}

fn check_url(url: &ConfigString, reader: &mut Reader<'_>) {
    // With a variable in it, it is looked at when that is known.
    if url.expose().contains("${") {
        return;
    }
    match Url::parse(url.expose()) {
        Err(cause) => reader.error(url.span(), format!("no URL: {cause}"), "as in `https://example.com/mcp`"),
        Ok(parsed) if !SCHEMES.contains(&parsed.scheme()) => {
            let message = format!("a URL of the scheme `{}`", parsed.scheme());
            reader.error(url.span(), message, "known are `https`, `http`, `unix`");
        }
        Ok(_) => {}
    }
}

/// Two units of one time contradict each other, or say the same twice.
fn check_times(given: &RawServer, reader: &mut Reader<'_>) {
    for (seconds, milliseconds) in
        [(Key::StartupSeconds, Key::StartupMilliseconds), (Key::ToolSeconds, Key::ToolMilliseconds)]
    {
        if given.places.contains_key(&seconds)
            && let Some(span) = given.places.get(&milliseconds)
        {
            let message = format!("`{}` says so already", reader.name(seconds));
            reader.warn(span, message, "the seconds count; keep one of them");
        }
    }
}

fn check_tools(given: &RawServer, reader: &mut Reader<'_>) {
    let Some(span) = given.places.get(&Key::DisabledTools) else { return };
    for tool in given.tools.enabled.iter().flatten().filter(|tool| given.tools.disabled.contains(*tool)) {
        reader.warn(span, format!("the tool `{tool}` is both enabled and disabled"), "it is disabled");
    }
}

/// Names of headers (RFC 9110, section 5.1), each of them once, whatever its case.
fn check_headers(given: &RawServer, reader: &mut Reader<'_>) {
    let fixed = given.headers.iter().flatten().map(|(name, span, _)| (name, span));
    let variable = given.env_headers.iter().flatten().map(|(name, span, _)| (name, span));
    let mut seen = BTreeSet::new();
    if given.bearer_variable.is_some() {
        seen.insert("authorization".to_owned());
    }
    for (name, span) in fixed.chain(variable) {
        if !is_token(name) {
            reader.error(span, format!("`{name}` is no name of a header"), "letters, digits and hyphens");
        } else if !seen.insert(name.to_ascii_lowercase()) {
            reader.error(span, format!("the header `{name}` is given twice"), "keep one of them");
        }
    }
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|ch| ch.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(ch))
}
