//! Tables for reading and judging, and properties of the reader.

use proptest::{prelude::*, sample::select};
use serde_json::json;

use super::*;

fn figures() -> LoadFigures {
    LoadFigures {
        window: Duration::from_secs(10),
        offered: 1_000,
        sent: 950,
        succeeded: 930,
        failed: 10,
        unfinished: 60,
        achieved_rate: 93.0,
        latency: Some(Latency {
            min_us: 900,
            mean_us: 2_500.5,
            p50_us: 2_000,
            p90_us: 5_000,
            p95_us: 10_000,
            p99_us: 50_000,
            p999_us: 700_000,
            max_us: 1_500_000,
        }),
    }
}

fn percentile(percentile: f64) -> Option<u64> {
    let known = [(50.0, 2_000), (90.0, 5_000), (95.0, 10_000), (97.5, 20_000), (99.0, 50_000), (99.9, 700_000)];
    known.into_iter().find(|(known, _)| (known - percentile).abs() < 1e-9).map(|(_, micros)| micros)
}

#[test]
fn judges_every_metric() {
    for (threshold, measured, held) in [
        ("p50 < 2ms", "p50 = 2.00 ms", false),
        ("p50 <= 2ms", "p50 = 2.00 ms", true),
        ("p90 < 6ms", "p90 = 5.00 ms", true),
        ("p95 > 10ms", "p95 = 10.00 ms", false),
        ("p95 >= 10ms", "p95 = 10.00 ms", true),
        ("  p99<50ms ", "p99 = 50.00 ms", false),
        ("p99.9 <= 1s", "p99.9 = 700.00 ms", true),
        ("p97.5 <= 20ms", "p97.5 = 20.00 ms", true),
        ("unfinished_rate <= 6%", "unfinished_rate = 6 %", true),
        ("max < 1s 500ms", "max = 1.50 s", false),
        ("mean < 2501us", "mean = 2.50 ms", true),
        ("min > 1ms", "min = 900 us", false),
        ("error_rate <= 7%", "error_rate = 7 %", true),
        ("error_rate < 6.9 %", "error_rate = 7 %", false),
        ("achieved_rate >= 93/s", "achieved_rate = 93.0/s", true),
        ("achieved_rate >= 93.1/s", "achieved_rate = 93.0/s", false),
        ("offered_ratio >= 95%", "offered_ratio = 95 %", true),
        ("offered_ratio > 95%", "offered_ratio = 95 %", false),
    ] {
        let result = threshold
            .parse::<Threshold>()
            .unwrap_or_else(|error| panic!("{threshold}: {error:?}"))
            .evaluate(&figures(), percentile);
        let expected =
            ThresholdResult { threshold: threshold.trim().to_owned(), measured: measured.to_owned(), passed: held };
        assert_eq!(result, expected);
    }
}

#[test]
fn thresholds_on_notifications_need_some() {
    let latency = figures().latency.unwrap();
    let measured = NotificationResult { count: 9, calls: 3, first: latency, longest_gap: latency };
    for (threshold, shown, passed) in [
        ("first_notification_p99 <= 50ms", "first_notification_p99 = 50.00 ms", true),
        ("first_notification_p99 < 50ms", "first_notification_p99 = 50.00 ms", false),
        ("notification_gap_max < 2s", "notification_gap_max = 1.50 s", true),
        ("notification_gap_max < 1s", "notification_gap_max = 1.50 s", false),
    ] {
        let threshold: Threshold = threshold.parse().unwrap();
        let result = threshold.evaluate_notifications(Some(&measured)).unwrap();
        assert_eq!((result.measured.as_str(), result.passed), (shown, passed));
        let without = threshold.evaluate_notifications(None).unwrap();
        assert!(!without.passed && without.measured.contains("no call had a notification"), "{without:?}");
    }
    let other: Threshold = "p99 < 1s".parse().unwrap();
    assert_eq!(other.evaluate_notifications(Some(&measured)), None);
}

