//! Validation of one mock server: as a process over stdio, and in this process over HTTP.

use std::{collections::BTreeMap, fs, num::NonZeroUsize, path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use mock_servers::{
    HttpMock, Recorder, Script, SseMock,
    listen::Options,
    oauth::{OAuthMock, OAuthOptions},
    profile,
};
use reports::{
    Run,
    model::{PassPolicy, Verdict},
};
use scenarios::{
    Scenario,
    catalog::ScenarioCatalog,
    model::{Revision, Subject, Transport},
    peer::{ServerCommand, ServerTarget, ServerUrl},
    run::{RunDirectory, RunEvent, RunPlan, ToolPolicy, ValidatePlan, run},
    select::CheckSelection,
};
use tokio_util::sync::CancellationToken;

use super::mutant::{Endpoint, STEPS, Server};
use crate::product;

/// Maximum number of concurrent processes or sessions of one server. Most of them wait.
const JOBS: usize = 8;
/// Timeout of the first response of a server.
const STARTUP: Duration = Duration::from_secs(10);
/// Timeout of the validation of a server.
const LIMIT: Duration = Duration::from_secs(60);

/// The checks of a run that did not pass, with their most severe verdicts.
#[derive(Debug, Clone, Default)]
pub(super) struct Findings(pub(super) BTreeMap<String, Finding>);

/// A check that did not pass.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    /// The observation of the most severe verdict.
    pub(super) observed: String,
}

/// The scenarios for servers.
#[derive(Debug)]
pub(super) struct Scenarios {
    scenarios: Vec<Arc<Scenario>>,
    /// Whether mutants are validated with all checks instead of those that they name.
    all_checks: bool,
}

impl Scenarios {
    /// The built-in scenarios.
    pub(super) fn new(all_checks: bool) -> anyhow::Result<Self> {
        let catalog = ScenarioCatalog::built_in()?;
        let scenarios = catalog.scenarios().filter(|scenario| scenario.subject == Subject::Server).collect();
        Ok(Self { scenarios, all_checks })
    }
}

/// Validates a server on one endpoint.
pub(super) async fn validate(server: &Server, endpoint: &Endpoint, scenarios: &Scenarios) -> anyhow::Result<Findings> {
    let selection = selection(server, scenarios)?;
    let shown = |scenario: &&Arc<Scenario>| scenarios.all_checks || server.is_shown_by(scenario);
    let scenarios = scenarios.scenarios.iter().filter(shown).cloned().collect();
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("server.json");
    fs::write(&script, server.script(endpoint).to_string())?;
    if endpoint.transport == Transport::Stdio {
        return judge(stdio(&script)?, endpoint, Vec::new(), scenarios, selection, directory.path()).await;
    }
    let source = script.to_str().context("the path of the directory is not UTF-8")?;
    let mock = Mock::start(server, endpoint, profile::load(source)?).await?;
    // Most mocks ignore it. It makes the workbench compare requests with and without authorization.
    let token = ("Authorization".to_owned(), "Bearer token-of-the-user".to_owned());
    let headers = if server.authorization.is_none() { vec![token] } else { Vec::new() };
    let target = ServerTarget::Url(ServerUrl { url: mock.url().parse()?, headers });
    // Without a token a server cannot be asked for its revisions.
    let revisions = if server.authorization.is_some() { endpoint.revisions.clone() } else { Vec::new() };
    judge(target, endpoint, revisions, scenarios, selection, directory.path()).await
}

/// A running mock server.
enum Mock {
    Http(HttpMock),
    Sse(SseMock),
    /// Behind an authorization server, which stops with it.
    Protected(HttpMock, #[expect(dead_code, reason = "dropping it stops the server")] OAuthMock),
}

impl Mock {
    async fn start(server: &Server, endpoint: &Endpoint, script: Script) -> anyhow::Result<Self> {
        let revision = endpoint.revisions.first().context("no revision")?.as_str();
        let recorder = Recorder::default();
        let Some(authorization) = &server.authorization else {
            return Ok(match endpoint.transport {
                Transport::HttpSse => Self::Sse(SseMock::start(script, revision, 0, recorder).await?),
                Transport::Stdio | Transport::StreamableHttp => {
                    Self::Http(HttpMock::start(script, revision, 0, recorder).await?)
                }
            });
        };
        let authority = OAuthMock::start(authorization.clone(), OAuthOptions::default()).await?;
        let options = Options::default();
        let mock = HttpMock::start_protected(script, revision, 0, recorder, options, &authority).await?;
        Ok(Self::Protected(mock, authority))
    }

    fn url(&self) -> String {
        match self {
            Self::Http(mock) | Self::Protected(mock, _) => mock.url(),
            Self::Sse(mock) => mock.url(),
        }
    }
}

/// The command of a server over stdio.
fn stdio(script: &Path) -> anyhow::Result<ServerTarget> {
    let program = product()?.into_os_string();
    let args = ["mock".into(), "stdio".into(), script.as_os_str().to_owned()];
    let text = |value: std::ffi::OsString| value.into_string().ok().context("a path is not UTF-8");
    let args = args.into_iter().map(text).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(ServerTarget::Command(ServerCommand { program: text(program)?, args, env: BTreeMap::new(), directory: None }))
}

/// The checks that the mutant names, or all.
fn selection(server: &Server, scenarios: &Scenarios) -> anyhow::Result<CheckSelection> {
    let checks = server.defect.iter().flat_map(|defect| &defect.checks).cloned().collect::<Vec<_>>();
    if scenarios.all_checks || checks.is_empty() || checks.iter().any(|check| check == STEPS) {
        return Ok(CheckSelection::default());
    }
    Ok(CheckSelection::new(&checks, &[], &[], scenarios.scenarios.iter().map(AsRef::as_ref))?)
}

async fn judge(
    target: ServerTarget,
    endpoint: &Endpoint,
    revisions: Vec<Revision>,
    scenarios: Vec<Arc<Scenario>>,
    selection: CheckSelection,
    directory: &Path,
) -> anyhow::Result<Findings> {
    let plan = ValidatePlan {
        target,
        subject: "mock".to_owned(),
        scenarios,
        selection,
        baseline: None,
        call_tools: ToolPolicy::default(),
        portability: None,
        seed: 0,
        revisions,
        transport: Some(endpoint.transport).filter(|transport| *transport != Transport::Stdio),
        startup: STARTUP,
        jobs: NonZeroUsize::new(JOBS).unwrap_or(NonZeroUsize::MIN),
        policy: PassPolicy::default(),
    };
    let directory = RunDirectory::Exact(directory.join("run"));
    let cancel = CancellationToken::new();
    let mut sink = |_: RunEvent<'_>| {};
    let running = run(RunPlan::Validate(Box::new(plan)), &directory, &mut sink, cancel.clone());
    tokio::pin!(running);
    let finished = tokio::select! {
        finished = &mut running => finished?,
        () = tokio::time::sleep(LIMIT) => {
            // The cases that finished are judged.
            cancel.cancel();
            running.await?
        }
    };
    Ok(Findings::new(&finished.run))
}

impl Findings {
    fn new(run: &Run) -> Self {
        let mut findings: BTreeMap<String, Finding> = BTreeMap::new();
        for check in run.cases.iter().flat_map(|case| &case.checks).filter(|check| check.verdict > Verdict::Passed) {
            let finding = Finding { verdict: check.verdict, observed: check.observed.clone() };
            match findings.get(&check.id) {
                Some(known) if known.verdict >= check.verdict => {}
                _ => drop(findings.insert(check.id.clone(), finding)),
            }
        }
        Self(findings)
    }
}
