//! Configured servers without secrets: the names of variables and headers, and not their values.

use serde_json::{Map, Value, json};

use super::{
    configuration::Configured,
    keys::Shown,
    origin::ConfigString,
    redaction::{announces_secret, masked, secrets},
    server::{Endpoint, OauthSettings, Remote, Server, Stdio},
};

impl Configured {
    /// Returns the server as JSON.
    #[must_use]
    pub fn view(&self) -> Value {
        let mut view = json!({
            "name": self.name,
            "scope": self.scope.as_str(),
            "file": self.file,
            "enabled": self.is_enabled(),
            "valid": self.server.is_some(),
        });
        let fields = view.as_object_mut().into_iter();
        for fields in fields {
            fields.extend(self.disabled_in.iter().map(|file| ("disabledIn".to_owned(), file.as_str().into())));
            let hides = self.hides.iter().map(|hidden| json!({"scope": hidden.scope.as_str(), "file": hidden.file}));
            fields.insert("hides".to_owned(), hides.collect());
            let problems = self.problems.iter().map(|problem| Value::from(problem.to_string()));
            fields.insert("problems".to_owned(), problems.collect());
            if let Some(server) = &self.server {
                fields.extend(server.view());
            }
        }
        view
    }
}

impl Server {
    /// The command line or URL, with secrets masked.
    #[must_use]
    pub fn endpoint_line(&self) -> String {
        match &self.endpoint {
            Endpoint::Stdio(stdio) => {
                let words = std::iter::once(shown(&stdio.command, Shown::Command)).chain(arguments(stdio));
                words.collect::<Vec<_>>().join(" ")
            }
            Endpoint::Remote(remote) => shown(&remote.url, Shown::Url),
        }
    }

    /// The transport: `stdio`, `http`, `sse` or `auto`.
    #[must_use]
    pub fn transport_name(&self) -> &'static str {
        match &self.endpoint {
            Endpoint::Stdio(_) => "stdio",
            Endpoint::Remote(remote) => remote.transport.as_str(),
        }
    }

    fn view(&self) -> Map<String, Value> {
        let mut view = Map::new();
        view.insert("transport".to_owned(), self.transport_name().into());
        match &self.endpoint {
            Endpoint::Stdio(stdio) => stdio_view(stdio, &mut view),
            Endpoint::Remote(remote) => remote_view(remote, &mut view),
        }
        if self.may_log_in() {
            view.extend(oauth_view(&self.oauth));
        }
        let seconds = |time: &std::time::Duration| Value::from(time.as_secs_f64());
        let mut put = |name: &str, value: Option<Value>| view.extend(value.map(|value| (name.to_owned(), value)));
        put("required", self.required.then(|| true.into()));
        put("start", (self.start == client::manager::StartMode::OnDemand).then(|| "on-demand".into()));
        put("startupTimeoutSec", self.startup_timeout.as_ref().map(seconds));
        put("toolTimeoutSec", self.tool_timeout.as_ref().map(seconds));
        if let client::RevisionChoice::Pinned(revision) = self.protocol {
            put("protocol", Some(revision.as_str().into()));
        }
        put("enabledTools", self.tools.enabled.as_ref().map(|tools| json!(tools)));
        put("disabledTools", (!self.tools.disabled.is_empty()).then(|| json!(self.tools.disabled)));
        let rules = &self.permissions;
        let some = !(rules.allow.is_empty() && rules.ask.is_empty() && rules.deny.is_empty());
        put("permissions", some.then(|| json!({"allow": rules.allow, "ask": rules.ask, "deny": rules.deny})));
        put("alwaysLoad", self.always_load.then(|| true.into()));
        put("description", self.description.as_deref().map(Value::from));
        view
    }
}

fn stdio_view(stdio: &Stdio, view: &mut Map<String, Value>) {
    view.insert("command".to_owned(), shown(&stdio.command, Shown::Command).into());
    view.insert("args".to_owned(), arguments(stdio).collect());
    let names: Vec<&String> = stdio.env.iter().map(|(name, _)| name).collect();
    view.extend(list(&names).map(|names| ("env".to_owned(), names)));
    view.extend(list(&stdio.env_vars).map(|names| ("envVars".to_owned(), names)));
    if stdio.inherit != client::Inherit::Default {
        view.insert("inheritEnv".to_owned(), json!(stdio.inherit));
    }
    view.extend(stdio.cwd.as_ref().map(|cwd| ("cwd".to_owned(), shown(cwd, Shown::Plain).into())));
}

fn remote_view(remote: &Remote, view: &mut Map<String, Value>) {
    view.insert("url".to_owned(), shown(&remote.url, Shown::Url).into());
    let names: Vec<&String> = remote.headers.iter().map(|(name, _)| name).collect();
    view.extend(list(&names).map(|names| ("headers".to_owned(), names)));
    if !remote.env_headers.is_empty() {
        let variables = remote.env_headers.iter().map(|(name, variable)| (name.clone(), variable.as_str().into()));
        view.insert("envHttpHeaders".to_owned(), Value::Object(variables.collect()));
    }
    let bearer = remote.bearer_token_variable.as_deref();
    view.extend(bearer.map(|name| ("bearerTokenEnvVar".to_owned(), name.into())));
    if !remote.headers_helper.is_empty() {
        view.insert("headersHelper".to_owned(), command(remote.headers_helper.iter()).collect());
    }
}

fn oauth_view(oauth: &OauthSettings) -> Option<(String, Value)> {
    if *oauth == OauthSettings::default() {
        return None;
    }
    let text = |string: &Option<ConfigString>, kind| string.as_ref().map(|string| shown(string, kind));
    let view = json!({
        "clientId": text(&oauth.client_id, Shown::Plain),
        "clientSecretEnvVar": oauth.client_secret_variable,
        "privateKeyFile": text(&oauth.private_key_file, Shown::Plain),
        "clientName": oauth.client_name,
        "clientMetadataUrl": text(&oauth.client_metadata_url, Shown::Url),
        "authServerMetadataUrl": text(&oauth.server_metadata_url, Shown::Url),
        "resource": text(&oauth.resource, Shown::Url),
        "issuer": text(&oauth.issuer, Shown::Url),
        "scopes": oauth.scopes,
        "grant": oauth.client_credentials.then_some("client-credentials"),
        "callbackPort": oauth.callback_port,
        "callbackPath": oauth.callback_path,
    });
    let Value::Object(fields) = view else { return None };
    Some(("oauth".to_owned(), Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect())))
}

fn list<T: serde::Serialize>(items: &[T]) -> Option<Value> {
    (!items.is_empty()).then(|| json!(items))
}

fn shown(string: &ConfigString, kind: Shown) -> String {
    masked(string.expose(), &secrets(string.expose(), kind, false))
}

fn arguments(stdio: &Stdio) -> impl Iterator<Item = String> {
    command(stdio.args.iter())
}

/// Masks the words of a command. A word such as `--token` marks the next one as a secret.
fn command<'w>(words: impl Iterator<Item = &'w ConfigString>) -> impl Iterator<Item = String> {
    let mut announced = false;
    words.map(move |word| {
        let text = word.expose();
        let shown = masked(text, &secrets(text, Shown::Command, announced));
        announced = announces_secret(text);
        shown
    })
}
