//! When the calls of an open loop are due: constant, stepped and ramped rates, at regular or random intervals. Pure.
//!
//! A [`RateProfile`] maps the number of calls to the time at which they are due. Regular arrivals are its values at whole
//! numbers, Poisson arrivals those at the sums of random intervals with the mean 1. Shares of a Poisson process are Poisson
//! processes, so each worker draws its own.

use std::{sync::Arc, time::Duration};

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::time::Instant;

use super::Unsent;
use crate::model::{Arrivals, Stage};

/// A part of a profile in which the rate changes linearly.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    /// Start in seconds.
    at: f64,
    /// Calls that are due before.
    calls: f64,
    /// Rate at the start and change of the rate per second.
    rate: f64,
    change: f64,
    /// Length in seconds; infinite for the last piece.
    length: f64,
}

impl Piece {
    /// Calls that are due this long after the start of the piece.
    fn calls_within(&self, seconds: f64) -> f64 {
        self.rate * seconds + 0.5 * self.change * seconds * seconds
    }

    /// How long after the start this many calls are due.
    fn seconds_for(&self, calls: f64) -> f64 {
        let root = (self.rate * self.rate + 2.0 * self.change * calls).max(0.0).sqrt();
        // This form of the solution is exact for a change near 0.
        let sum = self.rate + root;
        if sum > 0.0 { 2.0 * calls / sum } else { f64::INFINITY }
    }
}

/// The rate of a load over time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RateProfile {
    pieces: Vec<Piece>,
}

impl RateProfile {
    /// The same rate at all times.
    pub(super) fn constant(rate: f64) -> Self {
        Self { pieces: vec![Piece { at: 0.0, calls: 0.0, rate, change: 0.0, length: f64::INFINITY }] }
    }

    /// Stages after a warm-up, which has the rate at the start of the first stage. The last rate goes on.
    pub(super) fn stages(stages: &[Stage], warmup: Duration) -> Self {
        let mut profile = Self { pieces: Vec::with_capacity(stages.len() + 2) };
        let first = stages.first().map_or(0.0, |stage| stage.rate);
        profile.push(first, first, warmup.as_secs_f64());
        let mut last = first;
        for stage in stages {
            last = stage.to.unwrap_or(stage.rate);
            profile.push(stage.rate, last, stage.duration.0.as_secs_f64());
        }
        profile.push(last, last, f64::INFINITY);
        profile
    }

    fn push(&mut self, from: f64, to: f64, length: f64) {
        let (at, calls) = self
            .pieces
            .last()
            .map_or((0.0, 0.0), |piece| (piece.at + piece.length, piece.calls + piece.calls_within(piece.length)));
        if length > 0.0 {
            let change = if length.is_finite() { (to - from) / length } else { 0.0 };
            self.pieces.push(Piece { at, calls, rate: from, change, length });
        }
    }

    /// The time in seconds at which this many calls were due; infinite if they never are.
    fn time_of(&self, calls: f64) -> f64 {
        let after = self.pieces.partition_point(|piece| piece.calls <= calls);
        // Pieces without calls have the same number as their successor, which has the call.
        let Some(piece) = self.pieces.get(after.saturating_sub(1)) else { return f64::INFINITY };
        piece.at + piece.seconds_for(calls - piece.calls)
    }

    /// The number of calls that are due before this time in seconds.
    fn calls_before(&self, seconds: f64) -> f64 {
        let after = self.pieces.partition_point(|piece| piece.at <= seconds);
        self.pieces
            .get(after.saturating_sub(1))
            .map_or(0.0, |piece| piece.calls + piece.calls_within(seconds - piece.at))
    }

    /// The highest rate.
    pub(super) fn peak(&self) -> f64 {
        self.pieces
            .iter()
            .map(|piece| piece.rate.max(piece.rate + piece.change * piece.length.min(1e9)))
            .fold(0.0, f64::max)
    }
}

/// The scheduled times of calls, or of the share of one worker, in order.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    start: Instant,
    profile: Arc<RateProfile>,
    /// Position of the next call in the profile.
    position: f64,
    /// Distance to the next position; the mean of a random one.
    step: f64,
    random: Option<ChaCha8Rng>,
    /// The number of the next call among all calls, and the distance to that of the next one.
    number: u64,
    numbers: u64,
}

impl Schedule {
    /// The share of one worker of several.
    pub(super) fn share(
        start: Instant,
        profile: Arc<RateProfile>,
        arrivals: Arrivals,
        seed: u64,
        (worker, workers): (usize, usize),
    ) -> Self {
        let random = match arrivals {
            Arrivals::Uniform => None,
            Arrivals::Poisson => Some(ChaCha8Rng::seed_from_u64(seed.wrapping_add(worker as u64))),
        };
        let (number, numbers) = (worker as u64, workers as u64);
        let mut schedule =
            Self { start, profile, position: worker as f64, step: workers as f64, random, number, numbers };
        if schedule.random.is_some() {
            // A Poisson process starts with an interval too.
            schedule.position = 0.0;
            schedule.position += schedule.interval();
        }
        schedule
    }

