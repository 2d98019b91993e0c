//! The list of checks.

use std::path::Path;

use super::{adapters, authorization, locust, outcome::Row, sdk, servers, suite, tools::Tools};

/// One check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// The official server suite in a revision, against `mock serve`.
    Suite(&'static str),
    /// The scenarios of the official server suite that need no fixtures, in a revision, against `serve`.
    Serve(&'static str),
    /// The official client suite in a revision.
    ClientSuite(&'static str),
    /// The official scenarios for authorization servers, with this client authentication.
    Authorization(authorization::ClientAuth),
    /// A client on an SDK, against `mock`.
    Sdk(sdk::SdkVariant),
    /// A client on an SDK, as a subject of `conformance`.
    Adapter(adapters::Adapter),
    /// The built-in client against a published server or an SDK server.
    Server(servers::ServerVariant),
    /// Workers of a distributed load against a Locust master.
    Locust,
}

impl Check {
    /// All checks, fastest first.
    pub(super) fn all() -> Vec<Self> {
        let suites = suite::REVISIONS.into_iter().map(Self::Suite);
        let authorization = authorization::ClientAuth::ALL.into_iter().map(Self::Authorization);
        let clients = suite::client::REVISIONS.into_iter().map(Self::ClientSuite);
        let sdks = sdk::SdkVariant::all().into_iter().map(Self::Sdk);
        let adapters = adapters::Adapter::ALL.into_iter().map(Self::Adapter);
        let servers = servers::ServerVariant::all().into_iter().map(Self::Server);
        let served = suite::REVISIONS.into_iter().map(Self::Serve);
        suites
            .chain(served)
            .chain(clients)
            .chain(authorization)
            .chain(sdks)
            .chain(adapters)
            .chain(servers)
            .chain([Self::Locust])
            .collect()
    }

    /// The name; its parts are separated by slashes.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Suite(revision) => format!("suite/{revision}"),
            Self::Serve(revision) => format!("serve/{revision}"),
            Self::ClientSuite(revision) => format!("client-suite/{revision}"),
            Self::Authorization(client) => format!("authorization/{}", client.as_str()),
            Self::Sdk(variant) => variant.name(),
            Self::Adapter(adapter) => adapter.name(),
            Self::Server(variant) => variant.name(),
            Self::Locust => "locust".to_owned(),
        }
    }

    /// Whether this is the name or its first parts.
    pub(super) fn matches(&self, name: &str) -> bool {
        let own = self.name();
        own == name || own.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether it needs the packages of pip; otherwise it needs those of npm.
    pub(super) fn needs_python(&self) -> bool {
        match self {
            Self::Sdk(variant) => variant.is_python(),
            Self::Adapter(adapter) => adapter.is_python(),
            Self::Server(variant) => variant.is_python(),
            Self::Locust => true,
            Self::Suite(_) | Self::Serve(_) | Self::ClientSuite(_) | Self::Authorization(_) => false,
        }
    }

    /// Runs the check. Outputs are written to the directory.
    pub(super) async fn run(&self, tools: &Tools, directory: &Path) -> anyhow::Result<Vec<Row>> {
        match self {
            Self::Suite(revision) => suite::run(tools, revision, directory).await,
            Self::Serve(revision) => suite::run_serve(tools, revision, directory).await,
            Self::ClientSuite(revision) => suite::client::run(tools, revision, directory).await,
            Self::Authorization(client) => authorization::run(tools, *client, directory).await,
            Self::Sdk(variant) => sdk::run(tools, *variant, directory).await,
            Self::Adapter(adapter) => adapters::run(tools, *adapter, directory).await,
            Self::Server(variant) => servers::run(tools, *variant, directory).await,
            Self::Locust => locust::run(tools, directory).await,
        }
    }
}
