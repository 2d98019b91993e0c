//! How severe a finding is for systems that know errors, warnings and notes. Used by the GitHub and SARIF formats.

use crate::model::{Run, Verdict};

/// Severity of a finding, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// Fails the run.
    Error,
    /// Does not fail the run, but violates a requirement.
    Warning,
    /// Information.
    Note,
}

impl Severity {
    /// All severities.
    pub(super) const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Note];

    /// The severity of a check with this verdict, or `None` if there is nothing to report. A failure that the baseline
    /// lists is information, because it does not fail the run.
    pub(super) fn new(run: &Run, verdict: Verdict, is_known: bool) -> Option<Self> {
        match verdict {
            Verdict::Passed | Verdict::Skipped => None,
            _ if is_known => Some(Self::Note),
            verdict if run.header.policy.fails(verdict) => Some(Self::Error),
            Verdict::Noted => Some(Self::Note),
            Verdict::Warned | Verdict::Flaky | Verdict::Blocked | Verdict::Failed => Some(Self::Warning),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_policy_of_the_run_decides_what_is_an_error() {
        let mut run = sample::run(vec![]);
        let severity = |run: &Run, verdict| Severity::new(run, verdict, false);
        assert_eq!(severity(&run, Verdict::Warned), Some(Severity::Warning));
        assert_eq!(severity(&run, Verdict::Flaky), Some(Severity::Error));
        run.header.policy.fail_on_warnings = true;
        run.header.policy.allow_flaky = true;
        assert_eq!(severity(&run, Verdict::Warned), Some(Severity::Error));
        assert_eq!(severity(&run, Verdict::Flaky), Some(Severity::Warning));
        assert_eq!(severity(&run, Verdict::Noted), Some(Severity::Note));
        assert_eq!(severity(&run, Verdict::Passed), None);
        assert_eq!(Severity::new(&run, Verdict::Failed, true), Some(Severity::Note));
    }
}