#[test]
fn nothing_measured_does_not_hold() {
    let nothing = LoadFigures { offered: 0, sent: 0, latency: None, achieved_rate: 0.0, ..figures() };
    for threshold in ["p99 < 1s", "p99 > 1ms", "error_rate <= 1%", "offered_ratio >= 1%", "achieved_rate > 0/s"] {
        let result = threshold.parse::<Threshold>().unwrap().evaluate(&nothing, |_| None);
        assert!(!result.passed, "{result:?}");
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    for (text, problem, place, advice) in [
        ("", "a metric is missing", (0, 0), "known are `p50`"),
        ("  < 5ms", "a metric is missing", (2, 0), "known are `p50`"),
        ("p100 < 5ms", "unknown metric `p100`", (0, 4), "known are `p50`"),
        ("\u{3000}p99.9999 < 5ms", "unknown metric `p99.9999`", (1, 8), "did you mean `p99.9`?"),
        ("error-rate < 5%", "unknown metric `error-rate`", (0, 10), "did you mean `error_rate`?"),
        ("P99 < 5ms", "unknown metric `P99`", (0, 3), "did you mean `p99`?"),
        ("p99", "an operator is missing", (3, 0), "operators are"),
        ("p99 5ms", "an operator is missing", (4, 0), "operators are"),
        ("p99 == 5ms", "unknown operator `==`", (4, 2), "operators are"),
        ("p99 ≤ 5ms", "unknown operator `≤`", (4, 1), "operators are"),
        ("p99 <", "a limit is missing", (5, 0), "write it with its unit, as in `50ms`"),
        ("p99 < 50", "`50` is not a duration", (6, 2), "as in `50ms`"),
        ("p99 < 5%", "`5%` is not a duration", (6, 2), "as in `50ms`"),
        ("p99 < 5ms or so ", "`5ms or so` is not a duration", (6, 9), "as in `50ms`"),
        ("error_rate < 1", "`1` is not a percentage from 0 to 100", (13, 1), "as in `1%`"),
        ("error_rate < 101%", "`101%` is not a percentage", (13, 4), "as in `1%`"),
        ("error_rate < -1%", "`-1%` is not a percentage", (13, 3), "as in `1%`"),
        ("error_rate < nan%", "`nan%` is not a percentage", (13, 4), "as in `1%`"),
        ("achieved_rate > 1e3/s", "`1e3/s` is not a number of calls", (16, 5), "as in `100/s`"),
        ("achieved_rate > 5/m", "`5/m` is not a number of calls", (16, 3), "as in `100/s`"),
        ("error_rate >= 0%", "this always passes", (0, 16), "choose a limit"),
        ("error_rate <= 100%", "this always passes", (0, 18), "choose a limit"),
        ("p99 < 0ms", "this never passes", (0, 9), "choose a limit"),
        ("offered_ratio > 100%", "this never passes", (0, 20), "choose a limit"),
        ("rss_growth < 1MB", "`1MB` is not a size per time", (13, 3), "as in `1MB/min`"),
        ("rss_growth < 1Mb/min", "`1Mb/min` is not a size per time", (13, 7), "as in `1MB/min`"),
        ("achieved_rate >= 0/s", "this always passes", (0, 20), "choose a limit"),
    ] {
        let error = text.parse::<Threshold>().unwrap_err();
        assert!(error.to_string().starts_with(problem), "{text}: {error}");
        assert_eq!((error.position, error.width), place, "{text}: {error:?}");
        assert!(error.advice.contains(advice), "{text}: {error:?}");
    }
}

#[test]
fn a_growth_has_a_size_and_a_time() {
    for (text, bytes_per_minute) in
        [("1MB/min", 1e6), ("60KB/h", 1e3), ("1KiB/s", 61_440.0), ("2.5GiB/min", 2_684_354_560.0), ("0B/min", 0.0)]
    {
        let threshold: Threshold = format!("rss_growth <= {text}").parse().unwrap();
        let Limit::Growth(limit) = threshold.limit else { panic!("{threshold:?}") };
        assert!((limit - bytes_per_minute).abs() < 1e-6, "{text}: {limit}");
    }
}

#[test]
fn a_drift_compares_the_last_quarter_with_the_first_one() {
    let threshold: Threshold = "p50_drift <= 20%".parse().unwrap();
    let series = |medians: &[u64]| -> Vec<LoadPoint> {
        let point = |us: &u64| json!({ "at_ms": 0, "sent": 1, "succeeded": 1, "errors": 0, "p50_us": us });
        medians.iter().map(|us| serde_json::from_value(point(us)).unwrap()).collect()
    };
    let evaluated = |medians: &[u64]| threshold.evaluate_series(&series(medians)).unwrap();
    // One slow interval is no drift, and neither is a warm-up.
    assert!(evaluated(&[100, 100, 100, 900, 100, 100, 100, 100, 119, 119, 119, 900]).passed);
    assert!(evaluated(&[900, 900, 100, 100, 100, 100, 100, 100]).passed);
    let slower = evaluated(&[100, 100, 200, 200, 200, 200, 200, 200]);
    assert_eq!((slower.passed, slower.measured.as_str()), (false, "p50_drift = 100 % (100 us to 200 us)"));
    let few = evaluated(&[100; 7]);
    assert!(!few.passed && few.measured.contains("7 intervals with a result are too few"), "{few:?}");
    assert_eq!("p99 < 5ms".parse::<Threshold>().unwrap().evaluate_series(&[]), None);
    let error = "p50_drift{echo} < 5%".parse::<Threshold>().unwrap_err();
    assert!(error.to_string().contains("metric of the whole load"), "{error}");
}

#[test]
fn a_threshold_can_name_an_operation() {
    let threshold: Threshold = "p99{resources/read a<b} <= 5ms".parse().unwrap();
    assert_eq!(threshold.operation(), Some("resources/read a<b"));
    let known = ["echo".to_owned()];
    let error = "p99{ecko} < 5ms".parse::<Threshold>().unwrap().check_operation(&known).unwrap_err();
    assert_eq!(
        (error.problem.to_string().as_str(), error.position, error.width),
        ("the load has no operation `ecko`", 4, 4)
    );
    assert_eq!(error.advice, "did you mean `echo`?");
    assert!("p99{echo}<5ms".parse::<Threshold>().unwrap().check_operation(&known).is_ok());
    // An early end is only for errors of the whole load.
    assert_eq!("error_rate{echo} < 1%".parse::<Threshold>().unwrap().max_error_rate(), None);
    for (text, problem) in [
        ("p99{echo < 5ms", "a `}` is missing"),
        ("offered_ratio{echo} > 5%", "`offered_ratio` is a metric of the whole load"),
        ("p99{echo}", "an operator is missing"),
    ] {
        assert_eq!(text.parse::<Threshold>().unwrap_err().problem.to_string(), problem, "{text}");
    }
}

#[test]
fn a_small_share_is_not_rounded_to_nothing() {
    for (share, words) in
        [(0.0, "0 %"), (1e-6, "less than 0.01 %"), (0.1, "10 %"), (0.12345, "12.35 %"), (1.0, "100 %")]
    {
        assert_eq!(percent(share), words);
    }
    assert_eq!(percent(0.999_999), "more than 99.99 %");
}

fn a_threshold() -> impl Strategy<Value = (Metric, Operator, u32, String)> {
    let metric = select(Metric::ALL.to_vec());
    let operator =
        select(vec![(Operator::Less, "<"), (Operator::AtMost, "<="), (Operator::More, ">"), (Operator::AtLeast, ">=")]);
    (metric, operator, 1_u32..100, select(vec!["", " ", "\t "]), select(vec!["", " "])).prop_map(
        |(metric, (operator, sign), number, one, two)| {
            let unit = match metric {
                Metric::ErrorRate | Metric::UnfinishedRate | Metric::OfferedRatio | Metric::P50Drift => "%",
                Metric::AchievedRate => "/s",
                Metric::RssGrowth => "KB/min",
                _ => "ms",
            };
            (metric, operator, number, format!("{one}{}{two}{sign}{one}{number}{unit}{two}", metric.name()))
        },
    )
}

proptest! {
    #[test]
    fn reads_whatever_is_well_formed((metric, operator, number, text) in a_threshold()) {
        let threshold: Threshold = text.parse().unwrap();
        prop_assert_eq!((threshold.metric, threshold.operator), (metric, operator));
        let expected = match metric {
            Metric::ErrorRate | Metric::UnfinishedRate | Metric::OfferedRatio => Limit::Share(f64::from(number) / 100.0),
            Metric::AchievedRate => Limit::Rate(f64::from(number)),
            Metric::P50Drift => Limit::Drift(f64::from(number) / 100.0),
            Metric::RssGrowth => Limit::Growth(f64::from(number) * 1_000.0),
            _ => Limit::Time(Duration::from_millis(number.into())),
        };
        prop_assert_eq!(threshold.limit, expected);
        prop_assert_eq!(threshold.to_string().parse::<Threshold>().unwrap(), threshold);
    }

    #[test]
    fn points_into_the_text_whatever_it_is(text in prop_oneof![
        ".{0,40}",
        "(p9|p99|p99.9|error_rate|é) ?[<>=≤]{0,3} ?[0-9.]{0,6}(ms|s|%|/s|é)?.{0,3}",
    ]) {
        if let Err(error) = text.parse::<Threshold>() {
            prop_assert!(error.position + error.width <= text.chars().count(), "{error:?}");
            prop_assert!(!error.advice.is_empty());
        }
    }
}
