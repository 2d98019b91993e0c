//! The connection of one command.

use std::process::ExitCode;

use client::Connection;

use super::{
    approval::RuleArgs,
    error::{ClientCommandError, settle},
    host,
    target::ServerArgs,
};
use crate::error::CommandResult;

/// Connects to the named server, runs `work`, and closes the connection.
pub(crate) fn run<W>(target: &ServerArgs, work: impl FnOnce(Connection) -> W) -> CommandResult
where
    W: Future<Output = Result<ExitCode, ClientCommandError>>,
{
    if let Err(error) = target.check_given() {
        return settle(Err(error), target.json);
    }
    host::run(target, &RuleArgs::default(), |session| async move {
        work(session.connection(target.log_level.as_deref()).await?).await
    })
}
