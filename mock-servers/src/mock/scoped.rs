//! An expectation that holds for a part of a test.

use std::{sync::Arc, thread};

use super::{expect::Expect, ledger::Ledger, verdict::Unmet};

/// Counts what comes as long as it lives. Dropping it panics if the expectation was not met, unless the thread panics
/// already.
#[derive(Debug)]
#[must_use = "an expectation that is dropped at once is judged at once"]
pub struct ScopedExpect {
    ledger: Arc<Ledger>,
    expect: Expect,
    from: u64,
    settled: bool,
}

impl ScopedExpect {
    pub(super) fn new(ledger: Arc<Ledger>, expect: Expect) -> Self {
        let from = ledger.position();
        Self { ledger, expect, from, settled: false }
    }

    /// Ends the scope and says what was not met, instead of panicking.
    ///
    /// # Errors
    /// When the expectation was not met.
    pub fn finish(mut self) -> Result<(), Unmet> {
        self.settled = true;
        self.ledger.verify_one(&self.expect, self.from)
    }
}

impl Drop for ScopedExpect {
    fn drop(&mut self) {
        if self.settled || thread::panicking() {
            return;
        }
        if let Err(unmet) = self.ledger.verify_one(&self.expect, self.from) {
            panic!("{unmet}");
        }
    }
}
