//! The report file: one line for each outcome and event, written before the next step.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::DriveError;
use crate::{
    contract::{ReportLine, now_us},
    evidence::{Outcome, StepOutcome},
};

/// The report of this process. Clones write into the same file.
#[derive(Debug, Clone)]
pub(super) struct Report {
    path: String,
    file: Arc<Mutex<File>>,
}

impl Report {
    /// Opens the file for appending.
    pub(super) fn open(path: &Path) -> Result<Self, DriveError> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let name = path.display().to_string();
        let file = file.map_err(|source| DriveError::Report { path: name.clone(), source })?;
        Ok(Self { path: name, file: Arc::new(Mutex::new(file)) })
    }

    /// Reports the outcome of a step, or of an action without a step, that ends now.
    pub(super) fn outcome(
        &self,
        step: Option<usize>,
        server: Option<&str>,
        began_us: u64,
        outcome: Outcome,
    ) -> Result<(), DriveError> {
        let server = server.map(str::to_owned);
        self.write(&ReportLine::Step(StepOutcome { step, server, began_us, ended_us: now_us(), outcome }))
    }

    /// Appends one line with a single write.
    pub(super) fn write(&self, line: &ReportLine) -> Result<(), DriveError> {
        let failed = |source| DriveError::Report { path: self.path.clone(), source };
        let mut bytes = serde_json::to_vec(line).map_err(|cause| failed(cause.into()))?;
        bytes.push(b'\n');
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes).map_err(failed)
    }
}
