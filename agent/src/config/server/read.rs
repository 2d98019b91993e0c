//! From a table of a file to a server: each key by itself, and then all of them together.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use client::{
    Inherit, Revision, RevisionChoice,
    auth::DpopPolicy,
    manager::{StartMode, ToolFilter},
};

use super::{ConfigString, OauthSettings, PermissionRules, Server, TransportChoice, finish};
use crate::config::{
    keys::{self, Key, OauthKey, RuleKey, Shown},
    shape::Reader,
    tree::{Data, Entry, Node},
};

/// What `type` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerType {
    Stdio,
    Remote(TransportChoice),
}

/// How each kind of transport is written. `streamable-http` and `streamable_http` are what others write for `http`.
const KINDS: [(&str, ServerType); 6] = [
    ("stdio", ServerType::Stdio),
    ("http", ServerType::Remote(TransportChoice::Http)),
    ("sse", ServerType::Remote(TransportChoice::Sse)),
    ("auto", ServerType::Remote(TransportChoice::Auto)),
    ("streamable-http", ServerType::Remote(TransportChoice::Http)),
    ("streamable_http", ServerType::Remote(TransportChoice::Http)),
];

/// What a file says of a server, key by key.
#[derive(Default)]
pub(super) struct RawServer {
    /// Whether there are keys that nobody knows. What they were meant to be is then not told to be missing.
    pub(super) unknown: bool,
    /// Where each key stands.
    pub(super) places: BTreeMap<Key, Range<usize>>,
    pub(super) kind: Option<ServerType>,
    pub(super) command: Option<ConfigString>,
    pub(super) args: Option<Vec<ConfigString>>,
    pub(super) env: Option<Vec<(String, ConfigString)>>,
    pub(super) env_vars: Option<Vec<String>>,
    pub(super) inherit: Option<Inherit>,
    pub(super) cwd: Option<ConfigString>,
    pub(super) url: Option<ConfigString>,
    pub(super) headers: Option<Vec<(String, Range<usize>, ConfigString)>>,
    pub(super) env_headers: Option<Vec<(String, Range<usize>, String)>>,
    pub(super) bearer_variable: Option<String>,
    pub(super) headers_helper: Option<Vec<ConfigString>>,
    pub(super) oauth: Option<OauthSettings>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) resource: Option<ConfigString>,
    pub(super) enabled: Option<bool>,
    pub(super) required: Option<bool>,
    pub(super) start: Option<StartMode>,
    pub(super) startup: Option<Duration>,
    pub(super) tool: Option<Duration>,
    pub(super) protocol: Option<RevisionChoice>,
    pub(super) tools: ToolFilter,
    pub(super) permissions: Option<PermissionRules>,
    pub(super) always_load: Option<bool>,
    pub(super) description: Option<String>,
}

/// Reads a server. There is none where the reader finds an error.
pub(in crate::config) fn read(reader: &mut Reader<'_>, entry: &Entry) -> Option<Server> {
    let before = reader.errors;
    let entries = reader.table(entry)?;
    let mut given = RawServer::default();
    entries.iter().for_each(|entry| given.take(reader, entry));
    let server = finish::finish(given, reader, entry);
    server.filter(|_| reader.errors == before)
}

impl RawServer {
    fn take(&mut self, reader: &mut Reader<'_>, entry: &Entry) {
        let Some(row) = reader.key(entry, keys::SERVER) else {
            self.unknown = true;
            return;
        };
        if self.places.insert(row.key, entry.key_span.clone()).is_some() && row.key != Key::Foreign {
            let message = format!("`{}` is given twice", entry.key);
            return reader.error(&entry.key_span, message, "once in the table and once in its `transport`: keep one");
        }
        match row.key {
            Key::Transport => {
                if let Some(entries) = reader.table(entry) {
                    entries.iter().for_each(|inner| self.take_of_transport(reader, inner));
                }
            }
            Key::Foreign => {
                let message = format!("`{}` has no effect here", entry.key);
                reader.warn(&entry.key_span, message, "another program may read it");
            }
            Key::BearerToken => reader.error(
                &entry.key_span,
                "a token has no place in a file that is shared and backed up",
                format!("put it into a variable, and name that in `{}`", reader.name(Key::BearerVariable)),
            ),
            key if row.shown == Shown::Nothing || is_of_transport(key) => self.take_place(key, reader, entry),
            key => self.take_setting(key, reader, entry),
        }
    }

    /// Takes a key of the form `[mcp_servers.x.transport]`.
    fn take_of_transport(&mut self, reader: &mut Reader<'_>, entry: &Entry) {
        match keys::find(keys::SERVER, reader.format(), &entry.key) {
            Some(row) if row.key == Key::Transport || !is_of_transport(row.key) => {
                let message = format!("`{}` does not belong to the transport", entry.key);
                reader.error(&entry.key_span, message, "write it one level further out");
            }
            _ => self.take(reader, entry),
        }
    }

