//! The engine against callers that stall, fail and hang, on paused time.

use std::{
    num::NonZeroU64,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use mock_servers::HumanDuration;
use reports::model::Latency;
use tokio::time::sleep;

use super::*;
use crate::model::{Closed, Load, Open};

/// Paused time moves in the steps of this timer.
struct TimerAlarm;

impl Alarm for TimerAlarm {
    async fn until(&mut self, moment: Instant) {
        sleep_until(moment).await;
    }
}

/// A caller made of a closure.
struct Fake<F>(F);

impl<F, R> Caller for Fake<F>
where
    F: Fn(u64) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), String>> + Send,
{
    async fn call(&self, at: Position, _: Option<String>) -> Result<Option<String>, CallFailure> {
        (self.0)(at.iteration).await.map(|()| None).map_err(CallFailure::from)
    }
}

/// Succeeds so many milliseconds later.
async fn after(millis: u64) -> Result<(), String> {
    sleep(Duration::from_millis(millis)).await;
    Ok(())
}

fn open(rate: f64) -> Shape {
    Shape::Open(Open { rate: Some(rate), ..Open::default() })
}

fn users(users: usize) -> Shape {
    Shape::Closed(Closed::new(users))
}

/// A load of ten seconds without a warm-up.
fn load(shape: Shape) -> Load {
    Load::new("echo", shape, HumanDuration(Duration::from_secs(10)))
}

async fn run_load<F, R>(load: &Load, call: F) -> LoadResult
where
    F: Fn(u64) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), String>> + Send,
{
    let plan = LoadPlan::new(load).unwrap();
    let result = run_with(&plan, Fake(call), TimerAlarm, |_| (), CancellationToken::new()).await;
    let ended = result.succeeded + result.errors.values().sum::<u64>();
    assert_eq!(result.offered, ended + result.unfinished, "{result:?}");
    result
}

/// A server that answers in 5 ms, but not at all from second 4 to second 7.
fn stalling() -> impl Fn(u64) -> futures::future::BoxFuture<'static, Result<(), String>> {
    let start = Instant::now();
    move |_| {
        Box::pin(async move {
            let stall = Duration::from_secs(4)..Duration::from_secs(7);
            if stall.contains(&start.elapsed()) {
                sleep_until(start + stall.end).await;
            }
            sleep(Duration::from_millis(5)).await;
            Ok(())
        })
    }
}

fn latency(result: &LoadResult) -> Latency {
    result.latency.unwrap_or_else(|| panic!("no latency: {result:?}"))
}

fn warned(result: &LoadResult, words: &str) -> bool {
    result.warnings.iter().any(|warning| warning.contains(words))
}

const SECOND: u64 = 1_000_000;

#[tokio::test(start_paused = true)]
async fn an_open_loop_makes_a_stall_count_for_every_call_that_fell_due() {
    let result = run_load(&load(open(20.0)), stalling()).await;
    let latency = latency(&result);
    assert_eq!((result.offered, result.sent, result.succeeded), (200, 200, 200));
    assert!((1_800_000..2_400_000).contains(&latency.p90_us), "{latency:?}");
    assert!((2_800_000..3_100_000).contains(&latency.p99_us), "{latency:?}");
    assert!((4_000..8_000).contains(&latency.p50_us), "{latency:?}");
    assert!((19.9..20.1).contains(&result.achieved_rate), "a stall that was made up for: {}", result.achieved_rate);
    assert!(!warned(&result, "coordinated omission"), "{:?}", result.warnings);
}

