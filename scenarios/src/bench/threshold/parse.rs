//! Parses `<metric> <operator> <limit>`, with or without spaces. An operation follows the metric in braces.

use std::str::FromStr;

use diagnostics::nearest;
use mock_servers::HumanDuration;

use super::{Limit, Metric, Operator, Threshold, ThresholdError, ThresholdProblem};
use crate::model::ByteSize;

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut cursor = Cursor { text, at: 0 };
        let metric = cursor.metric()?;
        let operation = cursor.operation(metric)?;
        let operator = cursor.operator()?;
        let limit = cursor.limit(metric)?;
        let threshold = Self { text: text.trim().to_owned(), metric, operation, operator, limit };
        match threshold.constant_result() {
            None => Ok(threshold),
            Some(problem) => Err(cursor.error(problem, 0..text.len(), "choose a limit that a run can pass and fail")),
        }
    }
}

impl Threshold {
    /// The problem, if the result is known before the run.
    fn constant_result(&self) -> Option<ThresholdProblem> {
        use Operator::{AtLeast, AtMost, Less, More};
        let (value, most) = match self.limit {
            Limit::Time(time) => (time.as_secs_f64(), f64::INFINITY),
            Limit::Share(share) => (share, 1.0),
            Limit::Rate(rate) => (rate, f64::INFINITY),
            // Memory can shrink, and latencies can fall.
            Limit::Growth(_) | Limit::Drift(_) => return None,
        };
        match self.operator {
            AtLeast if value == 0.0 => Some(ThresholdProblem::AlwaysPasses),
            AtMost if value == most => Some(ThresholdProblem::AlwaysPasses),
            Less if value == 0.0 => Some(ThresholdProblem::NeverPasses),
            More if value == most => Some(ThresholdProblem::NeverPasses),
            _ => None,
        }
    }
}

/// A position in the text; `at` is in bytes, at a character boundary.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Skips spaces, then takes characters while they are wanted. Also returns their range.
    fn take(&mut self, wanted: impl Fn(char) -> bool) -> (&'a str, std::ops::Range<usize>) {
        let rest = self.text[self.at..].trim_start();
        let start = self.text.len() - rest.len();
        let length = rest.find(|ch| !wanted(ch)).unwrap_or(rest.len());
        self.at = start + length;
        (&rest[..length], start..self.at)
    }

    fn metric(&mut self) -> Result<Metric, ThresholdError> {
        let (word, place) = self.take(|ch| !is_operator(ch) && !ch.is_whitespace() && ch != '{');
        let names = Metric::ALL.map(Metric::name);
        let words = || names.iter().map(String::as_str);
        if word.is_empty() {
            return Err(self.error(ThresholdProblem::NoMetric, place, &nearest::advice("", words())));
        }
        let listed = Metric::ALL.into_iter().find(|metric| metric.name() == word);
        listed.or_else(|| percentile(word)).ok_or_else(|| {
            self.error(ThresholdProblem::UnknownMetric(word.to_owned()), place, &nearest::advice(word, words()))
        })
    }

    /// The name of an operation in braces.
    fn operation(&mut self, metric: Metric) -> Result<Option<String>, ThresholdError> {
        let Some(rest) = self.text[self.at..].strip_prefix('{') else { return Ok(None) };
        let place = self.at..self.text.len();
        let Some(length) = rest.find('}') else {
            return Err(self.error(ThresholdProblem::UnclosedOperation, place, "write it as in `p99{echo} < 50ms`"));
        };
        if matches!(
            metric,
            Metric::OfferedRatio
                | Metric::RssGrowth
                | Metric::P50Drift
                | Metric::FirstNotificationP99
                | Metric::NotificationGapMax
        ) {
            let problem = ThresholdProblem::NotOfOperations(metric.name());
            return Err(self.error(problem, self.at..self.at + length + 2, "remove the operation"));
        }
        self.at += length + 2;
        Ok(Some(rest[..length].to_owned()))
    }

    fn operator(&mut self) -> Result<Operator, ThresholdError> {
        const ADVICE: &str = "operators are `<`, `<=`, `>` and `>=`";
        let (word, place) = self.take(is_operator);
        match word {
            "<" => Ok(Operator::Less),
            "<=" => Ok(Operator::AtMost),
            ">" => Ok(Operator::More),
            ">=" => Ok(Operator::AtLeast),
            "" => Err(self.error(ThresholdProblem::NoOperator, place, ADVICE)),
            _ => Err(self.error(ThresholdProblem::UnknownOperator(word.to_owned()), place, ADVICE)),
        }
    }

    fn limit(&mut self, metric: Metric) -> Result<Limit, ThresholdError> {
        let (limit, place) = self.take(|_| true);
        let (limit, place) = (limit.trim_end(), place.start..place.start + limit.trim_end().len());
        let (read, wanted, example) = match metric {
            Metric::ErrorRate | Metric::UnfinishedRate | Metric::OfferedRatio => {
                (share(limit), "a percentage from 0 to 100", "`1%`")
            }
            Metric::AchievedRate => (rate(limit), "a number of calls per second", "`100/s`"),
            Metric::P50Drift => (drift(limit), "a percentage", "`20%`"),
            Metric::RssGrowth => (growth(limit), "a size per time", "`1MB/min` or `500KB/h`"),
            Metric::Percentile(_)
            | Metric::Max
            | Metric::Mean
            | Metric::Min
            | Metric::FirstNotificationP99
            | Metric::NotificationGapMax => (time(limit), "a duration", "`50ms` or `2s`"),
        };
        read.ok_or_else(|| {
            let problem = match limit {
                "" => ThresholdProblem::NoLimit,
                _ => ThresholdProblem::BadLimit { limit: limit.to_owned(), wanted },
            };
            self.error(problem, place, &format!("write it with its unit, as in {example}"))
        })
    }

    /// Creates an error; converts the range from bytes to characters.
    fn error(&self, problem: ThresholdProblem, place: std::ops::Range<usize>, advice: &str) -> ThresholdError {
        let position = self.text[..place.start].chars().count();
        let width = self.text[place].chars().count();
        ThresholdError { problem, position, width, advice: advice.to_owned() }
    }
}

