//! `client overview`: servers with their states and tools, the effective rules, and the origin of each setting.

use std::process::ExitCode;

use agent::{
    config::{Configuration, Configured, PermissionRules, Scope},
    instructions::InstructionLimits,
};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::{approval::RuleArgs, config, error::ClientCommandError, host, host::Session, target::ServerArgs, tools};
use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `client overview`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the overview again after each change, until the command is interrupted.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    target: ServerArgs,
}

/// A rule and its origin.
struct ListedRule {
    step: String,
    server: Option<String>,
    text: String,
    scope: Scope,
    has_effect: bool,
}

/// Prints the overview.
pub(crate) fn run(args: &Args) -> CommandResult {
    host::run(&args.target, &RuleArgs::default(), |session| async move {
        if args.watch {
            return watch(&session, args.target.json).await;
        }
        session.host.ready().await;
        print_overview(&session, &overview(&session).await, args.target.json)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints the overview after each change. The servers start meanwhile.
async fn watch(session: &Session, json: bool) -> Result<ExitCode, ClientCommandError> {
    let (mut events, mut tools) = (session.host.events(), session.host.tool_changes());
    let host = session.host.clone();
    let starting = tokio::spawn(async move { host.ready().await });
    let mut shown = Value::Null;
    loop {
        let current = overview(session).await;
        // Progress and log messages change nothing here.
        if current != shown {
            shown = current;
            print_overview(session, &shown, json)?;
        }
        let changed = tokio::select! {
            event = events.recv() => event.map(drop),
            _ = tools.changed() => Ok(()),
        };
        if changed == Err(RecvError::Closed) {
            starting.abort();
            return Ok(ExitCode::SUCCESS);
        }
    }
}

async fn overview(session: &Session) -> Value {
    let tools = session.host.tools();
    let mut all = tools::toolset_json(session, &tools);
    let entries: Vec<Value> = session.configuration.servers.iter().map(Configured::view).collect();
    all["configuration"] = entries.into();
    let rule = |rule: &ListedRule| {
        json!({
            "step": rule.step, "server": rule.server, "rule": rule.text, "scope": rule.scope.as_str(), "effect": rule.has_effect,
        })
    };
    all["rules"] = rules(&session.configuration).iter().map(rule).collect();
    all["settings"] = json!(session.settings.described(config::variable));
    let excluded = &session.host.config().excluded;
    let excluded = excluded.iter().map(|(name, why)| (name.clone(), host::exclusion_text(name, why).into()));
    all["excluded"] = Value::Object(excluded.collect());
    let instructions = session.host.instructions(InstructionLimits::default()).await;
    all["instructions"] = json!({ "text": instructions.text, "truncated": instructions.truncated });
    all
}

fn print_overview(session: &Session, overview: &Value, json: bool) -> Result<(), CommandError> {
    if json {
        return print::json(overview);
    }
    tools::print_toolset(session, &session.host.tools())?;
    let rules = rules(&session.configuration);
    print::text("rules:")?;
    if rules.is_empty() {
        print::text("  none: read-only tools without outside effects are allowed, others need approval")?;
    }
    for rule in rules {
        let server = rule.server.map(|server| format!(" of `{server}`")).unwrap_or_default();
        let effect = if rule.has_effect { "" } else { ", no effect: allow rules of shared files are ignored" };
        print::text(&format!("  {:<13}`{}`{server} ({}{effect})", rule.step, rule.text, rule.scope))?;
    }
    print::text("origins:")?;
    for entry in &session.configuration.servers {
        print::text(&format!("  server {} ({}, {})", entry.name.replace('\n', " "), entry.scope, entry.file))?;
    }
    for setting in session.settings.described(config::variable) {
        print::text(&format!("  {} {} ({})", setting.name, setting.value, setting.origin))?;
    }
    Ok(())
}

/// All rules in the order of the decision.
fn rules(configuration: &Configuration) -> Vec<ListedRule> {
    let global = configuration.permissions.iter().map(|(scope, rules)| (None, *scope, rules));
    let servers = configuration.servers.iter().filter_map(|entry| {
        let server = entry.server.as_ref()?;
        Some((Some(entry.name.clone()), entry.scope, &server.permissions))
    });
    let sources: Vec<_> = global.chain(servers).collect();
    let steps = [(false, "deny"), (true, "deny"), (true, "ask"), (true, "allow"), (false, "ask"), (false, "allow")];
    let texts = |rules: &PermissionRules, decision| match decision {
        "deny" => rules.deny.clone(),
        "ask" => rules.ask.clone(),
        _ => rules.allow.clone(),
    };
    let mut listed = Vec::new();
    for (for_server, decision) in steps {
        for (server, scope, rules) in sources.iter().filter(|(server, ..)| server.is_some() == for_server) {
            let step = format!("{} {decision}", if for_server { "server" } else { "global" });
            let has_effect = decision != "allow" || scope.may_allow();
            listed.extend(texts(rules, decision).into_iter().map(|text| ListedRule {
                step: step.clone(),
                server: server.clone(),
                text,
                scope: *scope,
                has_effect,
            }));
        }
    }
    listed
}