#[tokio::test(start_paused = true)]
async fn a_full_flight_does_not_hide_the_stall() {
    let shape = Shape::Open(Open { rate: Some(20.0), max_in_flight: Some(1), ..Open::default() });
    let result = run_load(&load(shape), stalling()).await;
    let latency = latency(&result);
    assert!((1_800_000..2_600_000).contains(&latency.p90_us), "{latency:?}");
    assert!((2_800_000..3_200_000).contains(&latency.p99_us), "{latency:?}");
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_omits_the_stall_and_says_so() {
    let result = run_load(&load(users(1)), stalling()).await;
    let latency = latency(&result);
    assert!(latency.p90_us < 10_000 && latency.p99_us < 10_000, "{latency:?}");
    assert!(latency.max_us > 2_900_000, "{latency:?}");
    assert!(warned(&result, "coordinated omission"), "{:?}", result.warnings);
    let steady = run_load(&load(users(1)), async |_| after(5).await).await;
    assert!(!warned(&steady, "coordinated omission"), "{:?}", steady.warnings);
}

#[tokio::test(start_paused = true)]
async fn a_run_in_which_every_call_failed_does_not_hold() {
    for shape in [open(20.0), users(2)] {
        let result = run_load(&load(shape), async |n| {
            sleep(Duration::from_millis(10)).await;
            Err(if n % 4 == 0 { "closed" } else { "rpc" }.to_owned())
        })
        .await;
        assert!(!result.passed() && result.latency.is_none(), "{result:?}");
        assert_eq!(result.errors.keys().collect::<Vec<_>>(), ["closed", "rpc"]);
        assert!(result.errors["rpc"] > result.errors["closed"]);
        assert!(warned(&result, "mostly `rpc`"), "{:?}", result.warnings);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_was_not_reached_is_said() {
    let shape = Shape::Open(Open { rate: Some(20.0), max_in_flight: Some(1), ..Open::default() });
    let load =
        Load { thresholds: vec!["offered_ratio >= 95%".to_owned(), "error_rate <= 1%".to_owned()], ..load(shape) };
    let result = run_load(&load, async |_| after(100).await).await;
    assert_eq!(result.offered, 200);
    assert!((99..=101).contains(&result.sent), "{}", result.sent);
    assert_eq!(result.unfinished, 200 - result.sent);
    assert!((9.8..10.2).contains(&result.achieved_rate), "{}", result.achieved_rate);
    assert!(warned(&result, "the rate was not reached: 20.0/s were requested"), "{:?}", result.warnings);
    assert!(warned(&result, "the rate was not achieved"), "{:?}", result.warnings);
    assert!(result.thresholds.iter().all(|threshold| !threshold.passed), "{:?}", result.thresholds);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_keep_up_does_not_achieve_the_rate() {
    let turn = Arc::new(tokio::sync::Mutex::new(()));
    let result = run_load(&load(open(20.0)), move |_| {
        let turn = Arc::clone(&turn);
        async move {
            let _turn = turn.lock().await;
            after(100).await
        }
    })
    .await;
    assert_eq!((result.sent, result.succeeded), (200, 200), "all of them, but late");
    assert!((9.8..10.3).contains(&result.achieved_rate), "{}", result.achieved_rate);
    assert!(warned(&result, "the rate was not achieved: 20.0/s"), "{:?}", result.warnings);
}

#[tokio::test(start_paused = true)]
async fn a_slow_but_steady_server_achieves_the_rate() {
    let result = run_load(&load(open(20.0)), async |_| after(2_000).await).await;
    assert!((19.9..20.1).contains(&result.achieved_rate), "{}", result.achieved_rate);
    assert!(!warned(&result, "the rate was not"), "{:?}", result.warnings);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_are_in_flight_than_allowed() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let shape = Shape::Open(Open { rate: Some(100.0), max_in_flight: Some(3), ..Open::default() });
    let peak = Arc::clone(&most);
    run_load(&load(shape), move |_| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        async move {
            most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
            sleep(Duration::from_millis(50)).await;
            now.fetch_sub(1, Relaxed);
            Ok(())
        }
    })
    .await;
    assert_eq!(peak.load(Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn the_warm_up_is_called_and_not_counted() {
    for (shape, calls) in [(open(20.0), 240), (users(1), 120)] {
        let load = Load { warmup: Some(HumanDuration(Duration::from_secs(2))), ..load(shape.clone()) };
        let made = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&made);
        let start = Instant::now();
        let result = run_load(&load, move |_| {
            counter.fetch_add(1, Relaxed);
            async move {
                // Slow and failing while it warms up: neither may show.
                let cold = start.elapsed() < Duration::from_secs(2);
                sleep(Duration::from_millis(100)).await;
                if cold { Err("cold".to_owned()) } else { Ok(()) }
            }
        })
        .await;
        assert_eq!(made.load(Relaxed), calls, "{shape:?}");
        assert_eq!((result.offered, result.succeeded), (calls * 10 / 12, calls * 10 / 12), "{shape:?}");
        assert!(result.errors.is_empty(), "{result:?}");
        assert_eq!(result.counted_ms, 10_000);
    }
}

#[tokio::test(start_paused = true)]
async fn measured_calls_do_not_wait_for_those_of_the_warm_up() {
    let shape = Shape::Open(Open { rate: Some(20.0), max_in_flight: Some(1), ..Open::default() });
    let load = Load { warmup: Some(HumanDuration(Duration::from_secs(4))), ..load(shape) };
    let call = async |_: u64| {
        sleep(Duration::from_millis(500)).await;
        Ok(())
    };
    let result = run_load(&load, call).await;
    // Two calls end each second. Of the 80 of the warm-up, 72 were not sent.
    assert_eq!((result.offered, result.sent, result.succeeded), (200, 20, 20), "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_answering_does_not_look_fast() {
    let start = Instant::now();
    for (timeout, least) in [(30, 29), (1, 1)] {
        let load = Load { timeout: Some(HumanDuration(Duration::from_secs(timeout))), ..load(open(20.0)) };
        let begin = Instant::now();
        let result = run_load(&load, move |_| async move {
            if begin.elapsed() >= Duration::from_secs(8) {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
        .await;
        assert_eq!((result.succeeded, result.errors[TIMED_OUT]), (160, 40));
        assert!(latency(&result).p90_us >= least * SECOND, "{:?}", result.latency);
        assert!(warned(&result, "40 of 200 calls have no response"), "{:?}", result.warnings);
    }
    assert!(start.elapsed() < Duration::from_secs(55), "it waits for the time limit and no longer");
}

#[tokio::test(start_paused = true)]
async fn calls_that_were_never_sent_enter_at_their_age() {
    let shape = Shape::Open(Open { rate: Some(20.0), max_in_flight: Some(1), ..Open::default() });
    let load = Load { timeout: Some(HumanDuration(Duration::from_secs(30))), ..load(shape) };
    let result = run_load(&load, async |_| std::future::pending().await).await;
    assert_eq!((result.offered, result.sent, result.unfinished), (200, 1, 199));
    // Given up after 30.25 s, they were due from 0 to 9.95 s.
    let Latency { min_us, p50_us, max_us, .. } = latency(&result);
    assert!((20 * SECOND..21 * SECOND).contains(&min_us) && max_us > 30 * SECOND, "{:?}", result.latency);
    assert!((25 * SECOND..26 * SECOND).contains(&p50_us), "{:?}", result.latency);
    assert!(!result.passed());
    let warm = Load { warmup: Some(HumanDuration(Duration::from_secs(2))), ..load };
    let result = run_load(&warm, async |_| std::future::pending().await).await;
    assert_eq!((result.offered, result.sent, result.unfinished), (200, 0, 200), "those of the warm-up are not counted");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_ends_early_and_says_what_it_covers() {
    for shape in [open(20.0), users(4)] {
        let plan = LoadPlan::new(&load(shape.clone())).unwrap();
        let cancel = CancellationToken::new();
        let start = Instant::now();
        // Every tenth call hangs: it gets a second, and is then given up.
        let caller = Fake(async |n| match n % 10 {
            9 => std::future::pending().await,
            _ => after(300).await,
        });
        let stop = cancel.clone();
        let (result, ()) = tokio::join!(run_with(&plan, caller, TimerAlarm, |_| (), cancel), async move {
            sleep(Duration::from_millis(3_020)).await;
            stop.cancel();
        });
        assert!(start.elapsed() < Duration::from_millis(4_100), "{:?}", start.elapsed());
        assert!((3_020..3_025).contains(&result.counted_ms), "{}", result.counted_ms);
        assert_eq!(result.offered, result.succeeded + result.unfinished, "{result:?}");
        assert!(result.unfinished > 0 && result.errors.is_empty(), "{result:?}");
        if shape == open(20.0) {
            assert_eq!((result.offered, result.unfinished), (61, 6));
        }
        assert!(warned(&result, "cancelled after 3.0 of 10.0 seconds"), "{:?}", result.warnings);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_cancelled_before_it_counted_does_not_hold() {
    let plan = LoadPlan::new(&load(open(20.0))).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = run_with(&plan, Fake(async |_| Ok(())), TimerAlarm, |_| (), cancel).await;
    assert!(!result.passed() && result.achieved_rate == 0.0, "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_is_not_forgotten() {
    for shape in [open(20.0), users(1)] {
        let result = run_load(&load(shape), async |n| {
            assert!(n != 5, "on purpose");
            after(50).await
        })
        .await;
        assert_eq!(result.unfinished, 1, "{result:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn tells_progress_every_second_and_at_the_end() {
    let plan = LoadPlan::new(&load(open(20.0))).unwrap();
    let told = Mutex::new(Vec::new());
    let caller = Fake(async |n| {
        sleep(Duration::from_millis(510)).await;
        if n < 10 { Err("cold".to_owned()) } else { Ok(()) }
    });
    run_with(&plan, caller, TimerAlarm, |progress| told.lock().unwrap().push(progress), CancellationToken::new()).await;
    let told = told.into_inner().unwrap();
    assert_eq!(told.len(), 11);
    let Progress { elapsed, planned, sent, done, errors, in_flight, recent } = told[1];
    assert_eq!(planned, Duration::from_secs(10));
    let recent = recent.expect("calls succeeded");
    assert!((510_000..542_000).contains(&recent.p50_us) && recent.max_us == recent.p99_us, "{recent:?}");
    assert_eq!((elapsed.as_secs(), errors), (2, 10));
    assert!((40..=41).contains(&sent) && in_flight == sent - done && (10..=11).contains(&in_flight), "{:?}", told[1]);
    assert_eq!((told[10].sent, told[10].done, told[10].in_flight), (200, 200, 0));
}

#[tokio::test(start_paused = true)]
async fn ends_after_a_number_of_measured_calls() {
    let calls = |calls| Closed { calls: NonZeroU64::new(calls), ..Closed::new(3) };
    let limited = Load { warmup: Some(HumanDuration(Duration::from_secs(1))), ..load(Shape::Closed(calls(7))) };
    let numbers = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&numbers);
    let result = run_load(&limited, move |n| {
        seen.lock().unwrap().push(n);
        after(400)
    })
    .await;
    assert_eq!((result.offered, result.sent, result.succeeded, result.unfinished), (7, 7, 7, 0), "{result:?}");
    // The calls of the warm-up end after 1.2 s, and three rounds of three users follow.
    assert_eq!(result.counted_ms, 200 + 3 * 400);
    assert!(!warned(&result, "cancelled") && !warned(&result, "were sent in"), "{:?}", result.warnings);
    let mut numbers = std::mem::take(&mut *numbers.lock().unwrap());
    numbers.sort_unstable();
    // Each row of data belongs to one measured call.
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    let result = run_load(&load(Shape::Closed(calls(100))), |_| after(1_000)).await;
    assert_eq!((result.counted_ms, result.sent), (10_000, 30));
    assert!(warned(&result, "30 of 100 calls were sent in 10s"), "{:?}", result.warnings);
}

#[tokio::test(start_paused = true)]
async fn says_which_percentiles_have_too_few_samples() {
    let few = run_load(&load(open(20.0)), async |_| Ok(())).await;
    assert!(warned(&few, "200 samples are too few for p99.9,"), "{:?}", few.warnings);
    let enough = run_load(&load(open(100.0)), async |_| Ok(())).await;
    assert!(!warned(&enough, "too few"), "{:?}", enough.warnings);
}

#[tokio::test(start_paused = true)]
async fn says_when_it_was_late_itself() {
    /// Oversleeps once.
    struct Oversleeping;
    impl Alarm for Oversleeping {
        async fn until(&mut self, moment: Instant) {
            let late =
                if moment.elapsed().is_zero() && moment > Instant::now() + Duration::from_millis(49) { 40 } else { 0 };
            sleep_until(moment + Duration::from_millis(late)).await;
        }
    }
    let plan = LoadPlan::new(&load(open(20.0))).unwrap();
    let late = run_with(&plan, Fake(async |_| Ok(())), Oversleeping, |_| (), CancellationToken::new()).await;
    assert!(warned(&late, "it sent calls up to 40"), "{:?}", late.warnings);
    let shape = Shape::Open(Open { rate: Some(20.0), max_in_flight: Some(1), ..Open::default() });
    let full = run_load(&load(shape), async |_| after(70).await).await;
    assert!(!warned(&full, "it sent calls"), "waiting for a place is not the workbench's: {:?}", full.warnings);
}

#[tokio::test]
async fn runs_on_the_real_clock() {
    let load = Load { duration: HumanDuration::from_millis(200), ..load(open(500.0)) };
    let plan = LoadPlan::new(&load).unwrap();
    let result = run(&plan, Fake(async |_| Ok(())), |_| (), CancellationToken::new()).await;
    // A busy machine may be late for the last ones.
    assert_eq!((result.offered, result.succeeded + result.unfinished), (100, 100), "{result:?}");
    assert!(result.succeeded > 0, "{result:?}");
}

#[test]
fn refuses_what_cannot_be_carried_out() {
    let none = || load(users(0));
    let timed = |millis| Some(HumanDuration::from_millis(millis));
    for (load, told) in [
        (none(), "users is 0"),
        (load(open(0.0)), "rate is 0"),
        (load(open(f64::NAN)), "rate is NaN"),
        (load(open(1e-300)), "rate is 0.000"),
        (load(open(1e7)), "rate is 10000000, but must be from 0.00001 to 1000000 calls per second"),
        (load(Shape::Open(Open { rate: Some(1.0), max_in_flight: Some(0), ..Open::default() })), "max_in_flight is 0"),
        (Load { duration: HumanDuration::from_millis(0), ..load(users(1)) }, "duration is 0ns"),
        (Load { timeout: timed(0), ..load(users(1)) }, "timeout is 0ns"),
        (Load { warmup: timed(u64::MAX), ..load(users(1)) }, "warmup is "),
        (
            Load { thresholds: vec!["p99 < 1s".into(), "p100 < 1s".into()], ..load(users(1)) },
            "thresholds[1]: unknown metric",
        ),
    ] {
        let error = LoadPlan::new(&load).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn thresholds_of_operations_are_those_of_their_latencies() {
    let load: Load = serde_json::from_value(serde_json::json!({
        "steps": [{ "call": { "tool": "quick" } }, { "call": { "tool": "slow" } }],
        "shape": { "closed": { "users": 2 } },
        "duration": "10s",
        "thresholds": ["p99{quick} < 15ms", "p99{slow} < 15ms", "p99 >= 50ms", "achieved_rate{slow} >= 30/s"],
    }))
    .unwrap();
    struct Two;
    impl Caller for Two {
        async fn call(&self, at: Position, _: Option<String>) -> Result<Option<String>, CallFailure> {
            sleep(Duration::from_millis(if at.operation == 0 { 10 } else { 40 })).await;
            Ok(None)
        }
    }
    let plan = LoadPlan::new(&load).unwrap();
    let result = run_with(&plan, Two, TimerAlarm, |_| (), CancellationToken::new()).await;
    let passed: Vec<bool> = result.thresholds.iter().map(|threshold| threshold.passed).collect();
    assert_eq!(passed, [true, false, true, true], "{:?}", result.thresholds);
    assert!(result.thresholds[1].measured.starts_with("p99{slow} = 4"), "{:?}", result.thresholds);
    let latencies = result.operations.iter().map(|operation| operation.latency.unwrap().p50_us / 1_000);
    assert_eq!(latencies.collect::<Vec<_>>(), [10, 40]);
}
