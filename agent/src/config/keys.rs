//! The keys of configuration files, with their names in TOML and JSON. Reading, editing, suggestions and redaction follow
//! from these tables.

use diagnostics::document::Syntax;

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// TOML, as in Codex.
    Toml,
    /// JSON with comments, as in Claude Code.
    Json,
}

impl Format {
    /// Returns the format that follows from the ending of a file name.
    #[must_use]
    pub fn from_path(path: &std::path::Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "toml" => Some(Self::Toml),
            "json" | "jsonc" => Some(Self::Json),
            _ => None,
        }
    }

    pub(super) fn syntax(self) -> Syntax {
        match self {
            Self::Toml => Syntax::Toml,
            Self::Json => Syntax::Json,
        }
    }
}

/// The parts of a value that may be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Everything.
    Plain,
    /// A command line without the parts that look like secrets.
    Command,
    /// A URL without its userinfo, query and fragment.
    Url,
    /// Names of variables. A value after `=` is hidden.
    Names,
    /// The keys; the values follow the rules of the table.
    Table,
    /// Only the keys.
    Nothing,
}

/// A key of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    Type,
    Transport,
    Command,
    Args,
    Env,
    EnvVars,
    Inherit,
    Cwd,
    Url,
    Headers,
    EnvHeaders,
    BearerVariable,
    BearerToken,
    HeadersHelper,
    Oauth,
    Scopes,
    Resource,
    Enabled,
    Required,
    Start,
    StartupSeconds,
    StartupMilliseconds,
    ToolSeconds,
    ToolMilliseconds,
    Protocol,
    EnabledTools,
    DisabledTools,
    Permissions,
    AlwaysLoad,
    Description,
    /// A key that only another program reads.
    Foreign,
}

/// A key with its names in TOML and JSON.
pub(super) struct Row<K> {
    pub(super) key: K,
    toml: Option<&'static str>,
    json: Option<&'static str>,
    pub(super) shown: Shown,
}

const fn row<K>(key: K, toml: &'static str, json: &'static str, shown: Shown) -> Row<K> {
    Row { key, toml: Some(toml), json: Some(json), shown }
}

const fn foreign<K>(key: K, toml: &'static str) -> Row<K> {
    Row { key, toml: Some(toml), json: None, shown: Shown::Nothing }
}

impl<K> Row<K> {
    /// The name of the key in a format.
    pub(super) fn name(&self, format: Format) -> Option<&'static str> {
        match format {
            Format::Toml => self.toml,
            Format::Json => self.json,
        }
    }
}

/// The keys of a server, in the order of suggestions.
pub(super) const SERVER: &[Row<Key>] = &[
    row(Key::Type, "type", "type", Shown::Plain),
    row(Key::Transport, "transport", "transport", Shown::Table),
    row(Key::Command, "command", "command", Shown::Command),
    row(Key::Args, "args", "args", Shown::Command),
    row(Key::Env, "env", "env", Shown::Nothing),
    row(Key::EnvVars, "env_vars", "envVars", Shown::Names),
    row(Key::Inherit, "inherit_env", "inheritEnv", Shown::Plain),
    row(Key::Cwd, "cwd", "cwd", Shown::Plain),
    row(Key::Url, "url", "url", Shown::Url),
    row(Key::Headers, "http_headers", "headers", Shown::Nothing),
    row(Key::EnvHeaders, "env_http_headers", "envHttpHeaders", Shown::Names),
    row(Key::BearerVariable, "bearer_token_env_var", "bearerTokenEnvVar", Shown::Names),
    row(Key::HeadersHelper, "headers_helper", "headersHelper", Shown::Command),
    row(Key::Oauth, "oauth", "oauth", Shown::Table),
    row(Key::Scopes, "scopes", "scopes", Shown::Plain),
    // The name in Codex.
    row(Key::Resource, "oauth_resource", "oauthResource", Shown::Url),
    row(Key::Enabled, "enabled", "enabled", Shown::Plain),
    row(Key::Required, "required", "required", Shown::Plain),
    row(Key::Start, "start", "start", Shown::Plain),
    row(Key::StartupSeconds, "startup_timeout_sec", "startupTimeoutSec", Shown::Plain),
    row(Key::StartupMilliseconds, "startup_timeout_ms", "startupTimeoutMs", Shown::Plain),
    row(Key::ToolSeconds, "tool_timeout_sec", "toolTimeoutSec", Shown::Plain),
    // The name in Claude Code.
    row(Key::ToolMilliseconds, "tool_timeout_ms", "timeout", Shown::Plain),
    row(Key::Protocol, "protocol", "protocol", Shown::Plain),
    row(Key::EnabledTools, "enabled_tools", "enabledTools", Shown::Plain),
    row(Key::DisabledTools, "disabled_tools", "disabledTools", Shown::Plain),
    row(Key::Permissions, "permissions", "permissions", Shown::Table),
    row(Key::AlwaysLoad, "always_load", "alwaysLoad", Shown::Plain),
    row(Key::Description, "description", "description", Shown::Plain),
    // A known key with an error of its own.
    Row { key: Key::BearerToken, toml: Some("bearer_token"), json: Some("bearerToken"), shown: Shown::Nothing },
    // Codex reads these.
    foreign(Key::Foreign, "name"),
    foreign(Key::Foreign, "default_tools_approval_mode"),
    foreign(Key::Foreign, "tools"),
    foreign(Key::Foreign, "supports_parallel_tool_calls"),
    foreign(Key::Foreign, "experimental_environment"),
    foreign(Key::Foreign, "environment_id"),
];

