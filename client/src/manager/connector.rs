//! Opens connections for a manager. Tests substitute servers in memory.

use futures::future::BoxFuture;

use crate::{
    config::ServerConfig, connection::Connection, error::ConnectError, lifecycle::connect_with, options::ConnectOptions,
};

/// Opens connections.
pub trait Connector: std::fmt::Debug + Send + Sync {
    /// Makes one attempt within the limits of `config`, and reports events to `options`. Dropping the future stops
    /// everything that was started.
    fn connect(
        &self,
        config: ServerConfig,
        options: ConnectOptions,
    ) -> BoxFuture<'static, Result<Connection, ConnectError>>;
}

/// Starts processes and opens network connections with [`connect_with`].
#[derive(Debug, Clone, Copy, Default)]
pub struct DefaultConnector;

impl Connector for DefaultConnector {
    fn connect(
        &self,
        config: ServerConfig,
        options: ConnectOptions,
    ) -> BoxFuture<'static, Result<Connection, ConnectError>> {
        Box::pin(connect_with(config, options))
    }
}
