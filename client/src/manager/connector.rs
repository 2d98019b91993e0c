//! How a manager comes by connections. Tests put servers in memory in the network's place.

use futures::future::BoxFuture;

use crate::{
    config::ServerConfig, connection::Connection, error::ConnectError, lifecycle::connect_with, options::ConnectOptions,
};

/// Makes connections.
pub trait Connector: std::fmt::Debug + Send + Sync {
    /// One attempt, which reports to the options' sink and keeps to the limits of `config`. Dropped, it ends whatever it started.
    fn connect(
        &self,
        config: ServerConfig,
        options: ConnectOptions,
    ) -> BoxFuture<'static, Result<Connection, ConnectError>>;
}

/// Starts programs and opens network connections, as [`connect_with`] does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

impl Connector for Direct {
    fn connect(
        &self,
        config: ServerConfig,
        options: ConnectOptions,
    ) -> BoxFuture<'static, Result<Connection, ConnectError>> {
        Box::pin(connect_with(config, options))
    }
}
