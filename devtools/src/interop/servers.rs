//! Servers that nobody here wrote, and servers on the official SDKs, visited by the built-in client over every transport
//! and in every era that they have.
//!
//! `launch` starts a server, `plan` knows what there is to do with it and what it has to answer, `visit` does it.

mod launch;
mod place;
mod plan;
mod user;
mod visit;

use std::path::Path;

use client::{Revision, RevisionChoice, ServerConfig};

use self::{launch::Launched, place::Place};
use super::{
    outcome::Row,
    sdk::{Era, Transport},
    tools::Tools,
};

/// A server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Everything,
    Filesystem,
    Memory,
    Time,
    Fetch,
    Git,
    /// The notebook of `xtask/interop` on an SDK.
    TypeScript1,
    TypeScript2,
    Python,
}

/// A server on a transport, in an era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    kind: Kind,
    transport: Transport,
    era: Era,
}

impl Kind {
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

    fn word(self) -> &'static str {
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

    /// The SDK 1.x for TypeScript has no modern era, and those published servers are still on it.
    fn eras(self) -> &'static [Era] {
        match self {
            Self::Everything | Self::Filesystem | Self::Memory | Self::TypeScript1 => &[Era::Legacy],
            Self::Time | Self::Fetch | Self::Git | Self::TypeScript2 | Self::Python => &[Era::Legacy, Era::Modern],
        }
    }

    fn transports(self) -> &'static [Transport] {
        match self {
            Self::Everything | Self::TypeScript1 | Self::Python => &[Transport::Stdio, Transport::Http, Transport::Sse],
            Self::TypeScript2 => &[Transport::Stdio, Transport::Http],
            Self::Filesystem | Self::Memory | Self::Time | Self::Fetch | Self::Git => &[Transport::Stdio],
        }
    }
}

impl Subject {
    /// All that exist: HTTP+SSE is older than the modern era.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for kind in Kind::ALL {
            for &transport in kind.transports() {
                let eras = kind.eras().iter().filter(|&&era| (transport, era) != (Transport::Sse, Era::Modern));
                all.extend(eras.map(|&era| Self { kind, transport, era }));
            }
        }
        all
    }

    /// Server, transport and revision.
    pub(super) fn name(self) -> String {
        format!("servers/{}/{}/{}", self.kind.word(), self.transport.word(), self.era.revision())
    }

    /// Whether it needs Python.
    pub(super) fn is_python(self) -> bool {
        matches!(self.kind, Kind::Time | Kind::Fetch | Kind::Git | Kind::Python)
    }

    /// A server of both eras is left to choose where it is visited in the modern one, and held to the handshake in the other.
    fn protocol(self) -> RevisionChoice {
        match self.era {
            Era::Legacy if self.kind.eras().contains(&Era::Modern) => RevisionChoice::Pinned(Revision::V2025_11_25),
            Era::Legacy | Era::Modern => RevisionChoice::Auto,
        }
    }
}

/// Starts the server, visits it, and judges what was seen.
pub(super) async fn run(tools: &Tools, subject: Subject, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let place = Place::prepare(subject.kind).await?;
    let Launched { endpoint, server } = launch::launch(tools, subject, &place, folder).await?;
    let config = ServerConfig { protocol: subject.protocol(), ..ServerConfig::new(subject.kind.word(), endpoint) };
    let rows = visit::visit(subject, config, plan::steps(subject, &place), folder).await?;
    if let Some(server) = server {
        server.end().await?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_each_server_over_each_transport_that_it_has() {
        let names: Vec<String> = Subject::all().into_iter().map(Subject::name).collect();
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
