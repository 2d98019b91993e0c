//! Tools and calls of managed servers.

use std::{collections::BTreeMap, sync::Arc};

use futures::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use super::{Manager, UseError, server::Server};
use crate::{
    call::{self, CallOptions, ToolResult},
    catalog::ToolCatalog,
    connection::Connection,
    error::CallError,
    names::Naming,
    tool::ToolList,
};

impl Manager {
    /// The allowed tools of a server. A fresh cached list is used without starting the server; if a list cannot be
    /// read again, the cached one is used.
    ///
    /// # Errors
    /// If the server cannot be used and its list is not cached.
    pub async fn tools(&self, name: &str) -> Result<Arc<ToolList>, UseError> {
        let server = self.server(name)?;
        Ok(server.spec().tools.apply(server.tools().await?))
    }

    /// The allowed tools of all usable servers, under distinct names, and the errors of the other servers. Servers are
    /// queried in parallel, and started unless the cached list is fresh.
    pub async fn catalog(&self, naming: impl Into<Naming>) -> (ToolCatalog, BTreeMap<String, UseError>) {
        let servers: Vec<_> = self.servers().values().cloned().collect();
        let lists = servers.iter().map(|server| async move {
            let spec = server.spec();
            (spec.name().to_owned(), server.tools().await.map(|list| spec.tools.apply(list)))
        });
        let (mut catalog, mut missing) = (ToolCatalog::new(naming), BTreeMap::new());
        for (name, tools) in join_all(lists).await {
            match tools {
                Ok(list) => catalog.set_server(&name, &list.tools),
                Err(error) => drop(missing.insert(name, error)),
            }
        }
        (catalog, missing)
    }

    /// Calls a tool of a server, which is started if necessary; the timeouts of the call start afterwards. A call that
    /// was sent is never repeated, because it may have had an effect.
    ///
    /// # Errors
    /// A [`UseError`].
    pub async fn call(
        &self,
        name: &str,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolResult, UseError> {
        let server = self.server(name).inspect_err(|error| call::count(name, tool, error.kind()))?;
        if !server.allows(tool) {
            let rejected = UseError::ToolDisabled { server: name.to_owned(), tool: tool.to_owned() };
            call::count(name, tool, rejected.kind());
            return Err(rejected);
        }
        let connection = match server.connected() {
            Some(connection) if !options.cancel.is_cancelled() => connection,
            _ => {
                let Some(connection) = options.cancel.run_until_cancelled(server.require(false)).await else {
                    call::count(name, tool, CallError::Cancelled.kind());
                    return Err(CallError::Cancelled.into());
                };
                connection.inspect_err(|error| call::count(name, tool, error.kind()))?
            }
        };
        let called = connection.call(tool, arguments, options).await;
        Ok(called.inspect_err(|error| server.on_call_error(&connection, error))?)
    }
}

impl Server {
    async fn tools(self: &Arc<Self>) -> Result<Arc<ToolList>, UseError> {
        let key = self.spec().cache_key();
        let connection = match self.connected() {
            Some(connection) => connection,
            None => match self.shared.cache.get(&key, Instant::now()).filter(|_| self.spec().enabled) {
                Some(list) => return Ok(list),
                None => self.require(false).await?,
            },
        };
        if connection.known_tools().is_none()
            && let Some(list) = self.shared.cache.get(&key, Instant::now())
        {
            return Ok(list);
        }
        self.listed(&connection).await
    }

    async fn listed(&self, connection: &Connection) -> Result<Arc<ToolList>, UseError> {
        match connection.list_tools().await {
            Ok(list) => {
                self.shared.cache.put(&self.spec().cache_key(), &list, Instant::now());
                Ok(list)
            }
            // "Clients MAY serve stale responses if errors occur during re-fetching" (2026-07-28, caching).
            Err(error) => connection.known_tools().ok_or(UseError::List(error)),
        }
    }
}
