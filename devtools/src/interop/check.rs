//! Which checks there are.

use std::path::Path;

use super::{authorization, outcome::Row, sdk, servers, suite, tools::Tools};

/// One thing to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// The official server suite, for a revision.
    Suite(&'static str),
    /// What of the official server suite every server can show, for a revision, against `serve`.
    Serve(&'static str),
    /// The official client suite, for a revision.
    ClientSuite(&'static str),
    /// The official scenarios for authorization servers, as this kind of client.
    Authorization(authorization::ClientKind),
    /// A client on an SDK.
    Sdk(sdk::Subject),
    /// A server that the built-in client visits.
    Server(servers::Subject),
}

impl Check {
    /// All of them, the quickest to fail first.
    pub(super) fn all() -> Vec<Self> {
        let suites = suite::REVISIONS.into_iter().map(Self::Suite);
        let authorization = authorization::ClientKind::ALL.into_iter().map(Self::Authorization);
        let clients = suite::client::REVISIONS.into_iter().map(Self::ClientSuite);
        let sdks = sdk::Subject::all().into_iter().map(Self::Sdk);
        let servers = servers::Subject::all().into_iter().map(Self::Server);
        let served = suite::REVISIONS.into_iter().map(Self::Serve);
        suites.chain(served).chain(clients).chain(authorization).chain(sdks).chain(servers).collect()
    }

    /// The name, in parts from the general to the special.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Suite(revision) => format!("suite/{revision}"),
            Self::Serve(revision) => format!("serve/{revision}"),
            Self::ClientSuite(revision) => format!("client-suite/{revision}"),
            Self::Authorization(client) => format!("authorization/{}", client.word()),
            Self::Sdk(subject) => subject.name(),
            Self::Server(subject) => subject.name(),
        }
    }

    /// Whether this is its name, or the first parts of it.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let own = self.name();
        own == name || own.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether it needs what npm installs.
    pub(super) fn needs_node(&self) -> bool {
        !self.needs_python()
    }

    /// Whether it needs what pip installs.
    pub(super) fn needs_python(&self) -> bool {
        match self {
            Self::Sdk(subject) => subject.is_python(),
            Self::Server(subject) => subject.is_python(),
            Self::Suite(_) | Self::Serve(_) | Self::ClientSuite(_) | Self::Authorization(_) => false,
        }
    }

    /// Carries it out. The folder is for outputs.
    pub(super) async fn run(&self, tools: &Tools, folder: &Path) -> anyhow::Result<Vec<Row>> {
        match self {
            Self::Suite(revision) => suite::run(tools, revision, folder).await,
            Self::Serve(revision) => suite::run_serve(tools, revision, folder).await,
            Self::ClientSuite(revision) => suite::client::run(tools, revision, folder).await,
            Self::Authorization(client) => authorization::run(tools, *client, folder).await,
            Self::Sdk(subject) => sdk::run(tools, *subject, folder).await,
            Self::Server(subject) => servers::run(tools, *subject, folder).await,
        }
    }
}
