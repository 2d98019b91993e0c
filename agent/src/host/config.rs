//! The servers and rules of a host.

use std::{collections::BTreeMap, sync::Arc};

use client::{
    ManagedServer,
    auth::{AuthSettings, callback::CallbackOptions},
};

use crate::{
    config::{Configuration, Configured, Sandbox, Server, ServerLookupError, Settings},
    permissions::{Permissions, RuleErrors, RuleTexts},
    policy::{Origin, Policy},
};

/// The servers and rules of a host.
#[derive(Debug, Clone, Default)]
pub struct HostConfig {
    /// The servers.
    pub servers: Vec<HostServer>,
    /// Permission rules.
    pub permissions: Permissions,
    /// The administrator's policy. It is also checked for each call.
    pub policy: Arc<Policy>,
    /// The sandbox of the program, for servers that declare an interest; `None` for that of the options.
    pub sandbox: Option<Sandbox>,
    /// Configured servers that cannot be used.
    pub excluded: BTreeMap<String, Exclusion>,
}

/// A server of a host.
#[derive(Debug, Clone)]
pub struct HostServer {
    /// How the client manages it.
    pub managed: ManagedServer,
    /// The source of its entry.
    pub origin: Origin,
    /// Whether the model always sees its tools.
    pub always_load: bool,
    /// Settings of a login with OAuth; `None` if the server does not use it.
    pub login: Option<HostLogin>,
}

/// Settings of a login with OAuth.
#[derive(Debug, Clone, Default)]
pub struct HostLogin {
    /// Settings of the flow.
    pub settings: AuthSettings,
    /// The redirect URI.
    pub callback: CallbackOptions,
}

/// Why a configured server cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Exclusion {
    /// Its configuration is invalid.
    #[error(transparent)]
    Config(ServerLookupError),
    /// The administrator does not allow it.
    #[error("{0}")]
    Policy(String),
}

impl HostServer {
    /// A server that is not from a file.
    #[must_use]
    pub fn new(managed: ManagedServer) -> Self {
        Self { managed, origin: Origin::User, always_load: false, login: None }
    }

    /// The server of an entry. The policy is not applied.
    ///
    /// # Errors
    /// If the configuration is invalid, or a variable is not set.
    pub fn configured(
        entry: &Configured,
        policy: &Policy,
        variables: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> Result<Self, ServerLookupError> {
        let managed = entry.managed(variables, settings)?;
        // A configured `Authorization` header excludes a login.
        let may_log_in = entry.server.as_ref().is_some_and(Server::may_log_in);
        let login = may_log_in.then(|| entry.auth_settings(variables, settings)).transpose()?;
        let login = login.map(|(settings, callback)| HostLogin { settings, callback });
        // An exclusive file of the administrator is the only configuration.
        let origin = if policy.exclusive().is_some() { Origin::Managed } else { Origin::User };
        let always_load = entry.server.as_ref().is_some_and(|server| server.always_load);
        Ok(Self { managed, origin, always_load, login })
    }
}

impl HostConfig {
    /// Reads a configuration: the servers that are valid and that the policy allows, all rules, and additional global rules.
    ///
    /// # Errors
    /// All invalid rules.
    pub fn read(
        configuration: &Configuration,
        policy: Arc<Policy>,
        variables: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
        given: &RuleTexts,
    ) -> Result<Self, RuleErrors> {
        let permissions = Permissions::configured(configuration, given)?;
        let mut config = Self { permissions, policy, sandbox: configuration.sandbox.clone(), ..Self::default() };
        for entry in &configuration.servers {
            // The lookup also fails if an unreadable file could define the server.
            let server = configuration
                .entry(&entry.name)
                .and_then(|entry| HostServer::configured(entry, &config.policy, variables, settings));
            let excluded = match server {
                Ok(server) => match config.policy.decide(&server.managed.config, server.origin) {
                    decision if decision.allowed => {
                        config.servers.push(server);
                        continue;
                    }
                    decision => Exclusion::Policy(decision.reason.into_owned()),
                },
                Err(error) => Exclusion::Config(error),
            };
            config.excluded.insert(entry.name.clone(), excluded);
        }
        Ok(config)
    }

    /// Adds servers that are not from a file, for example of a command line.
    #[must_use]
    pub fn with_servers(mut self, servers: impl IntoIterator<Item = HostServer>) -> Self {
        self.servers.extend(servers);
        self
    }

    /// The server of this name.
    #[must_use]
    pub fn server_named(&self, name: &str) -> Option<&HostServer> {
        self.servers.iter().find(|server| server.managed.name() == name)
    }
}
