//! `validate`: runs scenarios against a server.

use std::{fs, num::NonZeroUsize, path::PathBuf, sync::Arc};

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;
use mock_servers::HumanDuration;
use reports::model::PassPolicy;
use scenarios::{
    Scenario,
    catalog::ScenarioCatalog,
    load::Vocabulary,
    model::{Revision, Transport},
    peer::ServerTarget,
    run::{Baseline, RunPlan, ToolPolicy, ValidatePlan, fresh_seed},
    select::{CheckSelection, Runner, server_checks},
};

use super::{
    client::{
        config::{self, Files},
        error::ClientCommandError,
        login,
    },
    selection::catalog_with,
    target::TargetArgs,
};
use crate::{
    completion,
    error::{CommandError, CommandResult},
    output::OutputArgs,
    print, run,
    transport::TransportArg,
    watch::{self, WatchArgs, WatchedFiles},
};

/// The arguments of `validate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Name of a configured server.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command", "transport"], add = config::completed_names())]
    server: Option<String>,
    #[command(flatten)]
    files: Files,
    /// Use the stored login of the server (see `client login`), or log in first.
    #[arg(long, conflicts_with = "command")]
    oauth: bool,
    /// Only checks, scenarios or cases whose id matches (`unknown-tool-*`, `server/tools`).
    #[arg(long, value_name = "GLOB", add = completion::server_check_ids())]
    only: Vec<String>,
    /// Without checks, scenarios or cases whose id matches.
    #[arg(long, value_name = "GLOB", add = completion::server_check_ids())]
    skip: Vec<String>,
    /// Only checks of this area (`tools`, `transports`, `lifecycle`).
    #[arg(long, add = completion::server_check_areas())]
    area: Vec<String>,
    /// Only this revision; repeatable [default: every revision that the server supports].
    #[arg(long, add = completion::revisions())]
    revision: Vec<Revision>,
    /// Transport of a URL [default: Streamable HTTP, or HTTP+SSE if the server supports nothing else].
    #[arg(long)]
    transport: Option<TransportArg>,
    /// Tools to call in addition to those annotated as read-only: `all`, or a glob on their names. A tool annotated as
    /// destructive is called only if a glob matches its name.
    #[arg(long, value_name = "all|GLOB")]
    call_tools: Vec<String>,
    /// Only the newest revision of each era.
    #[arg(long, conflicts_with = "revision")]
    quick: bool,
    /// List the checks, and do not run them.
    #[arg(long)]
    list: bool,
    /// Timeout of the server's first response. All other timeouts depend on how fast it responds.
    #[arg(long, alias = "timeout", default_value = "30s")]
    startup_timeout: HumanDuration,
    /// Number of sessions to run in parallel [default: twice the number of cores].
    #[arg(long, short)]
    jobs: Option<NonZeroUsize>,
    /// Seed of generated arguments; recorded in the report.
    #[arg(long)]
    seed: Option<u64>,
    /// Level of the requirements whose violation fails the run.
    #[arg(long, value_enum, default_value_t = FailOn::Must)]
    fail_on: FailOn,
    /// Do not fail for checks whose repetitions differ.
    #[arg(long)]
    allow_flaky: bool,
    /// File with the ids of cases that are known to fail. A listed case that passes or no longer exists fails the run.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Additional scenario files or directories.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
    /// Run only the scenarios of `--scenarios`.
    #[arg(long, requires = "scenarios")]
    no_built_in: bool,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Levels of requirements whose violation fails the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Violations of a MUST.
    Must,
    /// Violations of a MUST or a SHOULD.
    Should,
}

/// Validates a server.
pub(crate) fn run(args: Args) -> CommandResult {
    if args.list {
        let (selection, scenarios) = args.selection()?;
        return list(&selection, &scenarios);
    }
    if args.watch.watch {
        return watch::execute(|| args.plan(), args.watched(), &args.watch, &args.output);
    }
    run::execute(args.plan()?, &args.output)
}

