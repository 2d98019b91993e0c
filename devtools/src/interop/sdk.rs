//! Clients on the official SDKs against the profile `everything`, in short pages.
//!
//! The programs in `xtask/interop/` do a list of steps and report what they saw; `judge` knows what they should have seen.

mod judge;

use std::{fs, path::Path, time::Duration};

use anyhow::Context as _;

use super::{
    child::{self, Output},
    outcome::Row,
    server::Server,
    tools::Tools,
};

/// How long a program may take: usually two seconds, but each of its steps has a limit of its own.
const LIMIT: Duration = Duration::from_secs(90);

/// An SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sdk {
    TypeScript1,
    TypeScript2,
    Python,
}

/// A transport that the SDKs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Stdio,
    Http,
    Sse,
}

/// How the client speaks: with a handshake, or in the modern way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

/// An SDK on a transport, in an era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    sdk: Sdk,
    transport: Transport,
    era: Era,
}

impl Subject {
    /// All that exist: SDK 1.x has no modern era, and HTTP+SSE is older than it.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for sdk in [Sdk::TypeScript1, Sdk::TypeScript2, Sdk::Python] {
            for transport in [Transport::Stdio, Transport::Http, Transport::Sse] {
                all.push(Self { sdk, transport, era: Era::Legacy });
                if sdk != Sdk::TypeScript1 && transport != Transport::Sse {
                    all.push(Self { sdk, transport, era: Era::Modern });
                }
            }
        }
        all
    }

    /// SDK, transport and revision.
    pub(super) fn name(self) -> String {
        format!("{}/{}/{}", self.sdk.word(), self.transport.word(), self.era.revision())
    }

    /// Whether it needs Python.
    pub(super) fn is_python(self) -> bool {
        self.sdk == Sdk::Python
    }
}

impl Sdk {
    fn word(self) -> &'static str {
        match self {
            Self::TypeScript1 => "typescript-1",
            Self::TypeScript2 => "typescript-2",
            Self::Python => "python",
        }
    }
}

impl Transport {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

impl Era {
    fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// The newest revision that is spoken in this way.
    pub(super) fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

/// Runs the program and judges its report.
pub(super) async fn run(tools: &Tools, subject: Subject, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let Subject { sdk, transport, era } = subject;
    let mut command = match sdk {
        Sdk::Python => child::command(tools.python())?,
        Sdk::TypeScript1 | Sdk::TypeScript2 => child::command(tools.node())?,
    };
    match sdk {
        Sdk::Python => command.arg(tools.python_program("python.py")),
        Sdk::TypeScript1 | Sdk::TypeScript2 => command.arg(tools.node_program(&format!("{}.mjs", sdk.word()))),
    };
    command.args([transport.word(), era.word()]);
    let paged = tools.paged.to_string_lossy();
    let server = match transport {
        Transport::Stdio => {
            command.arg(&tools.workbench).args(["mock", "stdio"]).arg(&tools.paged);
            None
        }
        Transport::Http | Transport::Sse => {
            let arguments = ["serve", &paged, "--transport", transport.word(), "--listen", "127.0.0.1:0"];
            let server = Server::start(tools, &arguments, folder).await?;
            command.arg(&server.url);
            Some(server)
        }
    };
    let output = Output::in_folder(folder, "client");
    let code = child::run(command, &output, LIMIT).await?;
    let report = fs::read_to_string(&output.stdout).context("the client's report is no text")?;
    let rows = judge::judge(&report, code, era, transport).with_context(|| output.complaint())?;
    if let Some(server) = server {
        server.end().await?;
    }
    Ok(rows)
}
