//! Approval of calls: by options, or by the user at the terminal. Without a terminal, calls that a rule asks for are denied.
//!
//! The command itself is the approval if no rule decides, because the user has typed the tool and its arguments.

use std::{path::PathBuf, sync::Arc};

use agent::{
    config::{Configuration, PermissionRules, Scope, edit},
    permissions::{
        ApprovalChoice, ApprovalRequest, ApprovalResponse, Approver, Decider, PermissionDecision, PermissionTarget,
        Permissions, RuleTexts, Rules, Step,
    },
};
use anyhow::anyhow;
use client::Tool;
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::json;

use super::{error::ClientCommandError, terminal::Terminal};
use crate::print::{self, note};

/// Rules and approval of one command.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct RuleArgs {
    /// Approve calls that a rule asks for. Deny rules still apply.
    #[arg(long)]
    yes: bool,
    /// Approve calls of this pattern (`<server>/<tool>`) that a rule asks for; repeatable.
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<String>,
    /// Deny calls of this pattern, or elicitations (`Elicit(<server>)`); repeatable.
    #[arg(long, value_name = "PATTERN")]
    deny: Vec<String>,
}

impl RuleArgs {
    /// The rules in addition to those of the configuration.
    pub(super) fn texts(&self) -> RuleTexts {
        RuleTexts { deny: self.deny.clone(), ..RuleTexts::default() }
    }

    /// The approver of the command. `configuration` has the servers whose rules "always" can change.
    pub(super) fn approver(
        &self,
        terminal: &Arc<Terminal>,
        configuration: Option<&Configuration>,
    ) -> Result<Arc<dyn Approver>, ClientCommandError> {
        let texts = RuleTexts { allow: self.allow.clone(), ..RuleTexts::default() };
        let allow =
            Rules::global(&texts).map_err(|errors| ClientCommandError::input("bad-rule", anyhow!("{errors}")))?;
        let entries = configuration.iter().flat_map(|configuration| &configuration.servers);
        let files = entries.filter(|entry| entry.scope.may_allow()).filter_map(|entry| {
            let private = entry.scope != Scope::Explicit;
            Some(RuleFile { server: entry.name.clone(), path: entry.path.clone()?, private })
        });
        Ok(Arc::new(CommandApprover {
            yes: self.yes,
            allow: Permissions::new(allow),
            terminal: Arc::clone(terminal),
            files: Arc::new(files.collect()),
        }))
    }
}

/// The file with the entry of a server.
#[derive(Debug)]
struct RuleFile {
    server: String,
    path: PathBuf,
    private: bool,
}

/// Approves the calls of one command.
struct CommandApprover {
    yes: bool,
    /// The patterns of `--allow`.
    allow: Permissions,
    terminal: Arc<Terminal>,
    files: Arc<Vec<RuleFile>>,
}

impl CommandApprover {
    fn is_allowed(&self, request: &ApprovalRequest) -> bool {
        let Ok((tool, _)) = Tool::read(json!({ "name": request.tool, "inputSchema": {} })) else { return false };
        let target = PermissionTarget::Tool { server: &request.server, tool: &tool };
        let explanation = self.allow.explain(&target);
        explanation.decision == PermissionDecision::Allow && explanation.decider != Decider::Default
    }
}

impl Approver for CommandApprover {
    fn request(&self, request: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>> {
        if self.yes || request.decider == Decider::Default || self.is_allowed(&request) {
            return std::future::ready(Some(ApprovalChoice::Once.into())).boxed();
        }
        let (terminal, files) = (Arc::clone(&self.terminal), Arc::clone(&self.files));
        async move { ask(&terminal, &request, &files).await }.boxed()
    }
}

async fn ask(terminal: &Terminal, request: &ApprovalRequest, files: &[RuleFile]) -> Option<ApprovalResponse> {
    let mut dialog = terminal.dialog().await?;
    note(&format!("call `{}` of server `{}`? {}", request.tool, request.server, request.reason));
    note(&format!("  arguments: {}", request.arguments.replace('\n', "\n  ")));
    if request.hidden > 0 {
        note(&format!("  ({} more characters)", request.hidden));
    }
    // An ask rule of the server itself comes before its allow rules.
    let global = matches!(&request.decider, Decider::Rule { step: Step::GlobalAsk, .. });
    let file = files.iter().find(|file| global && file.server == request.server);
    let always = if file.is_some() { ", [a]lways" } else { "" };
    print::prompt(&format!("  [o]nce, [s]ession{always}, [N]o: "));
    let choice = match dialog.lines().next().await?.trim() {
        "o" | "once" | "y" | "yes" => ApprovalChoice::Once,
        "s" | "session" => ApprovalChoice::Session,
        "a" | "always" => {
            match file {
                Some(file) => remember(file, &request.tool),
                None => note("  no allow rule can change this; allowed for the session"),
            }
            ApprovalChoice::Session
        }
        _ => ApprovalChoice::Deny,
    };
    Some(choice.into())
}

/// Adds an allow rule to the entry of the server. A failure does not prevent the call.
fn remember(file: &RuleFile, tool: &str) {
    let rule = PermissionRules::exactly(tool);
    let change = edit::Edit::Allow { name: file.server.clone(), rule: rule.clone() };
    match edit::edit_file(&file.path, &change, file.private) {
        Ok(path) => note(&format!("  added the allow rule `{rule}` to server `{}` in {}", file.server, path.display())),
        Err(error) => note(&format!("  the rule was not written: {error}")),
    }
}