/// Characters of operators, including those of unknown operators such as `=`, `!` and `≤`.
fn is_operator(ch: char) -> bool {
    matches!(ch, '<' | '>' | '=' | '!' | '~' | '≤' | '≥')
}

/// Parses `p99.95`: above 0 and below 100, with up to three decimals.
fn percentile(word: &str) -> Option<Metric> {
    let digits = word.strip_prefix('p')?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let percent = number(digits).filter(|percent| *percent > 0.0 && *percent < 100.0 && decimals <= 3)?;
    // At most 99,999.
    Some(Metric::Percentile((percent * 1_000.0).round() as u32))
}

fn time(text: &str) -> Option<Limit> {
    text.parse::<HumanDuration>().ok().map(|period| Limit::Time(period.0))
}

fn share(text: &str) -> Option<Limit> {
    let percent = number(text.strip_suffix('%')?)?;
    (percent <= 100.0).then_some(Limit::Share(percent / 100.0))
}

fn drift(text: &str) -> Option<Limit> {
    number(text.strip_suffix('%')?).map(|percent| Limit::Drift(percent / 100.0))
}

fn rate(text: &str) -> Option<Limit> {
    number(text.strip_suffix("/s")?).map(Limit::Rate)
}

/// Parses `1MB/min`: bytes, KB, MB, GB or their binary forms, per s, min or h.
fn growth(text: &str) -> Option<Limit> {
    let (size, time) = text.split_once('/')?;
    let minutes = match time {
        "s" => 1.0 / 60.0,
        "min" => 1.0,
        "h" => 60.0,
        _ => return None,
    };
    let size: ByteSize = size.parse().ok()?;
    Some(Limit::Growth(size.0 as f64 / minutes))
}

/// Parses a decimal number without sign, exponent, `inf` or `nan`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_end();
    let plain =
        text.starts_with(|ch: char| ch.is_ascii_digit()) && text.chars().all(|ch| matches!(ch, '0'..='9' | '.'));
    if plain { text.parse().ok().filter(|number: &f64| number.is_finite()) } else { None }
}