    /// The scheduled time of the next call; `None` if it is never due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.time(self.position)
    }

    /// The number of the next call among all calls.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Moves to the call after the next one.
    pub(super) fn advance(&mut self) {
        self.position += self.interval();
        self.number += self.numbers;
    }

    /// The scheduled time of the next call, as [`Self::due`]. When the warm-up is over, its calls that were not sent are
    /// dropped: they are not measured, so those that are must not wait for them.
    pub(super) fn due_after_warmup(&mut self, warmup_end: Instant, now: Instant) -> Option<Instant> {
        let mut due = self.due();
        while now >= warmup_end && due.is_some_and(|due| due < warmup_end) {
            self.advance();
            due = self.due();
        }
        due
    }

    fn interval(&mut self) -> f64 {
        match &mut self.random {
            None => self.step,
            // A number from 0 to 1, without 1; the logarithm of 0 would be infinite.
            Some(random) => -(1.0 - random.random::<f64>()).ln() * self.step,
        }
    }

    fn time(&self, position: f64) -> Option<Instant> {
        let seconds = Duration::try_from_secs_f64(self.profile.time_of(position)).ok()?;
        self.start.checked_add(seconds)
    }

    /// The calls from the next one on that were due within the window. Random ones are assumed at regular intervals.
    pub(super) fn unsent(&self, from: Instant, end: Instant) -> Option<Unsent> {
        let first = self.first_from(from);
        let after = self.first_from(end);
        let count = ((after - first) / self.step).round();
        // A count of calls fits into 53 bits.
        (count >= 1.0).then(|| Unsent { first, step: self.step, count: count as u64, schedule: self.clone() })
    }

    /// The position of the first call, from the next one on, that is due at this time or later.
    fn first_from(&self, moment: Instant) -> f64 {
        let calls = self.profile.calls_before(moment.saturating_duration_since(self.start).as_secs_f64());
        let steps = ((calls - self.position) / self.step).floor() - 1.0;
        // The estimate has a rounding error, which the comparison corrects.
        let mut position = self.position + steps.max(0.0) * self.step;
        while self.time(position).is_some_and(|time| time < moment) {
            position += self.step;
        }
        position
    }

    /// The scheduled time of an unsent call.
    pub(super) fn time_of_unsent(&self, position: f64) -> Instant {
        self.time(position).unwrap_or(self.start)
    }
}

#[cfg(test)]
mod tests {
    use mock_servers::HumanDuration;

    use super::*;

    fn stage(seconds: u64, rate: f64, to: Option<f64>) -> Stage {
        Stage { duration: HumanDuration(Duration::from_secs(seconds)), rate, to }
    }

    fn schedule(profile: RateProfile, arrivals: Arrivals, share: (usize, usize)) -> (Schedule, Instant) {
        let start = Instant::now();
        (Schedule::share(start, Arc::new(profile), arrivals, 7, share), start)
    }

    fn times(schedule: &mut Schedule, start: Instant, until: f64) -> Vec<f64> {
        let mut times = Vec::new();
        while let Some(due) = schedule.due().map(|due| (due - start).as_secs_f64()).filter(|due| *due < until) {
            times.push(due);
            schedule.advance();
        }
        times
    }

    #[test]
    fn steps_and_ramps_have_the_calls_of_their_areas() {
        let stages = [stage(10, 100.0, None), stage(10, 100.0, Some(300.0)), stage(5, 0.0, None), stage(5, 20.0, None)];
        let profile = RateProfile::stages(&stages, Duration::from_secs(1));
        assert!((profile.peak() - 300.0).abs() < 1e-9);
        let (mut schedule, start) = schedule(profile, Arrivals::Uniform, (0, 1));
        let times = times(&mut schedule, start, 31.0);
        let within = |from: f64, to: f64| times.iter().filter(|time| (from..to).contains(*time)).count();
        let counts =
            [within(0.0, 1.0), within(1.0, 11.0), within(11.0, 21.0), within(21.0, 25.999), within(26.0, 31.0)];
        // The call at the end of the ramp is the first one of the last stage.
        assert_eq!(counts, [100, 1_000, 2_000, 0, 100]);
        // The first half of the ramp has a mean rate of 150/s.
        assert_eq!(within(11.0, 16.0), 750);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_random_intervals() {
        let (mut first, start) = schedule(RateProfile::constant(1_000.0), Arrivals::Poisson, (0, 2));
        let drawn = times(&mut first, start, 20.0);
        // A share of a half: 10,000 calls with a standard deviation of 100.
        assert!((9_600..10_400).contains(&drawn.len()), "{}", drawn.len());
        let intervals: Vec<f64> = drawn.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
        let variance = intervals.iter().map(|interval| (interval - mean).powi(2)).sum::<f64>() / intervals.len() as f64;
        // The standard deviation of an exponential distribution is its mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.06, "{mean} {variance}");
        let (mut again, start) = schedule(RateProfile::constant(1_000.0), Arrivals::Poisson, (0, 2));
        let repeated = times(&mut again, start, 20.0);
        assert_eq!(repeated.len(), drawn.len(), "the same seed gives the same calls");
    }

    #[test]
    fn unsent_calls_are_those_of_the_window() {
        let stages = [stage(10, 0.0, Some(20.0))];
        let (mut schedule, start) = schedule(RateProfile::stages(&stages, Duration::ZERO), Arrivals::Uniform, (0, 1));
        let end = start + Duration::from_secs(10);
        assert_eq!(schedule.unsent(start, end).map(|unsent| unsent.count), Some(100));
        (0..40).for_each(|_| schedule.advance());
        let unsent = schedule.unsent(start, end).unwrap();
        assert_eq!(unsent.count, 60);
        // The ramp reaches call 40 after sqrt(40) seconds.
        let first = schedule.time_of_unsent(unsent.first) - start;
        assert!((first.as_secs_f64() - 40.0_f64.sqrt()).abs() < 1e-6, "{first:?}");
        assert_eq!(schedule.unsent(end, end).map(|unsent| unsent.count), None);
    }
}
