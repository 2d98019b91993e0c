//! The servers of the soak: over HTTP in this process, over stdio a role that this program plays.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    path::Path,
    process::ExitCode,
    sync::Mutex,
    time::Duration,
};

use client::{Endpoint, HttpEndpoint, StdioEndpoint};
use evidence::Recorder;
use mock_servers::{
    MockServer,
    listen::Options,
    mock::HttpTransport,
    stdio::{self, StdioMock},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Variant,
    faults::{ServerTransport, script},
};

/// How long the address of a server that has ended may be taken.
const REBIND: Duration = Duration::from_secs(10);

/// How often each fault has acted.
pub(crate) type Acts = BTreeMap<String, u64>;

/// A server over HTTP that is started again, at the same address, whenever it dies.
#[derive(Debug)]
pub(crate) struct Phoenix {
    variant: Variant,
    server: MockServer,
    acts: Acts,
    pub(crate) deaths: u64,
}

impl Phoenix {
    pub(crate) async fn rise(variant: Variant) -> Self {
        let server = start(variant, Options::default(), 1).await.expect("a server");
        Self { variant, server, acts: Acts::new(), deaths: 0 }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        let endpoint = HttpEndpoint { url: self.server.url(), ..HttpEndpoint::default() };
        match self.variant.transport {
            ServerTransport::Sse => Endpoint::Sse(endpoint),
            _ => Endpoint::StreamableHttp(endpoint),
        }
    }

    /// Until it is over.
    pub(crate) async fn live(&mut self, over: CancellationToken) {
        loop {
            tokio::select! {
                () = over.cancelled() => return,
                () = self.server.stopped() => {}
            }
            self.deaths += 1;
            self.count();
            let options = Options::at(self.server.address().expect("an address").clone());
            let seed = self.deaths + 1;
            let again = async {
                loop {
                    match start(self.variant, options.clone(), seed).await {
                        Some(server) => return server,
                        None => tokio::time::sleep(Duration::from_millis(20)).await,
                    }
                }
            };
            self.server = tokio::time::timeout(REBIND, again).await.expect("the address is free again");
        }
    }

    fn count(&mut self) {
        for state in self.server.faults().list() {
            *self.acts.entry(state.name.unwrap_or_default()).or_default() += state.acted;
        }
    }

    pub(crate) async fn end(mut self) -> Acts {
        self.count();
        self.server.stop().await;
        self.acts
    }
}

async fn start(variant: Variant, options: Options, seed: u64) -> Option<MockServer> {
    let transport = if variant.transport == ServerTransport::Sse { HttpTransport::Sse } else { HttpTransport::Http };
    let builder = MockServer::builder().script(script(variant)).transport(transport).listen(options);
    // Frames are not kept: there are too many of them.
    let builder = builder.revision(variant.revision.to_string()).seed(seed).recorder(Recorder::default());
    builder.start().await.ok()
}

/// A server of this program: the n-th, which writes down the faults that act into a file.
pub(crate) fn program(variant: Variant, mark: &str, number: u64, acts: &Path) -> Endpoint {
    let own = std::env::current_exe().expect("a path");
    let words = ["server", mark, &variant.revision.to_string(), &number.to_string(), &acts.display().to_string()];
    Endpoint::Stdio(StdioEndpoint {
        command: own.display().to_string(),
        args: words.map(str::to_owned).to_vec(),
        ..StdioEndpoint::default()
    })
}

/// Plays the role that the arguments ask for, if they ask for one.
pub(crate) fn play(arguments: &[String]) -> Option<ExitCode> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", mark, revision, seed, acts] => Some(serve(mark, revision, seed.parse().expect("a seed"), acts)),
        ["child", _, script] => {
            Some(stdio::run_child(&serde_json::from_str(script).expect("a script")).expect("a child"))
        }
        _ => None,
    }
}

fn serve(mark: &str, revision: &str, seed: u64, acts: &str) -> ExitCode {
    let file = OpenOptions::new().append(true).create(true).open(acts).expect("a file");
    write_events(file);
    let variant =
        Variant { name: "stdio", transport: ServerTransport::Stdio, revision: revision.parse().expect("a revision") };
    let mock = StdioMock {
        script: script(variant),
        revision: revision.to_owned(),
        seed,
        calendar: false,
        recorder: Recorder::default(),
        run_file: None,
        child_arguments: vec!["child".into(), mark.into()],
    };
    stdio::run(mock).expect("it serves")
}

/// Each event of the faults is a line, and is in the file before the fault acts: some of them end the process.
fn write_events(file: File) {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("mcp_workbench_mock_servers=debug")
        .without_time()
        .with_ansi(false)
        .with_writer(Mutex::new(file));
    subscriber.init();
}

/// What the servers of this program wrote there.
pub(crate) fn acts_in(file: &Path) -> Acts {
    let mut acts = Acts::new();
    for line in fs::read_to_string(file).unwrap_or_default().lines() {
        if let Some((_, name)) = line.split_once("fault=") {
            *acts.entry(name.trim_matches('"').to_owned()).or_default() += 1;
        }
    }
    acts
}
