//! `client search`: searches the tools of all configured servers, as the search tool of a model does.

use std::process::ExitCode;

use serde_json::json;

use super::{approval::RuleArgs, error::ClientCommandError, host, target::ServerArgs};
use crate::{
    error::{CommandResult, FAILED},
    print,
};

/// The arguments of `client search`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words of names and descriptions; `+word` requires a word, `select:name,name` selects tools by name.
    query: String,
    /// Maximum number of results.
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    target: ServerArgs,
}

/// Prints the matching tools, the best first. Without a match, the exit code is 1.
pub(crate) fn run(args: &Args) -> CommandResult {
    host::run(&args.target, &RuleArgs::default(), |session| async move {
        session.host.ready().await;
        let found = session.host.search(&args.query, args.limit);
        if args.target.json {
            let tools = found.iter().map(|tool| {
                json!({ "name": tool.name, "server": tool.server(), "definition": tool.tool().wire(), "visibility": tool.visibility })
            });
            let loaded = session.host.loaded();
            print::json(&json!({ "tools": tools.collect::<Vec<_>>(), "loaded": loaded }))?;
        } else {
            for tool in &found {
                print::text(&tool.name)?;
                let line = tool.tool().description().and_then(|description| description.lines().next());
                line.map_or(Ok(()), |line| print::text(&format!("    {line}")))?;
            }
        }
        for (server, error) in session.host.tools().missing {
            print::note(&format!("the tools of server `{server}` are missing: {error}"));
        }
        Ok::<_, ClientCommandError>(if found.is_empty() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
    })
}