    /// Takes what says where the server is.
    fn take_place(&mut self, key: Key, reader: &mut Reader<'_>, entry: &Entry) {
        match key {
            Key::Type => self.kind = kind(reader, entry),
            Key::Command => self.command = reader.text(entry),
            Key::Args => self.args = reader.texts(entry),
            Key::Env => self.env = env(reader, entry),
            Key::EnvVars => self.env_vars = variables(reader, entry),
            Key::Inherit => {
                let words =
                    [("default", Inherit::Default), ("everything", Inherit::Everything), ("nothing", Inherit::Nothing)];
                self.inherit = reader.one_of(entry, &words);
            }
            Key::Cwd => self.cwd = reader.text(entry),
            Key::Url => self.url = reader.text(entry),
            Key::Headers => {
                let pairs = reader.pairs(entry);
                self.headers = pairs.map(|pairs| {
                    pairs.into_iter().map(|(pair, text)| (pair.key.clone(), pair.key_span.clone(), text)).collect()
                });
            }
            Key::EnvHeaders => self.env_headers = env_headers(reader, entry),
            Key::BearerVariable => {
                self.bearer_variable = reader.text(entry).and_then(|text| reader.variable(text.expose(), text.span()));
            }
            Key::HeadersHelper => {
                let is_list = matches!(entry.value.data, Data::List(_));
                self.headers_helper =
                    if is_list { reader.texts(entry) } else { reader.text(entry).map(|text| vec![text]) };
            }
            _ => {}
        }
    }

    /// Takes what says how it is used.
    fn take_setting(&mut self, key: Key, reader: &mut Reader<'_>, entry: &Entry) {
        const SECOND: Duration = Duration::from_secs(1);
        const MILLISECOND: Duration = Duration::from_millis(1);
        match key {
            Key::Oauth => self.oauth = oauth(reader, entry),
            Key::Scopes => self.scopes = scopes(reader, entry),
            Key::Resource => self.resource = reader.text(entry),
            Key::Enabled => self.enabled = reader.boolean(entry),
            Key::Required => self.required = reader.boolean(entry),
            Key::Start => {
                let words = [("at-once", StartMode::AtOnce), ("on-demand", StartMode::OnDemand)];
                self.start = reader.one_of(entry, &words);
            }
            Key::StartupSeconds => self.startup = reader.time(entry, SECOND),
            Key::StartupMilliseconds => self.startup = self.startup.or(reader.time(entry, MILLISECOND)),
            Key::ToolSeconds => self.tool = reader.time(entry, SECOND),
            Key::ToolMilliseconds => self.tool = self.tool.or(reader.time(entry, MILLISECOND)),
            Key::Protocol => {
                let mut words = vec![("auto", RevisionChoice::Auto)];
                words.extend(Revision::ALL.map(|revision| (revision.as_str(), RevisionChoice::Pinned(revision))));
                self.protocol = reader.one_of(entry, &words);
            }
            Key::EnabledTools => self.tools.enabled = reader.words(entry).map(BTreeSet::from_iter),
            Key::DisabledTools => {
                self.tools.disabled = reader.words(entry).unwrap_or_default().into_iter().collect();
            }
            Key::Permissions => self.permissions = rules(reader, entry),
            Key::AlwaysLoad => self.always_load = reader.boolean(entry),
            Key::Description => self.description = reader.text(entry).map(|text| text.expose().to_owned()),
            _ => {}
        }
    }
}

/// Whether a key says where a server is, so that it may stand in `[mcp_servers.x.transport]`.
fn is_of_transport(key: Key) -> bool {
    matches!(
        key,
        Key::Type
            | Key::Command
            | Key::Args
            | Key::Env
            | Key::EnvVars
            | Key::Inherit
            | Key::Cwd
            | Key::Url
            | Key::Headers
            | Key::EnvHeaders
            | Key::BearerVariable
            | Key::BearerToken
            | Key::HeadersHelper
    )
}

impl Reader<'_> {
    /// How a key is written in this file.
    pub(super) fn name(&self, key: Key) -> &'static str {
        keys::server_name(key, self.format())
    }
}

fn kind(reader: &mut Reader<'_>, entry: &Entry) -> Option<ServerType> {
    if matches!(&entry.value.data, Data::Text(text) if text == "ws" || text == "websocket") {
        let message = "there is no such transport in the protocol";
        reader.error(&entry.value.span, message, "does the server speak `http` too?");
        return None;
    }
    reader.one_of(entry, &KINDS)
}

fn env(reader: &mut Reader<'_>, entry: &Entry) -> Option<Vec<(String, ConfigString)>> {
    let mut env = Vec::new();
    for (pair, value) in reader.pairs(entry)? {
        if pair.key.is_empty() || pair.key.contains(['=', '\0']) {
            reader.error(&pair.key_span, "not the name of an environment variable", "it has no `=` in it");
        } else {
            env.push((pair.key.clone(), value));
        }
    }
    Some(env)
}

