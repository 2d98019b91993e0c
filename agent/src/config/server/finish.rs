//! Combines the keys of a server.

use std::{collections::BTreeSet, ops::Range};

use diagnostics::document::TreeCursor;
use url::Url;

use super::{
    ConfigString, Endpoint, Remote, Server, Stdio, TransportChoice,
    read::{RawServer, ServerType},
};
use crate::config::{keys::Key, reader::Reader};

/// The keys that are valid only for a command.
const STDIO_KEYS: [Key; 6] = [Key::Command, Key::Args, Key::Env, Key::EnvVars, Key::Inherit, Key::Cwd];

/// The keys that are valid only for a URL.
const REMOTE_KEYS: [Key; 8] = [
    Key::Url,
    Key::Headers,
    Key::EnvHeaders,
    Key::BearerVariable,
    Key::HeadersHelper,
    Key::Oauth,
    Key::Scopes,
    Key::Resource,
];

/// The schemes of URLs of servers.
pub(super) const SCHEMES: [&str; 3] = ["http", "https", "unix"];

/// Creates the server. Returns `None` if the endpoint is invalid; other errors are in the reader.
pub(super) fn finish(raw: RawServer, reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Server> {
    check_durations(&raw, reader);
    check_tools(&raw, reader);
    check_headers(&raw, reader);
    let kind = kind(&raw, reader, entry)?;
    let (misplaced, endpoint) = match kind {
        ServerType::Stdio => (&REMOTE_KEYS[..], "a command"),
        ServerType::Remote(_) => (&STDIO_KEYS[..], "a URL"),
    };
    for key in misplaced {
        // The combination of these two is an error of its own.
        if let Some(span) = raw.spans.get(key).filter(|_| !matches!(key, Key::Command | Key::Url)) {
            let message = format!("`{}` has no effect for a server with {endpoint}", reader.name(*key));
            reader.error(span, message, "remove it");
        }
    }
    let endpoint = match kind {
        ServerType::Stdio => Endpoint::Stdio(Stdio {
            command: raw.command?,
            args: raw.args.unwrap_or_default(),
            env: raw.env.unwrap_or_default(),
            env_vars: raw.env_vars.unwrap_or_default(),
            inherit: raw.inherit.unwrap_or_default(),
            cwd: raw.cwd,
        }),
        ServerType::Remote(transport) => {
            let url = raw.url?;
            check_url(&url, reader);
            Endpoint::Remote(Remote {
                transport,
                url,
                headers: without_spans(raw.headers),
                env_headers: without_spans(raw.env_headers),
                bearer_token_variable: raw.bearer_variable,
                headers_helper: raw.headers_helper.unwrap_or_default(),
            })
        }
    };
    let mut oauth = raw.oauth.unwrap_or_default();
    oauth.scopes = oauth.scopes.or(raw.scopes);
    oauth.resource = raw.resource;
    Some(Server {
        endpoint,
        enabled: raw.enabled.unwrap_or(true),
        required: raw.required.unwrap_or_default(),
        start: raw.start.unwrap_or_default(),
        startup_timeout: raw.startup,
        tool_timeout: raw.tool,
        protocol: raw.protocol.unwrap_or_default(),
        tools: raw.tools,
        permissions: raw.permissions.unwrap_or_default(),
        oauth,
        always_load: raw.always_load.unwrap_or_default(),
        description: raw.description,
    })
}

fn without_spans<T>(headers: Option<Vec<(String, Range<usize>, T)>>) -> Vec<(String, T)> {
    headers.unwrap_or_default().into_iter().map(|(name, _, value)| (name, value)).collect()
}

/// Returns the type of the server, also if the values of its keys are invalid.
fn kind(raw: &RawServer, reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<ServerType> {
    let span = |key: Key| raw.spans.get(&key);
    let (command, url) = (span(Key::Command), span(Key::Url));
    if let (Some(_), Some(url)) = (command, url) {
        reader.error(url, "the server has both `command` and `url`", "remove one of them");
        return None;
    }
    match (raw.kind, command, url) {
        // An invalid type has an error of its own.
        (None, ..) if span(Key::Type).is_some() => None,
        (Some(ServerType::Stdio), None, _) => {
            let (span, message) = match url {
                Some(url) => (url, "a server of type `stdio` cannot have a `url`"),
                None => (entry.key_span(), "a server of type `stdio` needs a `command`"),
            };
            reader.error(span, message, "add `command`, the program to start");
            None
        }
        (Some(ServerType::Remote(transport)), _, None) => {
            let span = command.unwrap_or(entry.key_span());
            let message = format!("a server of type `{}` needs a `url`", transport.as_str());
            reader.error(span, message, "add `url`, the endpoint of the server");
            None
        }
        (Some(kind), ..) => Some(kind),
        (None, Some(_), _) => Some(ServerType::Stdio),
        (None, _, Some(_)) => Some(ServerType::Remote(TransportChoice::Auto)),
        (None, None, None) if raw.has_unknown_keys => None,
        (None, None, None) => {
            reader.error(entry.key_span(), "the server has neither `command` nor `url`", "add one of them");
            None
        }
    }
}

fn check_url(url: &ConfigString, reader: &mut Reader<'_>) {
    // Checked after expansion.
    if url.expose().contains("${") {
        return;
    }
    match Url::parse(url.expose()) {
        Err(cause) => reader.error(
            url.span(),
            format!("not a valid URL: {cause}"),
            "write a URL, as in `https://example.com/mcp`",
        ),
        Ok(parsed) if !SCHEMES.contains(&parsed.scheme()) => {
            let message = format!("unknown URL scheme `{}`", parsed.scheme());
            reader.error(url.span(), message, "use `https`, `http` or `unix`");
        }
        Ok(_) => {}
    }
}

fn check_durations(raw: &RawServer, reader: &mut Reader<'_>) {
    for (seconds, milliseconds) in
        [(Key::StartupSeconds, Key::StartupMilliseconds), (Key::ToolSeconds, Key::ToolMilliseconds)]
    {
        if raw.spans.contains_key(&seconds)
            && let Some(span) = raw.spans.get(&milliseconds)
        {
            let message = format!("`{}` is ignored", reader.name(milliseconds));
            let help = format!("`{}` takes precedence; remove one of them", reader.name(seconds));
            reader.warn(span, message, help);
        }
    }
}

fn check_tools(raw: &RawServer, reader: &mut Reader<'_>) {
    let Some(span) = raw.spans.get(&Key::DisabledTools) else { return };
    for tool in raw.tools.enabled.iter().flatten().filter(|tool| raw.tools.disabled.contains(*tool)) {
        reader.warn(
            span,
            format!("the tool `{tool}` is both enabled and disabled"),
            "it is disabled; remove it from one of the lists",
        );
    }
}

/// Header names are case-insensitive (RFC 9110, section 5.1).
fn check_headers(raw: &RawServer, reader: &mut Reader<'_>) {
    let fixed = raw.headers.iter().flatten().map(|(name, span, _)| (name, span));
    let variable = raw.env_headers.iter().flatten().map(|(name, span, _)| (name, span));
    let mut seen = BTreeSet::new();
    if raw.bearer_variable.is_some() {
        seen.insert("authorization".to_owned());
    }
    for (name, span) in fixed.chain(variable) {
        if !is_token(name) {
            reader.error(span, format!("`{name}` is not a valid header name"), "use letters, digits and hyphens");
        } else if !seen.insert(name.to_ascii_lowercase()) {
            reader.error(span, format!("duplicate header `{name}`"), "keep one of them");
        }
    }
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|ch| ch.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(ch))
}
