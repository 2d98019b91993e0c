//! `validate`: a server that somebody else wrote, judged.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc, time::Instant};

use mock_servers::Period;
use reports::{
    Run,
    journal::Line,
    model::{CaseResult, FORMAT, RunHeader, RunKind},
};
use scenarios::{
    Evidence, Scenario,
    catalogue::Catalogue,
    judge,
    load::Vocabulary,
    model::{Revision, Subject},
    peer::ServerFacts,
    plan::case_id,
    run::{
        conformance::write_case,
        fresh_seed, header,
        validate::{ValidateEvent, ValidateOptions, validate},
    },
};

use super::{conformance::millis, target::TargetArgs};
use crate::{
    failure::{CommandResult, Failure, held},
    interrupt,
    output::OutputArgs,
    progress::Progress,
    run_folder::RunFolder,
};

/// The arguments of `validate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// How long the server may take to give its first answer.
    #[arg(long, default_value = "30s")]
    startup_timeout: Period,
    /// How many cases run at one time [default: the number of cores].
    #[arg(long, short)]
    jobs: Option<NonZeroUsize>,
    /// Scenario files, or folders of them, beside the built-in ones.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Judges a server.
pub(crate) fn run(args: Args) -> CommandResult {
    let target = args.target.server()?;
    let catalogue = catalogue(&args.scenarios)?;
    let mut options = ValidateOptions { startup: args.startup_timeout.0, ..ValidateOptions::default() };
    options.jobs = args.jobs.unwrap_or(options.jobs);
    let began = Instant::now();
    let mut session = Session { args: &args, scenarios: catalogue.len(), began: None, cases: vec![], trouble: None };
    let runtime = interrupt::runtime()?;
    let facts = runtime.block_on(async {
        let scenarios = catalogue.iter().map(Arc::as_ref);
        tokio::select! {
            facts = validate(&target, scenarios, &options, |event| session.hear(event)) => Some(facts),
            () = interrupt::asked() => None,
        }
    });
    if let Some(Err(error)) = facts {
        return Err(Failure::environment(error));
    }
    let complete = facts.is_some();
    if let Some(trouble) = session.trouble {
        return Err(trouble);
    }
    let Some((header, mut folder, progress)) = session.began else {
        return Err(Failure::environment(anyhow::anyhow!("interrupted before the server had said what it speaks")));
    };
    progress.finish();
    let elapsed_ms = millis(began.elapsed());
    if complete {
        folder.append(&Line::End { elapsed_ms, baseline: None })?;
    }
    let mut cases = session.cases;
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    let run = Run { format: FORMAT, header, cases, loads: vec![], baseline: None, complete, elapsed_ms };
    args.output.show(&run, Some(&folder.path))?;
    Ok(held(run.held()))
}

/// The scenarios for servers: the built-in ones, and those of the user.
fn catalogue(paths: &[PathBuf]) -> Result<Vec<Arc<Scenario>>, Failure> {
    let mut catalogue = Catalogue::built_in().map_err(Failure::input)?;
    if !paths.is_empty() {
        let theirs = Catalogue::load(paths, Vocabulary::built_in()).map_err(Failure::input)?;
        catalogue = catalogue.and(theirs).map_err(Failure::input)?;
    }
    Ok(catalogue.scenarios().filter(|scenario| scenario.subject == Subject::Server).collect())
}

/// What is known of a validation that goes on.
struct Session<'a> {
    args: &'a Args,
    scenarios: usize,
    /// The header, the folder and the progress: there once the server has said which revisions it speaks.
    began: Option<(RunHeader, RunFolder, Progress)>,
    cases: Vec<CaseResult>,
    /// The first thing that went wrong on this side.
    trouble: Option<Failure>,
}

impl Session<'_> {
    fn hear(&mut self, event: ValidateEvent<'_>) {
        let heard = match event {
            ValidateEvent::Probed(facts) => self.begin(facts),
            ValidateEvent::Finished { scenario, evidence } => self.take(scenario, &evidence),
        };
        if let Err(failure) = heard {
            self.trouble.get_or_insert(failure);
        }
    }

    fn begin(&mut self, facts: &ServerFacts) -> Result<(), Failure> {
        let planned = self.scenarios * facts.revisions().count();
        let header = header(RunKind::Validate, self.args.target.subject(), fresh_seed(), planned);
        let folder = RunFolder::create(self.args.output.output.as_deref(), &header)?;
        let progress = Progress::new(planned, self.args.output.quiet);
        let revisions: Vec<&str> = facts.revisions().map(Revision::as_str).collect();
        progress.line(&format!(
            "the server speaks {} over {}; {planned} cases; journal: {}",
            revisions.join(" and "),
            facts.transport,
            folder.journal_path().display()
        ));
        self.began = Some((header, folder, progress));
        Ok(())
    }

    fn take(&mut self, scenario: &Scenario, evidence: &Evidence) -> Result<(), Failure> {
        let id = case_id(&scenario.scenario, evidence.transport, evidence.revision);
        let result = judge::judge(&id, scenario, evidence);
        if let Some((_, folder, progress)) = &mut self.began {
            let written = write_case(&mut folder.journal, self.cases.len(), &result, evidence);
            written.map_err(Failure::environment)?;
            progress.ended(&result);
        }
        self.cases.push(result);
        Ok(())
    }
}
