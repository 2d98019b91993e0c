//! The mock servers of one case. HTTP servers run in this process; stdio servers are launched by the client.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use evidence::{
    Recorder,
    recorder::{RESERVE_BYTES, RecordError},
};
use mock_servers::{
    HttpMock, Script, SseMock,
    http::StartError,
    listen::{Address, Options},
    script::Wrapper,
};
use serde_json::{Map, Value};

use super::authority::Authority;
use crate::{
    contract::ContractEndpoint,
    model::{MOCK_SERVER, Revision, Scenario, Transport},
};

/// The path of a stream over HTTP+SSE. It has a folder, so that relative URIs differ from those below the root.
const SSE_PATH: &str = "/mcp/sse";
/// Time to detect closed connections. The clients have exited, but the notification may still be in flight.
const DISCONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// A mock server that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum MockError {
    /// The server cannot listen.
    #[error("cannot start mock server `{server}`")]
    Start {
        /// Name of the server.
        server: String,
        /// Error of the operating system.
        #[source]
        source: StartError,
    },
    /// The record cannot be created.
    #[error("cannot record the frames of mock server `{server}`")]
    Record {
        /// Name of the server.
        server: String,
        /// Error of the operating system.
        #[source]
        source: RecordError,
    },
    /// The authorization server cannot start.
    #[error("cannot start the authorization server")]
    Authorization(#[from] mock_servers::oauth::StartError),
    /// The script file of a stdio server cannot be written.
    #[error("cannot write the script of mock server `{server}`")]
    Script {
        /// Name of the server.
        server: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Maximum size of the record of a server. A client that fills it is stopped: it would fill any.
const MAX_RECORD_BYTES: usize = 32 << 20;

/// Whether the client of a case filled the record of a server, which then stopped.
pub(super) fn is_exhausted(record: &Path) -> bool {
    fs::metadata(record).is_ok_and(|file| file.len() + RESERVE_BYTES as u64 > MAX_RECORD_BYTES as u64)
}

/// The mock servers of one case.
#[derive(Debug, Default)]
pub(super) struct Mocks {
    /// Endpoints by server name.
    pub(super) endpoints: BTreeMap<String, ContractEndpoint>,
    /// The credentials of the client by key of the context, if there is an authorization server.
    pub(super) credentials: Map<String, Value>,
    running: Vec<RunningMock>,
    authority: Option<Authority>,
}

/// A mock server and its recorded frames.
#[derive(Debug)]
enum RunningMock {
    Http(HttpMock, PathBuf),
    Sse(SseMock, PathBuf),
    Stdio(PathBuf),
}

/// Settings of all mock servers of a case.
pub(super) struct MockContext<'a> {
    /// Executable of mcp-workbench.
    pub(super) program: &'a Path,
    /// Directory of the case.
    pub(super) folder: &'a Path,
    /// The transport.
    pub(super) transport: Transport,
    /// The revision.
    pub(super) revision: Revision,
    /// Seed of the case.
    pub(super) seed: u64,
    /// Whether servers with Streamable HTTP that need no authorization listen at Unix sockets.
    pub(super) unix_sockets: bool,
    /// Whether frames are recorded.
    pub(super) record: bool,
}

impl Mocks {
    /// Starts the servers of a scenario, with the authorization server that protects the mock server.
    pub(super) async fn start_case(context: &MockContext<'_>, scenario: &Scenario) -> Result<Self, MockError> {
        let (Some(setup), Some(script)) = (&scenario.authorization, &scenario.server) else {
            return Self::start(context, scenario.scripts()).await;
        };
        let records = |name: &str| {
            let record = context.folder.join(format!("frames-{}.jsonl", name.replace(':', "-")));
            Ok::<_, MockError>((context.recorder(name, &record)?, record))
        };
        let authority = Authority::start(setup, context.seed, records).await?;
        let mut mocks = Self { credentials: authority.credentials(setup), ..Self::default() };
        let url = if setup.same_origin {
            authority.server().protected().to_owned()
        } else {
            let record = context.folder.join("frames-0.jsonl");
            let recorder = context.recorder(MOCK_SERVER, &record)?;
            let failed = |source| MockError::Start { server: MOCK_SERVER.to_owned(), source };
            let (revision, options) = (context.revision.as_str(), Options::default());
            let server = authority.server();
            let mock =
                HttpMock::start_protected(script.clone(), revision, context.seed, recorder, options, server).await;
            let mock = mock.map_err(failed)?;
            let url = mock.url();
            mocks.running.push(RunningMock::Http(mock, record));
            url
        };
        mocks.endpoints.insert(MOCK_SERVER.to_owned(), ContractEndpoint::StreamableHttp { url });
        mocks.authority = Some(authority);
        let others = scenario.servers.iter().map(|(name, script)| (name.as_str(), script));
        mocks.start_more(context, others).await?;
        Ok(mocks)
    }

    /// Starts HTTP servers, and writes the scripts of stdio servers.
    pub(super) async fn start<'a>(
        context: &MockContext<'_>,
        scripts: impl Iterator<Item = (&'a str, &'a Script)>,
    ) -> Result<Self, MockError> {
        let mut mocks = Self::default();
        mocks.start_more(context, scripts).await?;
        Ok(mocks)
    }

    async fn start_more<'a>(
        &mut self,
        context: &MockContext<'_>,
        scripts: impl Iterator<Item = (&'a str, &'a Script)>,
    ) -> Result<(), MockError> {
        let first = self.endpoints.len();
        for (number, (server, script)) in scripts.enumerate() {
            let (endpoint, running) = context.start(first + number, server, script).await?;
            self.endpoints.insert(server.to_owned(), endpoint);
            self.running.push(running);
        }
        Ok(())
    }

    /// The files with the frames so far. That of a stdio server does not exist before the client launches it.
    pub(super) fn records(&self) -> Vec<PathBuf> {
        let record = |running: &RunningMock| match running {
            RunningMock::Http(_, record) | RunningMock::Sse(_, record) | RunningMock::Stdio(record) => record.clone(),
        };
        self.running.iter().map(record).chain(self.authority.iter().flat_map(Authority::records)).collect()
    }

    /// Stops the servers and returns the files with their frames. A stdio server that was not launched has no file.
    pub(super) async fn stop(self) -> Vec<PathBuf> {
        let mut records = Vec::new();
        for running in self.running {
            match running {
                RunningMock::Http(mock, record) => {
                    mock.until_idle(DISCONNECT_TIMEOUT).await;
                    mock.stop().await;
                    records.push(record);
                }
                RunningMock::Sse(mock, record) => {
                    mock.until_idle(DISCONNECT_TIMEOUT).await;
                    mock.stop().await;
                    records.push(record);
                }
                RunningMock::Stdio(record) => records.push(record),
            }
        }
        if let Some(authority) = self.authority {
            records.extend(authority.stop().await);
        }
        records.retain(|record| record.exists());
        records
    }
}

