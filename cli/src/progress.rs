//! Progress of a run on standard error: a progress bar or the view of a load on a terminal, log lines elsewhere.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reports::model::{CaseResult, RunHeader, RunKind};
use scenarios::{bench, model::Revision, peer::ProbeResult, run::RunEvent};

use crate::load_view::LoadView;

/// Number of finished cases between two lines of a log.
const LOG_INTERVAL: u64 = 50;

/// Shows the events of a run.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The view of a running load test.
    view: Option<LoadView>,
    live: bool,
    quiet: bool,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let live = std::io::stderr().is_terminal() && !quiet;
        Self { bar: ProgressBar::hidden(), view: None, live, quiet }
    }

    /// Shows one event.
    pub(crate) fn show(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Started { header, journal, jobs, probe } => {
                self.start(header, *jobs, *probe);
                if let Some(journal) = journal {
                    self.line(&format!("journal: {}", journal.display()));
                }
            }
            RunEvent::JournalFailed { path, error } => {
                self.print(&format!("warning: cannot write the journal {}: {error}", path.display()));
            }
            RunEvent::CaseStarted { id } => self.bar.set_message((*id).to_owned()),
            RunEvent::CaseFinished { result } => self.case_finished(result),
            RunEvent::LoadProgress(progress) => self.load_progress(*progress),
            RunEvent::LoadFinished { .. } => self.view = None,
            RunEvent::Finished { .. } => self.bar.finish_and_clear(),
        }
    }

    fn start(&mut self, header: &RunHeader, jobs: usize, probe: Option<&ProbeResult>) {
        let RunHeader { planned, seed, .. } = header;
        let cases = if *planned == 1 { "case" } else { "cases" };
        match (header.kind, probe) {
            (RunKind::Bench, _) => {
                // Before the measurement: a terminal that does not say where its cursor is takes two seconds.
                if self.live {
                    self.view = LoadView::new();
                    self.live = self.view.is_some();
                }
                return;
            }
            (_, Some(probe)) => {
                let revisions: Vec<&str> = probe.revisions().map(Revision::as_str).collect();
                let transport = probe.transport;
                let found = match revisions.as_slice() {
                    [] => format!("no revision could be tested over {transport} ({})", probe.notes.join("; ")),
                    some => format!("server supports {} over {transport}", some.join(" and ")),
                };
                self.line(&format!("{found}; {planned} {cases}"));
            }
            _ => self.line(&format!("{planned} {cases}, {jobs} in parallel, seed {seed}")),
        }
        if self.live {
            self.bar = ProgressBar::with_draw_target(Some(*planned as u64), ProgressDrawTarget::stderr());
            // The template is a constant and valid.
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
                self.bar.set_style(style);
            }
        } else {
            self.bar.set_length(*planned as u64);
        }
    }

    fn case_finished(&mut self, result: &CaseResult) {
        self.bar.inc(1);
        if result.verdict.is_failure() {
            self.line(&format!("{}: {}", result.verdict.as_str(), result.id));
        }
        let done = self.bar.position();
        if !self.live && done.is_multiple_of(LOG_INTERVAL) {
            self.line(&format!("{done} of {} cases finished", self.bar.length().unwrap_or_default()));
        }
    }

    fn load_progress(&mut self, progress: bench::Progress) {
        if self.live && self.view.is_none() {
            self.view = LoadView::new();
        }
        // A terminal that cannot be drawn on may still take lines.
        match self.view.as_mut().map(|view| view.show(progress)) {
            Some(Ok(())) => return,
            Some(Err(_)) => (self.view, self.live) = (None, false),
            None => {}
        }
        let bench::Progress { elapsed, sent, done, errors, in_flight, .. } = progress;
        let seconds = elapsed.as_secs_f64();
        self.line(&format!("{seconds:6.1} s  sent {sent}  done {done}  errors {errors}  unfinished {in_flight}"));
    }

    /// Prints a line above the progress bar, unless `--quiet` is given.
    fn line(&mut self, text: &str) {
        if !self.quiet {
            self.print(text);
        }
    }

    fn print(&mut self, text: &str) {
        if self.view.as_mut().is_some_and(|view| view.print(text).is_ok()) {
            return;
        }
        if self.live {
            self.bar.println(text);
        }
        // A hidden progress bar prints nothing.
        if !self.live || self.bar.is_hidden() {
            // The run continues if standard error is closed.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}
