//! Notifications that arrive before the response of their call: the time until the first one, and how long the server is
//! silent after it.

use reports::model::NotificationResult;
use tokio::time::Instant;

use super::latencies::{Latencies, micros};

/// The notifications of one request until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Notified {
    count: u64,
    first: Instant,
    last: Instant,
    /// In microseconds.
    longest_gap: u64,
}

impl Notified {
    /// Adds a notification that arrived now.
    pub(super) fn add(notified: &mut Option<Self>, now: Instant) {
        match notified {
            None => *notified = Some(Self { count: 1, first: now, last: now, longest_gap: 0 }),
            Some(known) => {
                known.count += 1;
                known.longest_gap = known.gap_until(now);
                known.last = now;
            }
        }
    }

    /// The longest gap, if nothing arrives before this time.
    fn gap_until(&self, now: Instant) -> u64 {
        self.longest_gap.max(micros(now.saturating_duration_since(self.last)))
    }
}

/// The notifications of all requests.
#[derive(Default)]
pub(super) struct NotificationRecord {
    count: u64,
    first: Latencies,
    longest_gap: Latencies,
}

impl NotificationRecord {
    /// Records those of a request, which was due at `begun` and has ended.
    pub(super) fn record(&mut self, notified: Notified, begun: Instant, ended: Instant) {
        self.count += notified.count;
        self.first.enter(micros(notified.first.saturating_duration_since(begun)), 1);
        self.longest_gap.enter(notified.gap_until(ended), 1);
    }

    /// Adds the records of another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.first.merge(&other.first);
        self.longest_gap.merge(&other.longest_gap);
    }

    /// The result. `None` without notifications.
    pub(super) fn result(&self) -> Option<NotificationResult> {
        let (first, longest_gap) = (self.first.summary()?, self.longest_gap.summary()?);
        Some(NotificationResult { count: self.count, calls: self.first.count(), first, longest_gap })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn gaps_begin_with_the_first_notification_and_end_with_the_call() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let record = |times: &[u64], ended| {
            let mut notified = None;
            for time in times {
                Notified::add(&mut notified, at(*time));
            }
            let mut record = NotificationRecord::default();
            record.record(notified.unwrap(), begun, at(ended));
            record
        };
        for (times, ended, first, gap) in [
            (&[40][..], 50, 40_000, 10_000),
            (&[40, 50, 90, 91], 100, 40_000, 40_000),
            (&[1, 2], 900, 1_000, 898_000),
            (&[7, 7, 7], 7, 7_000, 0),
        ] {
            let result = record(times, ended).result().unwrap();
            assert_eq!((result.count, result.calls), (times.len() as u64, 1));
            assert_eq!((result.first.max_us, result.longest_gap.max_us), (first, gap), "{times:?} until {ended}");
        }
        let mut sum = record(&[40], 50);
        sum.merge(&record(&[1, 2], 900));
        let sum = sum.result().unwrap();
        assert_eq!((sum.count, sum.calls, sum.first.min_us, sum.longest_gap.max_us), (3, 2, 1_000, 898_000));
        assert_eq!(NotificationRecord::default().result(), None);
    }
}
