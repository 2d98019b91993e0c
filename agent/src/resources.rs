//! Resources of several servers at once.
//!
//! Each server is asked for itself: one that fails or hangs costs only its own part. Lists are read when they are wanted, and
//! kept until their server says that they have changed.

mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use client::Manager;
use futures::future::join_all;
use serde_json::{Map, Value};

pub use self::template::{Template, TemplateArguments, TemplateError};
pub use crate::lists::AskError;
use crate::lists::{Kind, List, Lists};

/// The resources of the servers of a manager.
#[derive(Debug)]
pub struct Resources {
    lists: Lists,
}

/// What one server offers, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// Its resources.
    pub resources: List,
    /// Its templates of resources.
    pub templates: List,
}

/// What all servers offer.
#[derive(Debug, Default)]
pub struct Offers {
    /// By server.
    pub servers: BTreeMap<String, Offer>,
    /// The servers whose lists could not be read, and why.
    pub missing: BTreeMap<String, AskError>,
}

impl Resources {
    /// Those of these servers.
    #[must_use]
    pub fn new(manager: Manager) -> Self {
        Self { lists: Lists::new(manager) }
    }

    /// The names of the servers that may be asked.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        self.lists.servers()
    }

    /// What all servers offer. None waits for another, and none keeps the others waiting for longer than ten seconds.
    pub async fn all(&self) -> Offers {
        let servers = self.servers();
        let asked = join_all(servers.iter().map(|server| async {
            let (resources, templates) = tokio::join!(
                self.lists.get_in_time(server, Kind::Resources),
                self.lists.get_in_time(server, Kind::Templates)
            );
            Ok(Offer { resources: resources?, templates: templates? })
        }))
        .await;
        let mut offers = Offers::default();
        for (server, offer) in servers.into_iter().zip(asked) {
            match offer {
                Ok(offer) => drop(offers.servers.insert(server, offer)),
                Err(error) => drop(offers.missing.insert(server, error)),
            }
        }
        offers
    }

    /// The resources of one server.
    ///
    /// # Errors
    /// If it cannot be used, or the list cannot be read to its end.
    pub async fn list(&self, server: &str) -> Result<List, AskError> {
        self.lists.get(server, Kind::Resources).await
    }

    /// Reads a resource of a server: the result of `resources/read`, as it came.
    ///
    /// # Errors
    /// If the server cannot be used, or refuses.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Map<String, Value>, AskError> {
        Ok(self.lists.connection(server).await?.read_resource(uri).await?)
    }

    /// Asks a server to tell of changes of a resource: they come as events of the manager.
    ///
    /// # Errors
    /// If the server cannot be used, or refuses.
    pub async fn subscribe(&self, server: &str, uri: &str) -> Result<(), AskError> {
        Ok(self.lists.connection(server).await?.subscribe_resource(uri).await?)
    }

    /// Takes that back.
    ///
    /// # Errors
    /// If the server cannot be used, or refuses.
    pub async fn unsubscribe(&self, server: &str, uri: &str) -> Result<(), AskError> {
        Ok(self.lists.connection(server).await?.unsubscribe_resource(uri).await?)
    }

    /// A template of a server, by its name or as it is written; to be [filled](Template::fill).
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub async fn template(&self, server: &str, wanted: &str) -> Result<Option<Template>, AskError> {
        let templates = self.lists.get(server, Kind::Templates).await?;
        let field = |template: &Value, name: &str| template.get(name).and_then(Value::as_str).map(str::to_owned);
        let is = |name: &'static str| templates.iter().find(|one| field(one, name).as_deref() == Some(wanted));
        let found = is("uriTemplate").or_else(|| is("name"));
        Ok(found.and_then(|found| Template::read(&field(found, "uriTemplate")?).ok()))
    }
}