/// A key of `oauth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OauthKey {
    ClientId,
    SecretVariable,
    PrivateKeyFile,
    ClientName,
    MetadataUrl,
    ServerMetadataUrl,
    Issuer,
    Scopes,
    Grant,
    Dpop,
    Port,
    Path,
}

/// The keys of `oauth`.
pub(super) const OAUTH: &[Row<OauthKey>] = &[
    row(OauthKey::ClientId, "client_id", "clientId", Shown::Plain),
    row(OauthKey::SecretVariable, "client_secret_env_var", "clientSecretEnvVar", Shown::Names),
    row(OauthKey::PrivateKeyFile, "private_key_file", "privateKeyFile", Shown::Plain),
    row(OauthKey::ClientName, "client_name", "clientName", Shown::Plain),
    row(OauthKey::MetadataUrl, "client_metadata_url", "clientMetadataUrl", Shown::Url),
    // The name in Claude Code.
    row(OauthKey::ServerMetadataUrl, "auth_server_metadata_url", "authServerMetadataUrl", Shown::Url),
    row(OauthKey::Issuer, "issuer", "issuer", Shown::Url),
    row(OauthKey::Scopes, "scopes", "scopes", Shown::Plain),
    row(OauthKey::Grant, "grant", "grant", Shown::Plain),
    row(OauthKey::Dpop, "dpop", "dpop", Shown::Plain),
    row(OauthKey::Port, "callback_port", "callbackPort", Shown::Plain),
    row(OauthKey::Path, "callback_path", "callbackPath", Shown::Plain),
];

/// A key of `permissions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleKey {
    Allow,
    Ask,
    Deny,
}

/// The keys of `permissions`.
pub(super) const RULES: &[Row<RuleKey>] = &[
    row(RuleKey::Allow, "allow", "allow", Shown::Plain),
    row(RuleKey::Ask, "ask", "ask", Shown::Plain),
    row(RuleKey::Deny, "deny", "deny", Shown::Plain),
];

/// A key of `sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SandboxKey {
    Mode,
    Roots,
    Network,
    Cwd,
}

/// The keys of `sandbox`.
pub(super) const SANDBOX: &[Row<SandboxKey>] = &[
    row(SandboxKey::Mode, "mode", "mode", Shown::Plain),
    row(SandboxKey::Roots, "writable_roots", "writableRoots", Shown::Plain),
    row(SandboxKey::Network, "network_access", "networkAccess", Shown::Plain),
    row(SandboxKey::Cwd, "cwd", "cwd", Shown::Plain),
];

/// A top-level key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopKey {
    Servers,
    Permissions,
    Plugins,
    Disabled,
    Sandbox,
    Schema,
}

/// The top-level keys.
pub(super) const TOP: &[Row<TopKey>] = &[
    row(TopKey::Servers, "mcp_servers", "mcpServers", Shown::Table),
    row(TopKey::Permissions, "permissions", "permissions", Shown::Table),
    row(TopKey::Plugins, "plugins", "plugins", Shown::Plain),
    row(TopKey::Disabled, "disabled_servers", "disabledServers", Shown::Plain),
    row(TopKey::Sandbox, "sandbox", "sandbox", Shown::Table),
    Row { key: TopKey::Schema, toml: None, json: Some("$schema"), shown: Shown::Plain },
];

/// Finds a key by its name.
pub(super) fn find<K>(rows: &'static [Row<K>], format: Format, name: &str) -> Option<&'static Row<K>> {
    rows.iter().find(|row| row.name(format) == Some(name))
}

/// Returns the names to suggest for an unknown key.
pub(super) fn known<K: PartialEq>(rows: &'static [Row<K>], format: Format) -> Vec<&'static str> {
    rows.iter().filter(|row| row.is_suggested()).filter_map(|row| row.name(format)).collect()
}

impl<K> Row<K> {
    /// Keys of other programs and `bearer_token` are not suggested.
    fn is_suggested(&self) -> bool {
        let is_own = self.toml.is_some() && self.json.is_some() && self.toml != Some("bearer_token");
        is_own || self.shown != Shown::Nothing
    }
}

/// Returns the name of a key of a server.
pub(super) fn server_name(key: Key, format: Format) -> &'static str {
    SERVER.iter().find(|row| row.key == key).and_then(|row| row.name(format)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_of_keys_are_unique() {
        for format in [Format::Toml, Format::Json] {
            let names: Vec<_> = SERVER.iter().filter_map(|row| row.name(format)).collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{format:?}");
        }
    }

    #[test]
    fn keys_of_other_programs_are_not_suggested() {
        let names = known(SERVER, Format::Toml);
        assert!(names.contains(&"env") && names.contains(&"http_headers"), "{names:?}");
        assert!(!names.contains(&"bearer_token") && !names.contains(&"environment_id"), "{names:?}");
    }
}
