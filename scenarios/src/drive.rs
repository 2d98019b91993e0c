//! The driver of the built-in client: does what a case's context says, and reports what came of it, as any other client
//! under the [`contract`](crate::contract) would.
//!
//! It owns the way from a step to a call of the client library, and back to a reported outcome. What an outcome is worth
//! is judged elsewhere, by somebody who sees the wire as well.

mod listener;
mod outcome;
mod report;
mod session;
mod steps;
mod user;

use std::io;

use crate::contract::Context;
use session::Session;

/// Why the driver could not do its work. What a server does is no error of the driver's.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The report could not be written.
    #[error("the report {path} could not be written")]
    Report {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The context is of a version that this program does not know.
    #[error("the context is of format {found}, this program knows format 1")]
    Format {
        /// Its version.
        found: u32,
    },
}

/// Does everything that the context says. It does not return from a `die` step: there the process is to be killed.
///
/// # Errors
/// If the context is of another version, or the report cannot be written.
pub async fn drive(context: &Context) -> Result<(), DriveError> {
    if context.format != 1 {
        return Err(DriveError::Format { found: context.format });
    }
    let mut session = Session::open(context)?;
    if !context.steps.iter().any(|step| matches!(step, crate::model::Step::Connect(_))) {
        session.connect_unasked().await?;
    }
    for (index, step) in context.steps.iter().enumerate() {
        session.take(index, step).await?;
    }
    session.disconnect_rest().await
}
