//! What the soak keeps an eye on: outcomes, times, panics, and what this process has.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{CALL_LIMIT, HANG_TIMEOUT};

/// How late the end of something may be: the clocks of this process are looked at by two threads on a busy machine.
const LATENESS: Duration = Duration::from_millis(500);

/// What came of it, over one variant.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// How often what ended how.
    outcomes: Mutex<BTreeMap<String, u64>>,
    /// The longest time that each of the steps took.
    slowest: Mutex<BTreeMap<&'static str, Duration>>,
    /// What must not be.
    wrong: Mutex<Vec<String>>,
}

impl Tally {
    pub(crate) fn count(&self, step: &'static str, outcome: &str, took: Duration) {
        *self.outcomes.lock().unwrap().entry(format!("{step}: {outcome}")).or_default() += 1;
        let mut slowest = self.slowest.lock().unwrap();
        let slowest = slowest.entry(step).or_default();
        *slowest = took.max(*slowest);
    }

    pub(crate) fn wrong(&self, what: impl Into<String>) {
        self.wrong.lock().unwrap().push(what.into());
    }

    pub(crate) fn how_often(&self, outcome: &str) -> u64 {
        self.outcomes.lock().unwrap().get(outcome).copied().unwrap_or_default()
    }

    /// What it found, for people; what was wrong, for the test.
    pub(crate) fn summary(&self, variant: &str, stall: Duration) -> (String, Vec<String>) {
        let mut wrong = self.wrong.lock().unwrap().clone();
        let slowest = self.slowest.lock().unwrap();
        let call = slowest.get("call").copied().unwrap_or_default();
        if call > CALL_LIMIT + LATENESS + stall {
            wrong.push(format!("a call took {call:?}, its limit was {CALL_LIMIT:?}"));
        }
        let mut text = format!("{variant}\n");
        for (outcome, count) in &*self.outcomes.lock().unwrap() {
            text += &format!("  {count:>8}  {outcome}\n");
        }
        text += &format!("  slowest: {slowest:?}\n");
        (text, wrong.into_iter().map(|what| format!("{variant}: {what}")).collect())
    }
}

/// Counts the panics of all tasks and threads from now on. Tokio keeps those of tasks from everybody who does not ask.
pub(crate) struct Panics;

static PANICS: AtomicU64 = AtomicU64::new(0);

impl Panics {
    pub(crate) fn watch() {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            usual(info);
        }));
    }

    pub(crate) fn so_far() -> u64 {
        PANICS.load(Ordering::Relaxed)
    }
}

/// Measures by how much this process is held up by others, until it is dropped.
pub(crate) async fn watch_stalls(longest: &Mutex<Duration>) {
    const STEP: Duration = Duration::from_millis(10);
    loop {
        let begun = Instant::now();
        tokio::time::sleep(STEP).await;
        let late = begun.elapsed().saturating_sub(STEP);
        let mut longest = longest.lock().unwrap();
        *longest = late.max(*longest);
    }
}

/// What this process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Belongings {
    pub(crate) descriptors: usize,
    pub(crate) tasks: usize,
    pub(crate) children: usize,
    pub(crate) kilobytes: u64,
}

impl Belongings {
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
        let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        Self {
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
            children: children.map(|list| list.split_whitespace().count()).sum(),
            kilobytes: resident.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }

    /// What it has when it has no more than before, memory apart; or after a while, if that never comes.
    pub(crate) async fn settled(before: Self) -> Self {
        let begun = Instant::now();
        loop {
            let now = Self::now();
            let gone =
                now.descriptors <= before.descriptors && now.tasks <= before.tasks && now.children <= before.children;
            if gone || begun.elapsed() > HANG_TIMEOUT {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The command lines of living processes with this word, this process apart.
pub(crate) fn alive(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).filter(|line| line.contains(word)).collect()
}