impl MockContext<'_> {
    /// Frames are recorded in a file and read back when the case is judged, so that waiting cases need no memory.
    pub(super) fn recorder(&self, server: &str, record: &Path) -> Result<Recorder, MockError> {
        if !self.record || self.transport == Transport::Stdio {
            return Ok(Recorder::disabled());
        }
        let source = |source| MockError::Record { server: server.to_owned(), source };
        Recorder::to_bounded_file(server, record, MAX_RECORD_BYTES).map_err(source)
    }

    async fn start(
        &self,
        number: usize,
        server: &str,
        script: &Script,
    ) -> Result<(ContractEndpoint, RunningMock), MockError> {
        let failed = |source| MockError::Start { server: server.to_owned(), source };
        let record = self.folder.join(format!("frames-{number}.jsonl"));
        let recorder = self.recorder(server, &record)?;
        let revision = self.revision.as_str();
        Ok(match self.transport {
            Transport::StreamableHttp => {
                let options = if self.unix_sockets {
                    Options::at(Address::Unix(self.folder.join(format!("server-{number}.sock"))))
                } else {
                    Options::default()
                };
                let mock = HttpMock::start_with(script.clone(), revision, self.seed, recorder, options).await;
                let mock = mock.map_err(failed)?;
                (ContractEndpoint::StreamableHttp { url: mock.url() }, RunningMock::Http(mock, record))
            }
            Transport::HttpSse => {
                let options = Options::default().with_path(SSE_PATH);
                let mock = SseMock::start_with(script.clone(), revision, self.seed, recorder, options).await;
                let mock = mock.map_err(failed)?;
                (ContractEndpoint::Sse { url: mock.url() }, RunningMock::Sse(mock, record))
            }
            Transport::Stdio => {
                let source = |source| MockError::Script { server: server.to_owned(), source };
                let command = self.command(number, server, script, &record).map_err(source)?;
                (ContractEndpoint::Stdio { command }, RunningMock::Stdio(record))
            }
        })
    }

    /// The command that launches a stdio server. Its arguments contain the directory of the case, which identifies the
    /// servers of the case in the process tree.
    fn command(&self, number: usize, server: &str, script: &Script, record: &Path) -> io::Result<Vec<String>> {
        if let Some(command) = &script.process.command {
            return Ok(command.clone());
        }
        let file = self.folder.join(format!("script-{number}.json"));
        fs::write(&file, serde_json::to_vec(script)?)?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut command = vec![
            text(self.program),
            "mock".into(),
            "stdio".into(),
            text(&file),
            format!("--revision={}", self.revision),
            format!("--seed={}", self.seed),
            format!("--name={server}"),
            format!("--runs={}", text(&self.folder.join(format!("runs-{number}")))),
        ];
        if self.record {
            command.push(format!("--record={}", text(record)));
            command.push(format!("--record-limit={MAX_RECORD_BYTES}"));
        }
        Ok(match script.process.wrapper {
            Wrapper::None => command,
            // The second command prevents the shell from replacing itself with the first.
            Wrapper::Shell => {
                let quoted: Vec<String> = command.iter().map(|word| quote(word)).collect();
                vec!["sh".into(), "-c".into(), format!("{}; exit $?", quoted.join(" "))]
            }
        })
    }
}

/// Quotes a word for a POSIX shell.
pub(super) fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