impl Args {
    fn plan(&self) -> Result<RunPlan, CommandError> {
        let (selection, scenarios) = self.selection()?;
        let plan = ValidatePlan {
            target: self.target()?,
            subject: self.server.clone().unwrap_or_else(|| self.target.subject()),
            selection,
            baseline: self.baseline(&scenarios)?,
            scenarios,
            revisions: self.revisions(),
            transport: self.transport()?,
            seed: self.seed.unwrap_or_else(fresh_seed),
            startup: self.startup_timeout.0,
            jobs: self.jobs.unwrap_or_else(ValidatePlan::default_jobs),
            policy: PassPolicy { allow_flaky: self.allow_flaky, fail_on_warnings: self.fail_on == FailOn::Should },
            call_tools: ToolPolicy::parse(&self.call_tools).map_err(CommandError::input)?,
            portability: Some(serve::portability),
        };
        Ok(RunPlan::Validate(Box::new(plan)))
    }

    /// The files whose changes repeat the run.
    fn watched(&self) -> WatchedFiles {
        let mut files = WatchedFiles::default();
        files.add_command(self.target.command());
        self.scenarios.iter().chain(&self.baseline).for_each(|path| files.add(path));
        files
    }

    /// The selected checks, and all scenarios.
    fn selection(&self) -> Result<(CheckSelection, Vec<Arc<Scenario>>), CommandError> {
        let scenarios = self.scenarios()?;
        let selection = CheckSelection::new(&self.only, &self.skip, &self.area, scenarios.iter().map(AsRef::as_ref));
        Ok((selection.map_err(CommandError::input)?, scenarios))
    }

    fn target(&self) -> Result<ServerTarget, CommandError> {
        let mut target = match &self.server {
            Some(name) => {
                let server = config::server(&self.files, name).map_err(ClientCommandError::into_inner)?;
                serve::configured_target(&server, &config::variable).map_err(|error| {
                    let is_helper = matches!(error, serve::ConfiguredTargetError::HeadersHelper);
                    let error = CommandError::input(error);
                    let help = "run the helper, and use `--url` with `--header`";
                    if is_helper { error.with_help(help) } else { error }
                })?
            }
            None => self.target.server()?,
        };
        if let (true, ServerTarget::Url(server)) = (self.oauth, &mut target) {
            let name = self.server.as_deref().unwrap_or(server.url.as_str());
            server.headers.extend(login::authorization_headers(&self.files, name)?);
        }
        Ok(target)
    }

    fn scenarios(&self) -> Result<Vec<Arc<Scenario>>, CommandError> {
        let runner = Runner::Validate;
        let catalog = if self.no_built_in {
            let own = ScenarioCatalog::load(&self.scenarios, Vocabulary::built_in()).map_err(CommandError::input)?;
            own.require(runner, &self.scenarios).map_err(CommandError::input)?;
            own
        } else {
            catalog_with(&self.scenarios, Some(runner))?
        };
        Ok(catalog.scenarios().filter(|scenario| Runner::for_scenario(scenario) == runner).collect())
    }

    fn revisions(&self) -> Vec<Revision> {
        if self.quick { vec![Revision::NEWEST_LEGACY, Revision::NEWEST_MODERN] } else { self.revision.clone() }
    }

    fn transport(&self) -> Result<Option<Transport>, CommandError> {
        let transport = self.transport.map(|TransportArg(transport)| transport);
        match (self.target.url(), transport) {
            (Some(_), Some(Transport::Stdio)) => Err(CommandError::input(anyhow!("stdio needs a command, not a URL"))),
            (None, Some(Transport::StreamableHttp | Transport::HttpSse)) => {
                Err(CommandError::input(anyhow!("this transport needs a URL, not a command; use `--url`")))
            }
            (_, transport) => Ok(transport),
        }
    }

    fn baseline(&self, scenarios: &[Arc<Scenario>]) -> Result<Option<Baseline>, CommandError> {
        let Some(path) = &self.baseline else { return Ok(None) };
        let text = fs::read_to_string(path).with_context(|| format!("cannot read the baseline {}", path.display()));
        Ok(Some(Baseline::parse(&text.map_err(CommandError::input)?, scenarios.to_vec())))
    }
}

/// Prints the selected checks: id, requirement, and the required behavior.
fn list(selection: &CheckSelection, scenarios: &[Arc<Scenario>]) -> CommandResult {
    let mut text = String::new();
    for check in server_checks().filter(|check| selection.selects(check)) {
        text.push_str(&format!("{:<44} {:<36} {}\n", check.id, check.requirement, check.expected));
    }
    let count = scenarios.iter().filter(|scenario| selection.needs(scenario)).count();
    text.push_str(&format!("{count} scenarios\n"));
    print::raw(&text)?;
    Ok(std::process::ExitCode::SUCCESS)
}
