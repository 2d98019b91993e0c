//! The mock servers of one case: started inside this process over HTTP, prepared to be launched by the client over
//! stdio.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use mock_servers::{
    Frame, HttpMock, Recorder, Script, SseMock,
    http::StartError,
    record::{RecordError, read_file},
    script::Wrapper,
};

use crate::{
    contract::Endpoint,
    model::{Revision, Transport},
};

/// How long a server waits to see its clients hang up. They are gone by then; only the news may still be on its way.
const HANG_UP: Duration = Duration::from_millis(500);

/// Why the mock servers of a case could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum MockError {
    /// A server could not listen.
    #[error("mock server `{server}` could not be started")]
    Start {
        /// The server.
        server: String,
        /// Why.
        #[source]
        source: StartError,
    },
    /// A script could not be written for the process that is to run it.
    #[error("the script of mock server `{server}` could not be written")]
    Script {
        /// The server.
        server: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The mock servers of one case.
#[derive(Debug, Default)]
pub(super) struct Mocks {
    /// Where the client finds them.
    pub(super) endpoints: BTreeMap<String, Endpoint>,
    running: Vec<Running>,
}

/// A mock server, and where its frames are.
#[derive(Debug)]
enum Running {
    Http(HttpMock, Recorder),
    Sse(SseMock, Recorder),
    Stdio(PathBuf),
}

/// What all mock servers of a case have in common.
pub(super) struct Stage<'a> {
    /// The workbench's own executable.
    pub(super) program: &'a Path,
    /// The folder of the case.
    pub(super) folder: &'a Path,
    /// The transport.
    pub(super) transport: Transport,
    /// The revision.
    pub(super) revision: Revision,
    /// The seed of the case.
    pub(super) seed: u64,
    /// Whether frames are recorded.
    pub(super) record: bool,
}

impl Mocks {
    /// Starts, or prepares, one server for each script.
    pub(super) async fn start<'a>(
        stage: &Stage<'_>,
        scripts: impl Iterator<Item = (&'a str, &'a Script)>,
    ) -> Result<Self, MockError> {
        let mut mocks = Self::default();
        for (number, (server, script)) in scripts.enumerate() {
            let (endpoint, running) = stage.start(number, server, script).await?;
            mocks.endpoints.insert(server.to_owned(), endpoint);
            mocks.running.push(running);
        }
        Ok(mocks)
    }

    /// Stops the servers and gives every frame of theirs, as it was recorded.
    pub(super) async fn stop(self) -> Result<Vec<Frame>, RecordError> {
        let mut frames = Vec::new();
        for running in self.running {
            frames.extend(match running {
                Running::Http(mock, recorder) => {
                    mock.until_idle(HANG_UP).await;
                    mock.stop().await;
                    recorder.frames()
                }
                Running::Sse(mock, recorder) => {
                    mock.until_idle(HANG_UP).await;
                    mock.stop().await;
                    recorder.frames()
                }
                // A server that was never launched has written nothing.
                Running::Stdio(record) if !record.exists() => Vec::new(),
                Running::Stdio(record) => read_file(&record)?,
            });
        }
        Ok(frames)
    }
}

impl Stage<'_> {
    async fn start(&self, number: usize, server: &str, script: &Script) -> Result<(Endpoint, Running), MockError> {
        let failed = |source| MockError::Start { server: server.to_owned(), source };
        let recorder = if self.record { Recorder::in_memory(server) } else { Recorder::disabled() };
        let revision = self.revision.as_str();
        Ok(match self.transport {
            Transport::StreamableHttp => {
                let mock = HttpMock::start(script.clone(), revision, self.seed, recorder.clone()).await;
                let mock = mock.map_err(failed)?;
                (Endpoint::StreamableHttp { url: mock.url() }, Running::Http(mock, recorder))
            }
            Transport::Sse => {
                let mock = SseMock::start(script.clone(), revision, self.seed, recorder.clone()).await;
                let mock = mock.map_err(failed)?;
                (Endpoint::Sse { url: mock.url() }, Running::Sse(mock, recorder))
            }
            Transport::Stdio => {
                let record = self.folder.join(format!("frames-{number}.jsonl"));
                let source = |source| MockError::Script { server: server.to_owned(), source };
                let command = self.command(number, server, script, &record).map_err(source)?;
                (Endpoint::Stdio { command }, Running::Stdio(record))
            }
        })
    }

    /// The command that launches a stdio mock. Every argument list holds the case's folder, by which the watcher of
    /// processes knows a server of the case.
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
        }
        Ok(match script.process.wrapper {
            Wrapper::None => command,
            // The second command keeps the shell from replacing itself by the first.
            Wrapper::Shell => {
                let quoted: Vec<String> = command.iter().map(|word| quote(word)).collect();
                vec!["sh".into(), "-c".into(), format!("{}; exit $?", quoted.join(" "))]
            }
        })
    }
}

/// A word as a POSIX shell reads it back.
pub(super) fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
