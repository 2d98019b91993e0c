//! The host of an agent: each call passes through its rules, filters and limits.

use agent::{
    filter::ContentPart,
    host::{Host, HostConfig, HostOptions, HostServer},
    permissions::{Permissions, RuleTexts, Rules},
};
use anyhow::Context as _;
use client::ManagedServer;

use super::{
    CallerArgs, User, arguments,
    builtin::{SERVER, config},
    check_text,
};
use crate::bench::mock::TOOL;

/// A user of a shared host.
pub(super) struct HostUser {
    host: Host,
    /// Qualified name of the tool.
    tool: String,
}

/// All users of one host, which has one connection.
pub(super) async fn users(args: &CallerArgs) -> anyhow::Result<Vec<HostUser>> {
    let allow_all = RuleTexts { allow: vec![format!("{SERVER}/*")], ..RuleTexts::default() };
    let permissions = Permissions::new(Rules::global(&allow_all).context("the rule is not valid")?);
    let server = HostServer::new(ManagedServer::new(config(args)?));
    let config = HostConfig { permissions, ..HostConfig::default() }.with_servers([server]);
    let host = Host::start(config, HostOptions::default()).await.context("the host cannot start")?;
    host.ready().await;
    let tool = format!("mcp__{SERVER}__{TOOL}");
    Ok((0..args.in_flight).map(|_| HostUser { host: host.clone(), tool: tool.clone() }).collect())
}

impl User for HostUser {
    async fn call(&mut self) -> anyhow::Result<()> {
        let called = self.host.call(&self.tool, arguments(), Default::default()).await?;
        check_text(match called.content.parts.as_slice() {
            [ContentPart::Text { text }] => Some(text),
            _ => None,
        })
    }
}
