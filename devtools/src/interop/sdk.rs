//! Clients on the official SDKs against the profile `everything` with short pages.
//!
//! The programs in `devtools/interop/` execute a list of steps and report the results, which [`judge`] checks.

mod judge;

use std::{fs, path::Path, time::Duration};

use anyhow::Context as _;
use client::Era;
use scenarios::model::Transport;

use super::{
    axes::{newest_revision, short_name},
    child::{self, Output},
    outcome::Row,
    server::Server,
    tools::Tools,
};

/// Timeout of a program. It usually takes two seconds; each step has a timeout of its own.
const TIMEOUT: Duration = Duration::from_secs(90);

/// An SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sdk {
    TypeScript1,
    TypeScript2,
    Python,
}

/// An SDK, a transport and an era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SdkVariant {
    sdk: Sdk,
    transport: Transport,
    era: Era,
}

impl SdkVariant {
    /// All combinations: version 1 of the TypeScript SDK has no modern era, and neither has HTTP+SSE.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for sdk in [Sdk::TypeScript1, Sdk::TypeScript2, Sdk::Python] {
            for transport in Transport::ALL {
                all.push(Self { sdk, transport, era: Era::Legacy });
                if sdk != Sdk::TypeScript1 && transport != Transport::HttpSse {
                    all.push(Self { sdk, transport, era: Era::Modern });
                }
            }
        }
        all
    }

    /// The name: SDK, transport and revision.
    pub(super) fn name(self) -> String {
        format!("{}/{}/{}", self.sdk.as_str(), short_name(self.transport), newest_revision(self.era))
    }

    /// Whether it needs Python.
    pub(super) fn is_python(self) -> bool {
        self.sdk == Sdk::Python
    }
}

impl Sdk {
    fn as_str(self) -> &'static str {
        match self {
            Self::TypeScript1 => "typescript-1",
            Self::TypeScript2 => "typescript-2",
            Self::Python => "python",
        }
    }
}

/// Runs the program and judges its report.
pub(super) async fn run(tools: &Tools, variant: SdkVariant, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let SdkVariant { sdk, transport, era } = variant;
    let mut command = match sdk {
        Sdk::Python => child::command(tools.python())?,
        Sdk::TypeScript1 | Sdk::TypeScript2 => child::command(tools.node())?,
    };
    match sdk {
        Sdk::Python => command.arg(tools.python_program("python.py")),
        Sdk::TypeScript1 | Sdk::TypeScript2 => command.arg(tools.node_program(&format!("{}.mjs", sdk.as_str()))),
    };
    let era_name = match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    };
    command.args([short_name(transport), era_name]);
    let paged = tools.paged.to_string_lossy();
    let server = match transport {
        Transport::Stdio => {
            command.arg(&tools.workbench).args(["mock", "stdio"]).arg(&tools.paged);
            None
        }
        Transport::StreamableHttp | Transport::HttpSse => {
            let arguments = ["serve", &paged, "--transport", short_name(transport), "--listen", "127.0.0.1:0"];
            let server = Server::start(tools, &arguments, directory).await?;
            command.arg(&server.url);
            Some(server)
        }
    };
    let output = Output::in_directory(directory, "client");
    let code = child::run(command, &output, TIMEOUT).await?;
    let report = fs::read_to_string(&output.stdout).context("the report of the client is not UTF-8")?;
    let rows = judge::judge(&report, code, era, transport).with_context(|| output.last_lines())?;
    if let Some(server) = server {
        server.stop().await?;
    }
    Ok(rows)
}
