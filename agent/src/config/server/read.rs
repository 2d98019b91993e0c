//! Reads the keys of a server.

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

use diagnostics::document::TreeCursor;

use super::{ConfigString, OauthSettings, PermissionRules, TransportChoice};
use crate::config::{
    keys::{self, Format, Key, OauthKey, RuleKey, Shown},
    reader::{Reader, key},
};

/// The value of `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerType {
    Stdio,
    Remote(TransportChoice),
}

/// The names of the types. Other clients write `streamable-http` or `streamable_http` for `http`.
const SERVER_TYPES: [(&str, ServerType); 7] = [
    ("stdio", ServerType::Stdio),
    ("http", ServerType::Remote(TransportChoice::Http)),
    ("sse", ServerType::Remote(TransportChoice::Sse)),
    ("auto", ServerType::Remote(TransportChoice::Auto)),
    ("streamable-http", ServerType::Remote(TransportChoice::Http)),
    ("streamable_http", ServerType::Remote(TransportChoice::Http)),
    // Streamable HTTP over a Unix socket; the URL begins with `unix:`.
    ("uds", ServerType::Remote(TransportChoice::Http)),
];

/// The keys of a server.
#[derive(Default)]
pub(super) struct RawServer {
    /// Whether there are unknown keys, for example a misspelled `command`. Then a missing key is not reported.
    pub(super) has_unknown_keys: bool,
    pub(super) spans: BTreeMap<Key, Range<usize>>,
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

impl RawServer {
    /// Returns `None` if the value is not a table.
    pub(super) fn read(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Self> {
        let mut raw = Self::default();
        reader.table(entry)?.for_each(|entry| raw.read_key(reader, entry));
        Some(raw)
    }

    fn read_key(&mut self, reader: &mut Reader<'_>, entry: TreeCursor<'_>) {
        let Some(row) = reader.row(entry, keys::SERVER) else {
            self.has_unknown_keys = true;
            return;
        };
        if self.spans.insert(row.key, entry.key_span().clone()).is_some() && row.key != Key::Foreign {
            let message = format!("duplicate key `{}`", key(entry));
            return reader.error(
                entry.key_span(),
                message,
                "it is in the table and in its `transport`; keep one of them",
            );
        }
        match row.key {
            // Older files of other agents write the type here.
            Key::Transport if entry.string().is_some() => {
                if self.spans.contains_key(&Key::Type) {
                    let help = "keep one of them";
                    return reader.error(entry.key_span(), "the server has both `type` and `transport`", help);
                }
                self.spans.insert(Key::Type, entry.key_span().clone());
                self.kind = server_type(reader, entry);
            }
            Key::Transport => {
                if let Some(entries) = reader.table(entry) {
                    entries.for_each(|inner| self.read_transport_key(reader, inner));
                }
            }
            Key::Foreign => {
                let message = format!("`{}` has no effect here", key(entry));
                reader.warn(entry.key_span(), message, "remove it unless another program reads it");
            }
            Key::BearerToken => reader.error(
                entry.key_span(),
                "the file contains a token, and files are shared and backed up",
                format!("set an environment variable, and write its name to `{}`", reader.name(Key::BearerVariable)),
            ),
            key if row.shown == Shown::Nothing || is_transport_key(key) => self.read_endpoint_key(key, reader, entry),
            key => self.read_setting(key, reader, entry),
        }
    }

    /// Reads a key of `[mcp_servers.x.transport]`.
    fn read_transport_key(&mut self, reader: &mut Reader<'_>, entry: TreeCursor<'_>) {
        match keys::find(keys::SERVER, reader.format(), key(entry)) {
            Some(row) if row.key == Key::Transport || !is_transport_key(row.key) => {
                let message = format!("`{}` does not belong to the transport", key(entry));
                reader.error(entry.key_span(), message, "move it one level up");
            }
            _ => self.read_key(reader, entry),
        }
    }

    /// Reads a key of the endpoint.
    fn read_endpoint_key(&mut self, key: Key, reader: &mut Reader<'_>, entry: TreeCursor<'_>) {
        match key {
            Key::Type => self.kind = server_type(reader, entry),
            Key::Command => self.command = reader.string(entry),
            Key::Args => self.args = reader.strings(entry),
            Key::Env => self.env = env(reader, entry),
            Key::EnvVars => self.env_vars = variables(reader, entry),
            Key::Inherit => {
                let words =
                    [("default", Inherit::Default), ("everything", Inherit::Everything), ("nothing", Inherit::Nothing)];
                self.inherit = reader.one_of(entry, &words);
            }
            Key::Cwd => self.cwd = reader.string(entry),
            Key::Url => self.url = reader.string(entry),
            Key::Headers => self.headers = headers(reader, entry),
            Key::EnvHeaders => self.env_headers = env_headers(reader, entry),
            Key::BearerVariable => {
                self.bearer_variable =
                    reader.string(entry).and_then(|text| reader.variable(text.expose(), text.span()));
            }
            Key::HeadersHelper => {
                self.headers_helper = if entry.is_array() {
                    reader.strings(entry)
                } else {
                    reader.string(entry).map(|command| vec![command])
                };
            }
            _ => {}
        }
    }

    /// Reads another key.
    fn read_setting(&mut self, key: Key, reader: &mut Reader<'_>, entry: TreeCursor<'_>) {
        const SECOND: Duration = Duration::from_secs(1);
        const MILLISECOND: Duration = Duration::from_millis(1);
        match key {
            Key::Oauth => self.oauth = oauth(reader, entry),
            Key::Scopes => self.scopes = scopes(reader, entry),
            Key::Resource => self.resource = reader.string(entry),
            Key::Enabled => self.enabled = reader.boolean(entry),
            Key::Required => self.required = reader.boolean(entry),
            Key::Start => {
                let words = [("at-once", StartMode::AtOnce), ("on-demand", StartMode::OnDemand)];
                self.start = reader.one_of(entry, &words);
            }
            Key::StartupSeconds => self.startup = reader.duration(entry, SECOND),
            Key::StartupMilliseconds => self.startup = self.startup.or(reader.duration(entry, MILLISECOND)),
            Key::ToolSeconds => self.tool = reader.duration(entry, SECOND),
            Key::ToolMilliseconds => self.tool = self.tool.or(reader.duration(entry, MILLISECOND)),
            Key::Protocol => {
                let mut words = vec![("auto", RevisionChoice::Auto)];
                words.extend(Revision::ALL.map(|revision| (revision.as_str(), RevisionChoice::Pinned(revision))));
                self.protocol = reader.one_of(entry, &words);
            }
            Key::EnabledTools => self.tools.enabled = reader.names(entry).map(BTreeSet::from_iter),
            Key::DisabledTools => {
                self.tools.disabled = reader.names(entry).unwrap_or_default().into_iter().collect();
            }
            Key::Permissions => self.permissions = rules(reader, entry),
            Key::AlwaysLoad => self.always_load = reader.boolean(entry),
            Key::Description => self.description = reader.string(entry).map(|text| text.expose().to_owned()),
            _ => {}
        }
    }
}

/// Whether the key describes the endpoint and may also be in `[mcp_servers.x.transport]`.
fn is_transport_key(key: Key) -> bool {
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
    /// The name of a key in the format of the file.
    pub(super) fn name(&self, key: Key) -> &'static str {
        keys::server_name(key, self.format())
    }
}

fn server_type(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<ServerType> {
    if let Some("ws" | "websocket") = entry.string() {
        let message = "MCP has no WebSocket transport";
        reader.error(entry.span(), message, "use `http` if the server supports it");
        return None;
    }
    reader.one_of(entry, &SERVER_TYPES)
}

fn env(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Vec<(String, ConfigString)>> {
    let mut env = Vec::new();
    for (pair, value) in reader.pairs(entry)? {
        if key(pair).is_empty() || key(pair).contains(['=', '\0']) {
            reader.error(pair.key_span(), "not the name of an environment variable", "write a name without `=`");
        } else {
            env.push((key(pair).to_owned(), value));
        }
    }
    Some(env)
}

/// Reads names of variables. In Codex an element may be a table that also names the environment of the variable.
fn variables(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Vec<String>> {
    if !entry.is_array() {
        return reader.names(entry);
    }
    let mut names = Vec::new();
    for item in entry.items() {
        let name = if item.is_table() { table_name(reader, item) } else { Some(item) };
        let Some(name) = name else { continue };
        match name.string() {
            Some(text) => names.extend(reader.variable(text, name.span())),
            None => {
                let message = format!("expected a name in `{}`, found {}", key(entry), name.type_name());
                reader.error(name.span(), message, "put it in quotation marks");
            }
        }
    }
    Some(names)
}

/// The name in `{ name = "…", source = "local" }`.
fn table_name<'t>(reader: &mut Reader<'_>, item: TreeCursor<'t>) -> Option<TreeCursor<'t>> {
    if let Some(source) = item.get("source")
        && source.string() != Some("local")
    {
        reader.error(source.span(), "only variables of this machine are supported", "write `local`");
    }
    let name = item.get("name");
    if name.is_none() {
        reader.error(item.span(), "missing key `name`", "write `{ name = \"…\" }`, or the name alone");
    }
    name
}

fn headers(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Vec<(String, Range<usize>, ConfigString)>> {
    let header = |(pair, value)| (key(pair).to_owned(), pair.key_span().clone(), value);
    Some(reader.pairs(entry)?.into_iter().map(header).collect())
}

fn env_headers(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Vec<(String, Range<usize>, String)>> {
    let mut headers = Vec::new();
    for (pair, variable) in reader.pairs(entry)? {
        if let Some(variable) = reader.variable(variable.expose(), variable.span()) {
            headers.push((key(pair).to_owned(), pair.key_span().clone(), variable));
        }
    }
    Some(headers)
}

/// Reads permission rules without parsing them.
pub(in crate::config) fn rules(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<PermissionRules> {
    let mut rules = PermissionRules::default();
    for entry in reader.table(entry)? {
        let Some(row) = reader.row(entry, keys::RULES) else { continue };
        let words = reader.names(entry).unwrap_or_default();
        match row.key {
            RuleKey::Allow => rules.allow = words,
            RuleKey::Ask => rules.ask = words,
            RuleKey::Deny => rules.deny = words,
        }
    }
    Some(rules)
}

/// Reads scopes: an array, or one string with spaces as in RFC 6749 (section 3.3) and Claude Code.
fn scopes(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Vec<String>> {
    match entry.string() {
        Some(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        None => reader.names(entry),
    }
}

fn oauth(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<OauthSettings> {
    let mut settings = OauthSettings::default();
    if let Some(enabled) = entry.boolean() {
        return Some(OauthSettings { enabled, ..settings });
    }
    if entry.string().is_some() {
        let enabled = reader.one_of(entry, &[("off", false), ("auto", true)])?;
        return Some(OauthSettings { enabled, ..settings });
    }
    for entry in reader.table(entry)? {
        let Some(row) = reader.row(entry, keys::OAUTH) else { continue };
        match row.key {
            OauthKey::ClientId => settings.client_id = reader.string(entry),
            OauthKey::SecretVariable => {
                let text = reader.string(entry);
                settings.client_secret_variable = text.and_then(|text| reader.variable(text.expose(), text.span()));
            }
            OauthKey::PrivateKeyFile => settings.private_key_file = reader.string(entry),
            OauthKey::ClientName => settings.client_name = reader.string(entry).map(|text| text.expose().to_owned()),
            OauthKey::MetadataUrl => settings.client_metadata_url = reader.string(entry),
            OauthKey::ServerMetadataUrl => settings.server_metadata_url = reader.string(entry),
            OauthKey::Issuer => settings.issuer = reader.string(entry),
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
        let name = if reader.format() == Format::Toml { "client_id" } else { "clientId" };
        reader.error(entry.key_span(), format!("missing key `{name}`"), "add the ID of the registered client");
    }
    Some(settings)
}

fn callback_path(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<String> {
    let path = reader.string(entry)?;
    let is_valid = path.expose().starts_with('/') && !path.expose().contains(['?', '#', ' ']);
    if !is_valid {
        let message = format!("`{}` is not a valid redirect path", key(entry));
        reader.error(path.span(), message, "start it with `/`, without query and fragment");
    }
    is_valid.then(|| path.expose().to_owned())
}
