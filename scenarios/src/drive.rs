//! The driver of the built-in client: executes the steps of a case and reports their outcomes, as any client under the
//! [`contract`](crate::contract).
//!
//! It maps steps to calls of the client library, and results to outcomes. Cases with `client.agent` are executed by the
//! complete agent ([`agent`]). The checks evaluate the outcomes together with the frames.

mod agent;
mod authorization;
mod features;
mod listener;
mod outcome;
mod report;
mod session;
mod steps;
pub(crate) mod user;

use std::io;

use crate::contract::Context;
use session::Session;

/// An error of the driver. Errors of a server are outcomes.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The report cannot be written.
    #[error("cannot write the report {path}")]
    Report {
        /// The file.
        path: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The context has an unsupported format.
    #[error("the context has format {found}, but this version of mcp-workbench supports format 1")]
    Format {
        /// The format.
        found: u32,
    },
}

/// Executes all steps of the context. Does not return from a `die` step, at which the runner kills the process.
///
/// # Errors
/// If the context has another format, or the report cannot be written.
pub async fn drive(context: &Context) -> Result<(), DriveError> {
    if context.format != 1 {
        return Err(DriveError::Format { found: context.format });
    }
    if let Some(setup) = &context.client.agent {
        return agent::drive(context, setup).await;
    }
    let mut session = Session::open(context)?;
    if !context.steps.iter().any(|step| matches!(step, crate::model::ClientStep::Connect(_))) {
        session.connect_implicitly().await?;
    }
    for (index, step) in context.steps.iter().enumerate() {
        session.execute(index, step).await?;
    }
    session.disconnect_rest().await
}
