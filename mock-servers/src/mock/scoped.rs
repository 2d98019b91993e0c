//! Expectations for a part of a test.

use std::{sync::Arc, thread};

use super::{expect::Expect, expectations::ExpectationSet, verification::UnmetExpectations};

/// An expectation for the messages during its lifetime. Dropping it panics if the expectation was not met, unless the
/// thread panics already.
#[derive(Debug)]
#[must_use = "an expectation that is dropped at once is judged at once"]
pub struct ScopedExpect {
    expectations: Arc<ExpectationSet>,
    expect: Expect,
    from: u64,
    settled: bool,
}

impl ScopedExpect {
    pub(super) fn new(expectations: Arc<ExpectationSet>, expect: Expect) -> Self {
        let from = expectations.position();
        Self { expectations, expect, from, settled: false }
    }

    /// Ends the scope and returns an unmet expectation as an error instead of panicking.
    ///
    /// # Errors
    /// When the expectation was not met.
    pub fn finish(mut self) -> Result<(), UnmetExpectations> {
        self.settled = true;
        self.expectations.verify_one(&self.expect, self.from)
    }
}

impl Drop for ScopedExpect {
    fn drop(&mut self) {
        if self.settled || thread::panicking() {
            return;
        }
        if let Err(unmet) = self.expectations.verify_one(&self.expect, self.from) {
            panic!("{unmet}");
        }
    }
}
