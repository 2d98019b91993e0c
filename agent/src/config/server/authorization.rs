//! Converts the OAuth settings of a server to those of the client.

use client::auth::{AuthSettings, ConfiguredClient, Grant, callback::CallbackOptions, credentials::Secret};
use url::Url;

use super::{ConfigString, Endpoint, OauthSettings, Server, SpawnContext, managed::Expander};
use crate::config::{Diagnostic, origin::Origin};

/// The host of GitHub's server, which accepts personal access tokens and has no client registration.
const GITHUB: &str = "api.githubcopilot.com";

impl Server {
    /// Whether OAuth may be used: for URLs, unless the configuration disables it or contains other credentials.
    #[must_use]
    pub fn may_log_in(&self) -> bool {
        match &self.endpoint {
            Endpoint::Stdio(_) => false,
            Endpoint::Remote(remote) => self.oauth.enabled && !remote.has_static_authorization(),
        }
    }

    /// Help for a well-known server that needs further configuration.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        let Endpoint::Remote(remote) = &self.endpoint else { return None };
        let host = Url::parse(remote.url.expose()).ok()?.host_str()?.to_owned();
        let needs_token = host == GITHUB && !remote.has_static_authorization() && self.oauth.client_id.is_none();
        needs_token.then_some(
            "GitHub's server needs a personal access token: put it into an environment variable, and configure that as the bearer token",
        )
    }

    /// Creates the settings of the login and of its redirect URI.
    ///
    /// # Errors
    /// All problems: variables that are not set, invalid URLs and unreadable files.
    pub(in crate::config) fn auth_settings(
        &self,
        origin: &Origin,
        context: SpawnContext<'_>,
    ) -> Result<(AuthSettings, CallbackOptions), Vec<Diagnostic>> {
        let OauthSettings { client_name, scopes, client_credentials, dpop, .. } = &self.oauth;
        let mut expander = Expander::new(context, origin);
        let mut settings = AuthSettings { scopes: scopes.clone(), dpop: *dpop, ..AuthSettings::default() };
        if *client_credentials {
            settings.grant = Grant::ClientCredentials;
        }
        if let Some(name) = client_name {
            settings.client_name.clone_from(name);
        }
        settings.client_metadata_url =
            self.oauth.client_metadata_url.as_ref().and_then(|url| expander.metadata_url(url));
        settings.server_metadata_url =
            self.oauth.server_metadata_url.as_ref().and_then(|url| expander.metadata_url(url));
        settings.resource = self.oauth.resource.as_ref().map(|resource| expander.expand(resource));
        settings.client = self.oauth.client_id.as_ref().map(|id| expander.client(id, &self.oauth));
        let mut callback = CallbackOptions::default();
        callback.port = self.oauth.callback_port.or(context.settings.callback_port).unwrap_or(callback.port);
        if let Some(path) = &self.oauth.callback_path {
            callback.path.clone_from(path);
        }
        let problems = expander.problems;
        if problems.is_empty() { Ok((settings, callback)) } else { Err(problems) }
    }
}

impl Expander<'_> {
    fn metadata_url(&mut self, string: &ConfigString) -> Option<Url> {
        let text = self.expand(string);
        let url = Url::parse(&text).ok();
        if url.is_none() && !text.is_empty() {
            self.error(string, "not a valid URL", "write a URL, as in `https://example.com/metadata.json`");
        }
        url
    }

    fn client(&mut self, id: &ConfigString, oauth: &OauthSettings) -> ConfiguredClient {
        let variable = oauth.client_secret_variable.as_ref();
        let secret = variable.and_then(|name| (self.context.variables)(name)).filter(|text| !text.is_empty());
        if let (Some(name), None) = (variable, &secret) {
            let message = format!("the environment variable `{name}` is not set");
            self.error(id, message, "set it to the secret of this client");
        }
        let secret = secret.map(Secret::new).or_else(|| self.context.settings.client_secret.clone());
        ConfiguredClient {
            secret,
            private_key: oauth.private_key_file.as_ref().and_then(|file| self.private_key(file)),
            issuer: oauth.issuer.as_ref().map(|issuer| self.expand(issuer)),
            ..ConfiguredClient::new(self.expand(id))
        }
    }

    fn private_key(&mut self, file: &ConfigString) -> Option<Secret> {
        let path = self.expand(file);
        let path = self.context.base.map_or_else(|| path.clone().into(), |base| base.join(&path));
        match std::fs::read_to_string(&path) {
            Ok(text) => Some(Secret::new(text)),
            Err(cause) => {
                self.error(file, format!("cannot read the private key: {cause}"), "write the path of a PEM file");
                None
            }
        }
    }
}
