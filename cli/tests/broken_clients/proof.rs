//! The tests: one for each defect, and for clients that have none, do nothing, report nothing, or claim to have done all.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure};
use clap::ValueEnum;
use reports::model::{CaseResult, Run, Verdict};

use crate::{
    client::{ALTERED, AlteredRow, ClientMode, Defect, Habit, altered_in},
    habits::{FEATURES, HABITS, HabitRow},
    table::{ROWS, Row},
    workbench::{client_command, conformance},
};

/// A test.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof {
    /// Every case of the table passes with a client without defects.
    SoundClientPasses,
    /// No case of the catalog passes with a client that does nothing.
    NothingPassesForNothing,
    /// No case outside the handshake passes with a client that acts in this mode.
    NothingEarned(ClientMode),
    /// A client without defects that does not report its steps fails no case, and passes most.
    SilentClientPasses,
    /// A client without defects fails no case of the profile `sdk`.
    SoundSdkPasses,
    /// At the limit of a case all processes of the client end, not only its shell.
    LimitEndsTheProcessTree,
    /// A client that waits forever where it SHOULD not has a warning and no failure.
    TimeoutStaysAWarning,
    /// A client that is killed need not report that it reached that step.
    SilentClientIsKilled,
    /// A client that sends messages without end is stopped and fails.
    RunawayIsStopped,
    /// Cases of capabilities that a client does not declare are skipped with that reason.
    UndeclaredIsSkipped,
    /// No check fails because of this habit.
    Accepted(Habit),
    /// The checks detect this defect.
    Detected(Defect),
    /// The checks detect the changed messages of a round, with a client that acts in this mode.
    Altered(ClientMode, usize),
}

impl Proof {
    /// All tests. Slow ones start first, so that they run in parallel: those that wait, and then those that compute.
    pub(crate) fn all() -> Vec<Self> {
        let (waiting, others): (Vec<Defect>, Vec<Defect>) =
            Defect::value_variants().iter().partition(|defect| defect.is_slow());
        let idle = [
            ClientMode::Connects,
            ClientMode::Skips,
            ClientMode::ConnectsAndSkips,
            ClientMode::Claims,
            ClientMode::Fails,
        ];
        let whole = [
            Self::SilentClientPasses,
            Self::SoundSdkPasses,
            Self::NothingPassesForNothing,
            Self::SoundClientPasses,
            Self::LimitEndsTheProcessTree,
            Self::TimeoutStaysAWarning,
            Self::SilentClientIsKilled,
            Self::UndeclaredIsSkipped,
            Self::RunawayIsStopped,
        ];
        let habits = Habit::value_variants().iter().copied().map(Self::Accepted);
        let rounds = [ClientMode::Reports, ClientMode::Silent]
            .into_iter()
            .flat_map(|mode| (0..rounds()).map(move |round| Self::Altered(mode, round)));
        let defects = |defects: Vec<Defect>| defects.into_iter().map(Self::Detected);
        let whole = whole.into_iter().chain(idle.map(Self::NothingEarned)).chain(rounds).chain(habits);
        defects(waiting).chain(whole).chain(defects(others)).collect()
    }

    /// The name of the test.
    pub(crate) fn name(self) -> String {
        match self {
            Self::SoundClientPasses => "a_sound_client_passes_every_case".to_owned(),
            Self::NothingPassesForNothing => "nothing_passes_with_a_client_that_does_nothing".to_owned(),
            Self::NothingEarned(mode) => format!("nothing_earned::{}", name_of(mode).replace('-', "_")),
            Self::SilentClientPasses => "a_silent_client_fails_no_case".to_owned(),
            Self::SoundSdkPasses => "a_sound_sdk_fails_no_case".to_owned(),
            Self::LimitEndsTheProcessTree => "the_limit_of_a_case_ends_the_whole_process_tree".to_owned(),
            Self::TimeoutStaysAWarning => "a_timeout_where_the_rule_is_a_should_is_a_warning".to_owned(),
            Self::SilentClientIsKilled => "a_silent_client_is_killed_at_its_step".to_owned(),
            Self::UndeclaredIsSkipped => "cases_of_undeclared_capabilities_are_skipped".to_owned(),
            Self::RunawayIsStopped => "a_client_without_an_end_is_stopped".to_owned(),
            Self::Accepted(habit) => format!("accepted::{}", name_of(habit).replace('-', "_")),
            Self::Altered(mode, round) => format!("altered::{}::{round}", name_of(mode)),
            Self::Detected(defect) => format!("detected::{}", name_of(defect).replace('-', "_")),
        }
    }

