//! How a run is made, and what it tells while it goes on.

use std::{num::NonZeroUsize, path::PathBuf};

use reports::model::CaseResult;

/// The client that is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientUnderTest {
    /// The one that is part of the workbench. It is started as a process of its own, like any other.
    BuiltIn,
    /// Somebody else's, started as `sh -c "<command> <server-url>"`.
    External {
        /// The command.
        command: String,
    },
}

/// How cases are run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The workbench's own executable: it is started again as stdio mock and as built-in client.
    pub program: PathBuf,
    /// The client that is judged.
    pub client: ClientUnderTest,
    /// How many cases run at one time.
    pub jobs: NonZeroUsize,
}

/// Something that happened in a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A case began.
    Began {
        /// Its id.
        id: &'a str,
    },
    /// A case ended, and stands in the journal.
    Ended {
        /// How it ended.
        result: &'a CaseResult,
    },
}
