//! Resources of several servers.
//!
//! Servers are independent: one that fails or does not respond affects only its own part. Lists are fetched on demand and
//! cached until a `list_changed` notification.

mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use client::Manager;
use futures::future::join_all;
use serde_json::{Map, Value};

pub use self::template::{Template, TemplateArguments, TemplateError};
pub use crate::lists::RequestError;
use crate::lists::{Kind, List, Lists};

/// The resources of a manager's servers.
#[derive(Debug)]
pub struct Resources {
    lists: Lists,
}

/// The resources and resource templates of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerResources {
    /// Its resources.
    pub resources: List,
    /// Its resource templates.
    pub templates: List,
}

/// The resources of all servers.
#[derive(Debug, Default)]
pub struct AllResources {
    /// By server.
    pub servers: BTreeMap<String, ServerResources>,
    /// Servers whose lists could not be fetched.
    pub missing: BTreeMap<String, RequestError>,
}

impl Resources {
    /// Resources of this manager's servers.
    #[must_use]
    pub fn new(manager: Manager) -> Self {
        Self { lists: Lists::new(manager) }
    }

    /// Names of the enabled servers.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        self.lists.servers()
    }

    /// The resources of all servers, with a timeout of ten seconds per server.
    pub async fn all(&self) -> AllResources {
        let servers = self.servers();
        let lists = join_all(servers.iter().map(|server| async {
            let (resources, templates) = tokio::join!(
                self.lists.get_with_timeout(server, Kind::Resources),
                self.lists.get_with_timeout(server, Kind::Templates)
            );
            Ok(ServerResources { resources: resources?, templates: templates? })
        }))
        .await;
        let mut all = AllResources::default();
        for (server, offer) in servers.into_iter().zip(lists) {
            match offer {
                Ok(offer) => drop(all.servers.insert(server, offer)),
                Err(error) => drop(all.missing.insert(server, error)),
            }
        }
        all
    }

    /// The resources of one server.
    ///
    /// # Errors
    /// If the server is not available or the list cannot be fetched.
    pub async fn list(&self, server: &str) -> Result<List, RequestError> {
        self.lists.get(server, Kind::Resources).await
    }

    /// Reads a resource; returns the result of `resources/read`.
    ///
    /// # Errors
    /// If the server is not available or the request fails.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Map<String, Value>, RequestError> {
        Ok(self.lists.connection(server).await?.read_resource(uri).await?)
    }

    /// Subscribes to changes of a resource. They arrive as events of the manager.
    ///
    /// # Errors
    /// If the server is not available or the request fails.
    pub async fn subscribe(&self, server: &str, uri: &str) -> Result<(), RequestError> {
        Ok(self.lists.connection(server).await?.subscribe_resource(uri).await?)
    }

    /// Ends a subscription.
    ///
    /// # Errors
    /// If the server is not available or the request fails.
    pub async fn unsubscribe(&self, server: &str, uri: &str) -> Result<(), RequestError> {
        Ok(self.lists.connection(server).await?.unsubscribe_resource(uri).await?)
    }

    /// Finds a template by name or by its URI template, to [expand](Template::fill).
    ///
    /// # Errors
    /// If the list of templates cannot be fetched.
    pub async fn template(&self, server: &str, wanted: &str) -> Result<Option<Template>, RequestError> {
        let templates = self.lists.get(server, Kind::Templates).await?;
        let field = |template: &Value, name: &str| template.get(name).and_then(Value::as_str).map(str::to_owned);
        let is = |name: &'static str| templates.iter().find(|one| field(one, name).as_deref() == Some(wanted));
        let found = is("uriTemplate").or_else(|| is("name"));
        Ok(found.and_then(|found| Template::read(&field(found, "uriTemplate")?).ok()))
    }
}
