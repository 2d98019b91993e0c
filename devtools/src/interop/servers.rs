//! The built-in client against published servers and servers on the official SDKs, over each transport and in each era that
//! they support.
//!
//! [`launch`] starts a server, [`plan`] lists the steps with their expected results, [`visit`] executes them.

mod launch;
mod plan;
mod user;
mod visit;
mod workspace;

use std::path::Path;

use client::{Era, Revision, RevisionChoice, ServerConfig};
use scenarios::model::Transport;

use self::{launch::Launched, workspace::Workspace};
use super::{
    axes::{newest_revision, short_name},
    outcome::Row,
    tools::Tools,
};

/// A server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestServer {
    Everything,
    Filesystem,
    Memory,
    Time,
    Fetch,
    Git,
    /// The notebook server of `devtools/interop` on an SDK.
    TypeScript1,
    TypeScript2,
    Python,
}

/// A server, a transport and an era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerVariant {
    server: TestServer,
    transport: Transport,
    era: Era,
}

impl TestServer {
    const ALL: [Self; 9] = [
        Self::Everything,
        Self::Filesystem,
        Self::Memory,
        Self::Time,
        Self::Fetch,
        Self::Git,
        Self::TypeScript1,
        Self::TypeScript2,
        Self::Python,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Filesystem => "filesystem",
            Self::Memory => "memory",
            Self::Time => "time",
            Self::Fetch => "fetch",
            Self::Git => "git",
            Self::TypeScript1 => "typescript-1",
            Self::TypeScript2 => "typescript-2",
            Self::Python => "python",
        }
    }

    /// Version 1 of the TypeScript SDK, which most published servers use, has no modern era.
    fn eras(self) -> &'static [Era] {
        match self {
            Self::Everything | Self::Filesystem | Self::Memory | Self::TypeScript1 => &[Era::Legacy],
            Self::Time | Self::Fetch | Self::Git | Self::TypeScript2 | Self::Python => &[Era::Legacy, Era::Modern],
        }
    }

    fn transports(self) -> &'static [Transport] {
        match self {
            Self::Everything | Self::TypeScript1 | Self::Python => {
                &[Transport::Stdio, Transport::StreamableHttp, Transport::HttpSse]
            }
            Self::TypeScript2 => &[Transport::Stdio, Transport::StreamableHttp],
            Self::Filesystem | Self::Memory | Self::Time | Self::Fetch | Self::Git => &[Transport::Stdio],
        }
    }
}

impl ServerVariant {
    /// All combinations; HTTP+SSE has no modern era.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for server in TestServer::ALL {
            for &transport in server.transports() {
                let eras = server.eras().iter().filter(|&&era| (transport, era) != (Transport::HttpSse, Era::Modern));
                all.extend(eras.map(|&era| Self { server, transport, era }));
            }
        }
        all
    }

    /// The name: server, transport and revision.
    pub(super) fn name(self) -> String {
        format!("servers/{}/{}/{}", self.server.as_str(), short_name(self.transport), newest_revision(self.era))
    }

    /// Whether it needs Python.
    pub(super) fn is_python(self) -> bool {
        matches!(self.server, TestServer::Time | TestServer::Fetch | TestServer::Git | TestServer::Python)
    }

    /// Pins the revision to test the legacy era of a server that supports both.
    fn protocol(self) -> RevisionChoice {
        match self.era {
            Era::Legacy if self.server.eras().contains(&Era::Modern) => RevisionChoice::Pinned(Revision::V2025_11_25),
            Era::Legacy | Era::Modern => RevisionChoice::Auto,
        }
    }
}

/// Starts the server, executes the steps and judges the results.
pub(super) async fn run(tools: &Tools, variant: ServerVariant, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let workspace = Workspace::prepare(variant.server).await?;
    let Launched { endpoint, server } = launch::launch(tools, variant, &workspace, directory).await?;
    let config = ServerConfig { protocol: variant.protocol(), ..ServerConfig::new(variant.server.as_str(), endpoint) };
    let rows = visit::visit(variant, config, plan::steps(variant, &workspace), directory).await?;
    if let Some(server) = server {
        server.stop().await?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_each_server_over_each_of_its_transports() {
        let names: Vec<String> = ServerVariant::all().into_iter().map(ServerVariant::name).collect();
        for name in [
            "servers/everything/stdio/2025-11-25",
            "servers/everything/http/2025-11-25",
            "servers/everything/sse/2025-11-25",
            "servers/git/stdio/2026-07-28",
            "servers/typescript-2/http/2026-07-28",
            "servers/python/sse/2025-11-25",
        ] {
            assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
        }
        assert!(!names.iter().any(|name| name.ends_with("sse/2026-07-28")));
    }
}