/// Names of variables. Codex writes some of them as tables, to say in which environment they are set.
fn variables(reader: &mut Reader<'_>, entry: &Entry) -> Option<Vec<String>> {
    let Data::List(items) = &entry.value.data else {
        return reader.words(entry);
    };
    let mut names = Vec::new();
    for item in items {
        let name = match &item.data {
            Data::Table(_) => named(reader, item),
            Data::Text(name) => Some((name.clone(), item.span.clone())),
            _ => {
                let message = format!("`{}` is to be a list of names; found {}", entry.key, item.kind());
                reader.error(&item.span, message, "put it in quotation marks");
                None
            }
        };
        names.extend(name.and_then(|(name, span)| reader.variable(&name, &span)));
    }
    Some(names)
}

/// `{ name = "…", source = "local" }`
fn named(reader: &mut Reader<'_>, item: &Node) -> Option<(String, Range<usize>)> {
    if let Some(source) = item.get("source")
        && !matches!(&source.data, Data::Text(text) if text == "local")
    {
        reader.error(&source.span, "variables come from this machine alone", "the only source is `local`");
    }
    match item.get("name") {
        Some(Node { data: Data::Text(name), span }) => Some((name.clone(), span.clone())),
        _ => {
            reader.error(&item.span, "a variable without its name", "write `{ name = \"…\" }`, or the name alone");
            None
        }
    }
}

fn env_headers(reader: &mut Reader<'_>, entry: &Entry) -> Option<Vec<(String, Range<usize>, String)>> {
    let mut headers = Vec::new();
    for (pair, variable) in reader.pairs(entry)? {
        if let Some(variable) = reader.variable(variable.expose(), variable.span()) {
            headers.push((pair.key.clone(), pair.key_span.clone(), variable));
        }
    }
    Some(headers)
}

/// Lists of rules. What they mean is not looked at here.
pub(in crate::config) fn rules(reader: &mut Reader<'_>, entry: &Entry) -> Option<PermissionRules> {
    let mut rules = PermissionRules::default();
    for entry in reader.table(entry)? {
        let Some(row) = reader.key(entry, keys::RULES) else { continue };
        let words = reader.words(entry).unwrap_or_default();
        match row.key {
            RuleKey::Allow => rules.allow = words,
            RuleKey::Ask => rules.ask = words,
            RuleKey::Deny => rules.deny = words,
        }
    }
    Some(rules)
}

/// A list, or one text with spaces, as RFC 6749 (section 3.3) and Claude Code have it.
fn scopes(reader: &mut Reader<'_>, entry: &Entry) -> Option<Vec<String>> {
    match &entry.value.data {
        Data::Text(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        _ => reader.words(entry),
    }
}

fn oauth(reader: &mut Reader<'_>, entry: &Entry) -> Option<OauthSettings> {
    let mut settings = OauthSettings::default();
    if let Data::Bool(enabled) = entry.value.data {
        return Some(OauthSettings { enabled, ..settings });
    }
    for entry in reader.table(entry)? {
        let Some(row) = reader.key(entry, keys::OAUTH) else { continue };
        match row.key {
            OauthKey::ClientId => settings.client_id = reader.text(entry),
            OauthKey::SecretVariable => {
                let text = reader.text(entry);
                settings.client_secret_variable = text.and_then(|text| reader.variable(text.expose(), text.span()));
            }
            OauthKey::PrivateKeyFile => settings.private_key_file = reader.text(entry),
            OauthKey::ClientName => settings.client_name = reader.text(entry).map(|text| text.expose().to_owned()),
            OauthKey::MetadataUrl => settings.client_metadata_url = reader.text(entry),
            OauthKey::ServerMetadataUrl => settings.server_metadata_url = reader.text(entry),
            OauthKey::Issuer => settings.issuer = reader.text(entry),
            OauthKey::Scopes => settings.scopes = scopes(reader, entry),
            OauthKey::Grant => {
                let words = [("authorization-code", false), ("client-credentials", true)];
                settings.client_credentials = reader.one_of(entry, &words).unwrap_or_default();
            }
            OauthKey::Dpop => {
                let words = [("auto", DpopPolicy::Auto), ("always", DpopPolicy::Always), ("never", DpopPolicy::Never)];
                settings.dpop = reader.one_of(entry, &words).unwrap_or_default();
            }
            OauthKey::Port => settings.callback_port = reader.port(entry),
            OauthKey::Path => settings.callback_path = callback_path(reader, entry),
        }
    }
    if settings.client_id.is_none() && (settings.client_secret_variable.is_some() || settings.client_credentials) {
        let name = if reader.format() == crate::config::Format::Toml { "client_id" } else { "clientId" };
        reader.error(&entry.key_span, "a client without its ID", format!("`{name}` is missing"));
    }
    Some(settings)
}

fn callback_path(reader: &mut Reader<'_>, entry: &Entry) -> Option<String> {
    let path = reader.text(entry)?;
    let good = path.expose().starts_with('/') && !path.expose().contains(['?', '#', ' ']);
    if !good {
        reader.error(path.span(), format!("`{}` is no path", entry.key), "it begins with `/`, and has no query");
    }
    good.then(|| path.expose().to_owned())
}
