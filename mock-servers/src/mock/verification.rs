//! Comparison of expectations with received messages, and the message for unmet ones.

use std::fmt;

use thiserror::Error;

use super::{
    expect::{Expect, counted},
    received::Received,
};

/// Maximum number of received messages per expectation in an error.
const MAX_SHOWN: usize = 10;

/// Expectations that were not met.
#[derive(Debug, Clone, PartialEq, Error)]
pub struct UnmetExpectations(Vec<Missed>);

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq)]
struct Missed {
    expected: String,
    came: u64,
    /// The received messages, nearest first.
    received: Vec<String>,
    /// The number of further messages.
    more: usize,
}

/// Compares received messages with the expectations.
pub(super) fn judge(expected: &[Expect], received: &[Received]) -> Result<(), UnmetExpectations> {
    let missed: Vec<_> = expected.iter().filter_map(|expected| missed(expected, received)).collect();
    if missed.is_empty() { Ok(()) } else { Err(UnmetExpectations(missed)) }
}

fn missed(expected: &Expect, received: &[Received]) -> Option<Missed> {
    let compared: Vec<_> = received.iter().map(|one| (expected.mismatches(one), one)).collect();
    let came = compared.iter().filter(|(mismatches, _)| mismatches.is_empty()).count() as u64;
    if expected.allows(came) {
        return None;
    }
    let mut nearest = compared;
    // The sort is stable: equally near messages stay in the order of receipt.
    nearest.sort_by_key(|(mismatches, _)| mismatches.iter().map(|mismatch| mismatch.weight).sum::<u64>());
    let more = nearest.len().saturating_sub(MAX_SHOWN);
    let received = nearest.iter().take(MAX_SHOWN).map(|(mismatches, one)| {
        let words: Vec<_> =
            mismatches.iter().map(|mismatch| mismatch.words.as_str()).filter(|words| !words.is_empty()).collect();
        // The parameters of another method are not compared, because all of them would differ.
        let related = mismatches.iter().all(|mismatch| !mismatch.words.is_empty());
        if words.is_empty() || !related { one.shown() } else { format!("{}  ({})", one.shown(), words.join(", ")) }
    });
    Some(Missed { expected: expected.to_string(), came, received: received.collect(), more })
}

impl fmt::Display for UnmetExpectations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client did not do what the mock server expects")?;
        for missed in &self.0 {
            write!(f, "\nexpected {}; received {}", missed.expected, counted(missed.came))?;
            if missed.received.is_empty() {
                f.write_str("\n  no message was received")?;
                continue;
            }
            f.write_str("\n  received, nearest first:")?;
            for line in &missed.received {
                write!(f, "\n    {line}")?;
            }
            if missed.more > 0 {
                write!(f, "\n    and {} more", missed.more)?;
            }
        }
        Ok(())
    }
}
