//! Executes a run for a command: interruption, progress, report and exit code.

use std::path::PathBuf;

use reports::Run;
use scenarios::{
    bench::connect::LoadConnectError,
    peer::PeerError,
    run::{LoadCaseError, RunDirectory, RunError, RunEvent, RunPlan},
};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{CommandError, CommandResult, exit_code},
    interrupt,
    output::OutputArgs,
    progress::Progress,
    system,
};

/// Environment variable with the directory of all runs.
const RUNS: &str = "MCP_WORKBENCH_RUNS";

/// Executes a run, prints its progress and its report, and returns its exit code.
pub(crate) fn execute(plan: RunPlan, output: &OutputArgs) -> CommandResult {
    Ok(exit_code(finish(plan, output)?.passed()))
}

/// Executes a run, and prints its progress and its report.
pub(crate) fn finish(plan: RunPlan, output: &OutputArgs) -> Result<Run, CommandError> {
    let directory = match &output.output {
        Some(path) => RunDirectory::Exact(path.clone()),
        None => RunDirectory::Within(runs_directory()),
    };
    let cancel = CancellationToken::new();
    let mut progress = Progress::new(output.quiet);
    let runtime = match &plan {
        // It waits most of the time, and the allocator of the C library keeps freed memory for each thread.
        RunPlan::Validate(_) => interrupt::runtime_on_one_thread(),
        RunPlan::Conformance(_) | RunPlan::Bench(_) => interrupt::runtime(),
    };
    let finished = runtime?.block_on(async {
        let mut show = |event: RunEvent<'_>| progress.show(&event);
        let running = scenarios::run::run(plan, &directory, &mut show, cancel.clone());
        tokio::pin!(running);
        tokio::select! {
            finished = &mut running => return finished,
            () = interrupt::requested() => cancel.cancel(),
        }
        running.await
    });
    let run = finished.map_err(failure)?.run;
    output.show(&run, output.output.as_deref())?;
    Ok(run)
}

/// The error of a run that could not be executed.
pub(crate) fn failure(error: RunError) -> CommandError {
    match error {
        RunError::Internal(_) => CommandError::internal(error),
        RunError::Baseline(_) => CommandError::input(error)
            .with_help("run the same load as for the baseline, or write a new one with `--format json`"),
        RunError::Load(
            LoadCaseError::Plan(_)
            | LoadCaseError::NoServer(_)
            | LoadCaseError::NoRawDriver { .. }
            | LoadCaseError::Unusable { .. }
            | LoadCaseError::Connect(LoadConnectError::UnknownTool { .. } | LoadConnectError::RejectedTool { .. }),
        ) => CommandError::input(error),
        RunError::Load(LoadCaseError::Connect(LoadConnectError::ConnectHttp2(_))) => CommandError::environment(error)
            .with_help(
                "a server without TLS has to accept HTTP/2 with prior knowledge, and one with TLS has to offer it (ALPN); \
                 HTTP/1.1 is used without `--http2`",
            ),
        // Many servers on this machine accept one name of it only.
        RunError::Peer(PeerError::Unauthorized { status: 403, .. }) => CommandError::environment(error).with_help(
            "add `--oauth` to log in, or `--header 'Authorization: Bearer TOKEN'`; a server on this machine may also accept \
            only `localhost`, or only its address, in the URL",
        ),
        RunError::Peer(PeerError::Silent(ref silent)) if silent.timed_out => CommandError::environment(error)
            .with_help("increase `--startup-timeout` if the server starts slowly"),
        RunError::Peer(PeerError::Unauthorized { .. }) => CommandError::environment(error)
            .with_help("add `--oauth` to log in, or `--header 'Authorization: Bearer TOKEN'`"),
        _ => CommandError::environment(error),
    }
}

/// `$MCP_WORKBENCH_RUNS`, else `mcp-workbench/runs` in `$XDG_STATE_HOME`, in `~/.local/state` (XDG Base Directory
/// Specification), in `%LOCALAPPDATA%` of Windows, or in the directory for temporary files.
pub(crate) fn runs_directory() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(RUNS).unwrap_or_else(|| system::state_directory().unwrap_or_else(std::env::temp_dir).join("mcp-workbench/runs"))
}
