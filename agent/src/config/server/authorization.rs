//! What a server's configuration says about logging in, as the client's authorization takes it.

use client::auth::{AuthSettings, ConfiguredClient, Grant, callback::CallbackOptions, credentials::Secret};
use url::Url;

use super::{ConfigString, Endpoint, OauthSettings, Server, SpawnContext, managed::Expander};
use crate::config::{Diagnostic, source::Origin};

/// The host of GitHub's own server. It takes the tokens of people, and registers no clients.
const GITHUB: &str = "api.githubcopilot.com";

impl Server {
    /// Whether OAuth may be tried: not for programs, not where the configuration says how to authorize, and not where it
    /// says that it is not to be.
    #[must_use]
    pub fn may_log_in(&self) -> bool {
        match &self.endpoint {
            Endpoint::Stdio(_) => false,
            Endpoint::Remote(remote) => self.oauth.enabled && !remote.has_static_authorization(),
        }
    }

    /// What to do before this server can be used, where its URL alone tells that.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        let Endpoint::Remote(remote) = &self.endpoint else { return None };
        let host = Url::parse(remote.url.expose()).ok()?.host_str()?.to_owned();
        let needs_token = host == GITHUB && !remote.has_static_authorization() && self.oauth.client_id.is_none();
        needs_token.then_some(
            "GitHub's server takes a personal access token: put one into a variable, and name that as the bearer token",
        )
    }

    /// How to log in, and where the browser comes back to.
    ///
    /// # Errors
    /// Everything that is wrong: variables that are not set, URLs that are none, files that cannot be read.
    pub(in crate::config) fn auth_settings(
        &self,
        origin: &Origin,
        surroundings: SpawnContext<'_>,
    ) -> Result<(AuthSettings, CallbackOptions), Vec<Diagnostic>> {
        let OauthSettings { client_name, scopes, client_credentials, dpop, .. } = &self.oauth;
        let mut reading = Reading { expander: Expander::new(surroundings, origin), origin };
        let mut settings = AuthSettings { scopes: scopes.clone(), dpop: *dpop, ..AuthSettings::default() };
        if *client_credentials {
            settings.grant = Grant::ClientCredentials;
        }
        if let Some(name) = client_name {
            settings.client_name.clone_from(name);
        }
        settings.client_metadata_url = self.oauth.client_metadata_url.as_ref().and_then(|url| reading.url(url));
        settings.server_metadata_url = self.oauth.server_metadata_url.as_ref().and_then(|url| reading.url(url));
        settings.resource = self.oauth.resource.as_ref().map(|resource| reading.expander.text(resource));
        settings.client = self.oauth.client_id.as_ref().map(|id| reading.client(id, &self.oauth, surroundings));
        let mut callback = CallbackOptions::default();
        callback.port = self.oauth.callback_port.or(surroundings.settings.callback_port).unwrap_or(callback.port);
        if let Some(path) = &self.oauth.callback_path {
            callback.path.clone_from(path);
        }
        let problems = reading.expander.problems;
        if problems.is_empty() { Ok((settings, callback)) } else { Err(problems) }
    }
}

struct Reading<'a> {
    expander: Expander<'a>,
    origin: &'a Origin,
}

impl Reading<'_> {
    fn url(&mut self, written: &ConfigString) -> Option<Url> {
        let text = self.expander.text(written);
        let url = Url::parse(&text).ok();
        if url.is_none() && !text.is_empty() {
            let problem =
                self.origin.error(written.span(), "no URL").with_help("as in `https://example.com/metadata.json`");
            self.expander.problems.push(problem);
        }
        url
    }

    fn client(&mut self, id: &ConfigString, oauth: &OauthSettings, surroundings: SpawnContext<'_>) -> ConfiguredClient {
        let named = oauth.client_secret_variable.as_ref();
        let secret = named.and_then(|name| (surroundings.variables)(name)).filter(|text| !text.is_empty());
        if let (Some(name), None) = (named, &secret) {
            let problem = self.origin.error(id.span(), format!("the environment variable `{name}` is not set"));
            self.expander.problems.push(problem.with_help("it holds the secret of this client"));
        }
        let secret = secret.map(Secret::new).or_else(|| surroundings.settings.client_secret.clone());
        ConfiguredClient {
            secret,
            private_key: oauth.private_key_file.as_ref().and_then(|file| self.key(file, surroundings)),
            issuer: oauth.issuer.as_ref().map(|issuer| self.expander.text(issuer)),
            ..ConfiguredClient::new(self.expander.text(id))
        }
    }

    fn key(&mut self, file: &ConfigString, surroundings: SpawnContext<'_>) -> Option<Secret> {
        let path = self.expander.text(file);
        let path = surroundings.base.map_or_else(|| path.clone().into(), |base| base.join(&path));
        match std::fs::read_to_string(&path) {
            Ok(text) => Some(Secret::new(text)),
            Err(cause) => {
                let problem = self.origin.error(file.span(), format!("the private key cannot be read: {cause}"));
                self.expander.problems.push(problem.with_help("it is a file in PEM"));
                None
            }
        }
    }
}
