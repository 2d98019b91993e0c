use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use super::*;

fn workbench(limits: Limits) -> Workbench {
    let settings = Settings { program: "/nowhere".into(), runs: "/nowhere".into(), limits, policy: Arc::default() };
    Workbench::new(settings).expect("the catalog is valid")
}

#[tokio::test(start_paused = true)]
async fn one_run_is_active_at_a_time_and_waiting_calls_report_progress() {
    let workbench = workbench(Limits::default());
    let (active, max_active) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = async || {
        max_active.fetch_max(active.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(5)).await;
        active.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    };
    let (sender, mut updates) = mpsc::unbounded_channel();
    let (progress, never) = (ProgressReporter::with_sender(sender), CancellationToken::new());
    let runs = (0..3).map(|_| workbench.run(&progress, &never, work()));
    let outcomes = futures::future::join_all(runs).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(max_active.load(Ordering::SeqCst), 1);
    let step = updates.try_recv().expect("the second run reports that it waits");
    assert!(step.message.contains("waiting"), "{step:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_on_timeout_cancellation_and_close() {
    let limits = Limits { run: Duration::from_secs(3), ..Limits::default() };
    let never = CancellationToken::new();
    let endless = || std::future::pending::<Result<(), ToolError>>();
    let workbench = workbench(limits);
    let kind = |outcome: Result<(), ToolError>| outcome.expect_err("it never ends on its own").kind;
    let late = timeout(Duration::from_secs(60), workbench.run(&ProgressReporter::disabled(), &never, endless())).await;
    assert_eq!(kind(late.expect("it ends at its limit")), "run-too-long");

    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(kind(workbench.run(&ProgressReporter::disabled(), &cancel, endless()).await), "cancelled");

    let running = tokio::spawn({
        let workbench = workbench.clone();
        async move { workbench.run(&ProgressReporter::disabled(), &CancellationToken::new(), endless()).await }
    });
    tokio::task::yield_now().await;
    let began = tokio::time::Instant::now();
    workbench.close().await;
    assert!(began.elapsed() < Duration::from_secs(1), "the run ended, so nothing was waited for");
    assert_eq!(kind(running.await.expect("no panic")), "closing");
}