    /// Runs the test.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::SoundClientPasses => sound_client_passes(),
            Self::NothingPassesForNothing => nothing_passes_for_nothing(),
            Self::NothingEarned(mode) => nothing_is_earned(mode),
            Self::SilentClientPasses => silent_client_passes(),
            Self::SoundSdkPasses => fails_nothing(ClientMode::Reports, &SOME).map(drop),
            Self::LimitEndsTheProcessTree => limit_ends_the_process_tree(),
            Self::TimeoutStaysAWarning => timeout_stays_a_warning(),
            Self::SilentClientIsKilled => silent_client_is_killed(),
            Self::UndeclaredIsSkipped => undeclared_is_skipped(),
            Self::RunawayIsStopped => runaway_is_stopped(),
            Self::Accepted(habit) => habit_is_accepted(habit),
            Self::Detected(defect) => defect_is_detected(defect),
            Self::Altered(mode, round) => altered_is_detected(mode, round),
        }
    }
}

fn name_of(value: impl ValueEnum) -> String {
    // No variant is skipped, so all have a name.
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn sound_client_passes() -> anyhow::Result<()> {
    let mut cases: Vec<&str> = ROWS.iter().filter(|row| row.sound_client_passes).map(|row| row.case).collect();
    cases.sort_unstable();
    cases.dedup();
    let ran = conformance(&client_command("")?, Some("agent"), &cases, 8)?;
    let bad: Vec<String> = ran.run.cases.iter().filter(|case| case.verdict != Verdict::Passed).map(describe).collect();
    ensure!(bad.is_empty(), "these do not pass:\n{}", bad.join("\n"));
    ensure!(ran.run.cases.len() == cases.len(), "{} of {} cases were run", ran.run.cases.len(), cases.len());
    ensure!(ran.code == Some(0), "all passed, and the exit code is {:?}", ran.code);
    ensure!(ran.left.is_empty(), "remaining processes: {:?}", ran.left);
    Ok(())
}

/// Cases of the transports that the client supports.
const SUPPORTED: [&str; 2] = ["*@stdio@*", "*@streamable-http@*"];

/// Cases of one revision over each of them.
const SOME: [&str; 2] = ["*@stdio@2025-11-25", "*@streamable-http@2026-07-28"];

fn nothing_passes_for_nothing() -> anyhow::Result<()> {
    for (program, cases) in [("false", &[][..]), ("cat", &SOME[..1]), ("sleep 0.1", &SOME[..1])] {
        let ran = conformance(program, Some("agent"), cases, 8)?;
        let lenient = |case: &&CaseResult| !case.verdict.is_failure();
        let bad: Vec<&str> = ran.run.cases.iter().filter(lenient).map(|case| case.id.as_str()).collect();
        ensure!(bad.is_empty(), "these do not fail with `{program}`: {}", bad.join(", "));
        let cases = ran.run.cases.len();
        ensure!(cases > 100, "there are {cases} cases, which is not the complete catalog");
        ensure!(ran.code == Some(1), "all failed, and the exit code is {:?}", ran.code);
        ensure!(ran.left.is_empty(), "remaining processes: {:?}", ran.left);
    }
    let ran = conformance("false", None, &SOME, 8)?;
    let passed = ran.run.cases.iter().filter(|case| case.verdict == Verdict::Passed).count();
    ensure!(passed == 0 && ran.code == Some(1), "{passed} cases passed, and the exit code is {:?}", ran.code);
    Ok(())
}

fn nothing_is_earned(mode: ClientMode) -> anyhow::Result<()> {
    for (profile, cases) in [(None, &SOME[..]), (Some("agent"), &["orphans/*", "handshake/*@stdio@*"])] {
        let ran = conformance(&client_command(&format!("--mode {}", name_of(mode)))?, profile, cases, 8)?;
        let passed = ran.run.cases.iter().filter(|case| case.verdict == Verdict::Passed);
        // A client that connects shows how it validates an authorization server.
        let is_earned = |id: &&str| id.starts_with("handshake/") || id.starts_with("authorization/");
        let unearned: Vec<&str> = passed.map(|case| case.id.as_str()).filter(|id| !is_earned(id)).collect();
        ensure!(unearned.is_empty(), "these pass: {}", unearned.join(", "));
        ensure!(ran.code == Some(1), "the exit code is {:?}", ran.code);
    }
    Ok(())
}

/// Runs these cases with the profile `sdk` and a client without defects.
fn fails_nothing(mode: ClientMode, cases: &[&str]) -> anyhow::Result<Run> {
    let client = client_command(&format!("--mode {}", name_of(mode)))?;
    let mut ran = conformance(&client, None, cases, 8)?;
    // A client that is slow on a busy machine may time out before it has sent its call.
    let doubtful = |case: &CaseResult| case.verdict > Verdict::Passed;
    let again: Vec<String> = ran.run.cases.iter().filter(|case| doubtful(case)).map(|case| case.id.clone()).collect();
    if !again.is_empty() && again.len() < 20 {
        let again: Vec<&str> = again.iter().map(String::as_str).collect();
        ran.run.cases.retain(|case| !doubtful(case));
        ran.run.cases.extend(conformance(&client, None, &again, 1)?.run.cases);
    }
    let bad: Vec<String> = ran.run.cases.iter().filter(|case| case.verdict > Verdict::Passed).map(describe).collect();
    ensure!(bad.is_empty(), "these do not pass:\n{}", bad.join("\n"));
    ensure!(ran.left.is_empty(), "remaining processes: {:?}", ran.left);
    Ok(ran.run)
}

fn silent_client_passes() -> anyhow::Result<()> {
    let run = fails_nothing(ClientMode::Silent, &SUPPORTED)?;
    let of_agents = |case: &&CaseResult| {
        let first = case.checks.first().filter(|_| case.verdict == Verdict::Skipped);
        first.is_some_and(|check| check.observed.contains("the profile `sdk`"))
    };
    let (agents, others): (Vec<&CaseResult>, Vec<&CaseResult>) = run.cases.iter().partition(of_agents);
    let passed = others.iter().filter(|case| case.verdict == Verdict::Passed).count();
    ensure!(
        passed * 10 > others.len() * 6,
        "{passed} of {} cases passed, {} are of agents",
        others.len(),
        agents.len()
    );
    Ok(())
}

fn limit_ends_the_process_tree() -> anyhow::Result<()> {
    let began = Instant::now();
    let ran = conformance("setsid sleep 301 & sleep 300; true", None, &["handshake/basic@stdio@2025-11-25"], 1)?;
    let took = began.elapsed();
    ensure!(took < Duration::from_secs(60), "it took {took:?}");
    ensure!(ran.left.is_empty(), "remaining processes: {:?}", ran.left);
    ensure!(ran.code == Some(1), "the exit code is {:?}", ran.code);
    Ok(())
}

fn timeout_stays_a_warning() -> anyhow::Result<()> {
    let client = client_command("--defect no-timeout")?;
    for profile in ["sdk", "agent"] {
        let ran = conformance(&client, Some(profile), &["timeouts/call-times-out@stdio@2025-11-25"], 1)?;
        let bad: Vec<String> =
            ran.run.cases.iter().filter(|case| case.verdict != Verdict::Warned).map(describe).collect();
        ensure!(bad.is_empty() && ran.run.cases.len() == 1, "with the profile {profile}: {}", bad.join("\n"));
    }
    Ok(())
}

fn silent_client_is_killed() -> anyhow::Result<()> {
    let client = client_command("--mode silent")?;
    let ran = conformance(&client, Some("agent"), &["orphans/client-killed@stdio@*"], 4)?;
    let bad: Vec<String> = ran.run.cases.iter().filter(|case| case.verdict != Verdict::Passed).map(describe).collect();
    ensure!(bad.is_empty() && !ran.run.cases.is_empty(), "these do not pass:\n{}", bad.join("\n"));
    Ok(())
}

fn runaway_is_stopped() -> anyhow::Result<()> {
    let began = Instant::now();
    let client = client_command("--mode floods")?;
    let cases = ["handshake/basic@stdio@2025-11-25", "handshake/basic@stdio@2026-07-28"];
    let ran = conformance(&client, Some("agent"), &cases, 2)?;
    let bad: Vec<String> = ran.run.cases.iter().filter(|case| case.verdict != Verdict::Failed).map(describe).collect();
    ensure!(bad.is_empty() && ran.run.cases.len() == 2, "these do not fail:\n{}", bad.join("\n"));
    let took = began.elapsed();
    ensure!(took < Duration::from_secs(90), "it took {took:?}");
    ensure!(ran.left.is_empty(), "remaining processes: {:?}", ran.left);
    Ok(())
}

fn undeclared_is_skipped() -> anyhow::Result<()> {
    let client = client_command("--habit declares-nothing")?;
    let ran = conformance(&client, None, &FEATURES, 8)?;
    let names_it = |case: &CaseResult| {
        case.verdict == Verdict::Skipped
            && case.checks.iter().any(|check| check.observed.contains("did not declare the capability"))
    };
    // These need no capability, or are of agents.
    let others = [
        "absent-result-type",
        "called-as-tasks",
        "given-up",
        "given-up-on-request",
        "mixed-tool-results",
        "no-user",
        "not-of-the-server",
        "state-alone",
        "state-unchanged",
        "undeclared",
        "unknown-content",
        "unknown-result-type",
    ];
    let needs = |case: &&CaseResult| !others.iter().any(|name| case.scenario.ends_with(&format!("/{name}")));
    let bad: Vec<String> = ran.run.cases.iter().filter(needs).filter(|case| !names_it(case)).map(describe).collect();
    ensure!(bad.is_empty(), "these are not skipped for that reason:\n{}", bad.join("\n"));
    ensure!(ran.run.cases.len() > 40, "there are {} cases", ran.run.cases.len());
    no_authorization_is_skipped()
}

fn no_authorization_is_skipped() -> anyhow::Result<()> {
    let client = client_command("--habit knows-no-authorization")?;
    for profile in ["sdk", "agent"] {
        let cases = conformance(&client, Some(profile), &["authorization/*"], 8)?.run.cases;
        let bad: Vec<String> = cases.iter().filter(|case| case.verdict != Verdict::Skipped).map(describe).collect();
        ensure!(bad.is_empty() && cases.len() > 80, "with the profile {profile}: {}", bad.join("\n"));
    }
    Ok(())
}

fn habit_is_accepted(habit: Habit) -> anyhow::Result<()> {
    let rows: Vec<&HabitRow> = HABITS.iter().filter(|row| row.habit == habit).collect();
    ensure!(!rows.is_empty(), "the table has no row for it");
    let client = client_command(&format!("--habit {}", name_of(habit)))?;
    for row in rows {
        let mut ran = conformance(&client, Some(row.profile), row.cases, 8)?;
        ensure!(!ran.run.cases.is_empty(), "no case matches {:?}", row.cases);
        let is_wrong = |case: &CaseResult| {
            let wrong = |verdict| verdict > Verdict::Passed && verdict != row.most;
            wrong(case.verdict) || case.checks.iter().any(|check| wrong(check.verdict))
        };
        // Timeouts of a busy machine do not repeat.
        let again: Vec<String> =
            ran.run.cases.iter().filter(|case| is_wrong(case)).map(|case| case.id.clone()).collect();
        if !again.is_empty() {
            let again: Vec<&str> = again.iter().map(String::as_str).collect();
            ran.run.cases = conformance(&client, Some(row.profile), &again, 1)?.run.cases;
        }
        let bad: Vec<String> = ran.run.cases.iter().filter(|case| is_wrong(case)).map(describe).collect();
        ensure!(bad.is_empty(), "these are wrong with the profile {}:\n{}", row.profile, bad.join("\n"));
    }
    Ok(())
}

/// The number of rounds that run all changed messages.
fn rounds() -> usize {
    ALTERED.iter().flat_map(|row| &row.cases).map(|case| altered_in(case).count()).max().unwrap_or_default()
}

/// The rows of a round, each with its case.
fn altered_rows(round: usize) -> BTreeMap<&'static str, &'static AlteredRow> {
    let cases = ALTERED.iter().flat_map(|row| &row.cases).map(String::as_str);
    cases.filter_map(|case| Some((case, altered_in(case).nth(round)?))).collect()
}

fn altered_is_detected(mode: ClientMode, round: usize) -> anyhow::Result<()> {
    let rows = altered_rows(round);
    let cases: Vec<&str> = rows.keys().copied().collect();
    let client = client_command(&format!("--mode {} --round {round}", name_of(mode)))?;
    let ran = conformance(&client, None, &cases, 6)?;
    ensure!(ran.run.cases.len() == cases.len(), "{} of {} cases were run", ran.run.cases.len(), cases.len());
    let wanted = |row: &AlteredRow| if row.warns { "warned" } else { "failed or blocked" };
    let is_wanted = |row: &AlteredRow, verdict: Verdict| match row.warns {
        true => verdict == Verdict::Warned,
        false => verdict.is_failure(),
    };
    let is_missed = |case: &&CaseResult| {
        let row = rows[case.id.as_str()];
        let is_seen = mode == ClientMode::Reports || row.report_only.is_none();
        is_seen && !case.checks.iter().any(|check| check.id == row.check && is_wanted(row, check.verdict))
    };
    let missed = ran.run.cases.iter().filter(is_missed);
    let missed = missed.map(|case| {
        let row = rows[case.id.as_str()];
        format!("{}: `{}` is not {}: {}", row.defect, row.check, wanted(row), describe(case))
    });
    let missed: Vec<String> = missed.collect();
    ensure!(missed.is_empty(), "{}", missed.join("\n"));
    ensure!(ran.left.is_empty(), "remaining processes: {:?}", ran.left);
    Ok(())
}

fn defect_is_detected(defect: Defect) -> anyhow::Result<()> {
    let rows: Vec<&Row> = ROWS.iter().filter(|row| row.defect == defect).collect();
    ensure!(!rows.is_empty(), "the table has no row for it");
    let mut cases: Vec<&str> = rows.iter().map(|row| row.case).collect();
    cases.dedup();
    let ran = conformance(&client_command(&format!("--defect {}", name_of(defect)))?, Some("agent"), &cases, 4)?;
    ensure!(ran.run.cases.len() == cases.len(), "{} of {} cases were run", ran.run.cases.len(), cases.len());
    let silent: Vec<String> = rows.iter().filter_map(|row| missed(row, &ran.run)).collect();
    ensure!(silent.is_empty(), "{}", silent.join("\n"));
    let failing = rows.iter().any(|row| row.verdict.is_failure());
    ensure!(!failing || ran.code == Some(1), "a case fails, and the exit code is {:?}", ran.code);
    if !ran.left.is_empty() {
        bail!("the workbench left processes of the client: {:?}", ran.left);
    }
    Ok(())
}

/// The difference between a row and the verdict of its check.
fn missed(row: &Row, run: &Run) -> Option<String> {
    let Some(case) = run.cases.iter().find(|case| case.id == row.case) else {
        return Some(format!("{} was not run", row.case));
    };
    let has_verdict = |verdict| case.checks.iter().any(|one| one.id == row.check && one.verdict == verdict);
    let is_expected = has_verdict(row.verdict) && case.verdict >= row.verdict;
    (!is_expected).then(|| format!("`{}` is not {}: {}", row.check, row.verdict.as_str(), describe(case)))
}

/// A case with its failed checks.
fn describe(case: &CaseResult) -> String {
    let mut words = format!("{} {}", case.verdict.as_str(), case.id);
    for one in case.checks.iter().filter(|one| one.verdict > Verdict::Passed) {
        words.push_str(&format!("\n  {} {}: {}; {}", one.verdict.as_str(), one.id, one.expected, one.observed));
    }
    if !case.stderr.is_empty() {
        words.push_str(&format!("\n  stderr: {}", case.stderr.trim()));
    }
    words
}
